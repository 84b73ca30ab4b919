//! A request that failed: what happened, and another try, once the server lets us.

import { CircleAlert, RotateCcw } from "lucide-react";
import { useEffect, useState } from "react";
import type { RequestError } from "../api/types";
import { usePage } from "../state/page";
import { countDown, secondsLeft } from "./countdown";

export function FailureCard({ error, since }: { error: RequestError; since: number }) {
  const page = usePage();
  const wait = error.retry_after_seconds ?? 0;
  const left = useCountdown(wait, since);
  return (
    <div className="failure">
      <CircleAlert aria-hidden />
      <div>
        <div role="alert">
          <strong>{titleOf(error)}</strong>
          <p>{error.message}</p>
        </div>
        <div className="failure-again">
          <button type="button" className="button" disabled={left > 0} onClick={() => void page.chat.retry()}>
            <RotateCcw aria-hidden /> Try again
          </button>
          {left > 0 && <span className="muted">You can try again in {left} s</span>}
        </div>
        {wait > 0 && (
          <span className="visually-hidden" role="status">
            {left === 0 && "You can try again now."}
          </span>
        )}
      </div>
    </div>
  );
}

/** The seconds that are left to wait, where somebody said how long. */
function useCountdown(wait: number, since: number): number {
  const [left, setLeft] = useState(() => secondsLeft(wait, since));
  useEffect(() => countDown(wait, since, setLeft), [wait, since]);
  return left;
}

function titleOf(error: RequestError): string {
  if (error.context_overflow) return "The conversation is too long for the model";
  switch (error.type) {
    case "provider":
      return "The model server failed";
    case "conflict":
      return "The session is busy";
    case "too_many_requests":
      return "Too many requests";
    case "unreachable":
    case "unavailable":
      return "Not reachable";
    case "plugin":
      return "A plugin failed";
    default:
      return "The request failed";
  }
}

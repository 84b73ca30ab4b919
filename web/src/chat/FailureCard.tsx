//! A request that failed: what happened, and another try, once the server lets us.

import { CircleAlert, RotateCcw } from "lucide-react";
import { useEffect, useState } from "react";
import type { RequestError } from "../api/types";
import { usePage } from "../state/page";

export function FailureCard({ error }: { error: RequestError }) {
  const page = usePage();
  const seconds = useCountdown(error);
  return (
    <div className="failure" role="alert">
      <CircleAlert aria-hidden />
      <div>
        <strong>{titleOf(error)}</strong>
        <p>{error.message}</p>
        <button type="button" className="button" disabled={seconds > 0} onClick={() => void page.chat.retry()}>
          <RotateCcw aria-hidden /> {seconds > 0 ? `Try again in ${seconds} s` : "Try again"}
        </button>
      </div>
    </div>
  );
}

/** The seconds to wait that are left, where the server said how long. */
function useCountdown(error: RequestError): number {
  const wait = Math.ceil(error.retry_after ?? 0);
  const [left, setLeft] = useState(wait);
  useEffect(() => {
    setLeft(wait);
    const until = Date.now() + wait * 1_000;
    const timer = setInterval(() => {
      const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1_000));
      setLeft(seconds);
      if (seconds === 0) clearInterval(timer);
    }, 250);
    return () => clearInterval(timer);
  }, [error, wait]);
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

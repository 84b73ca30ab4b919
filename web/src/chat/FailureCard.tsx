//! A request that failed: what happened, and another try.

import { CircleAlert, RotateCcw } from "lucide-react";
import type { RequestError } from "../api/types";
import { usePage } from "../state/page";

export function FailureCard({ error }: { error: RequestError }) {
  const page = usePage();
  return (
    <div className="failure" role="alert">
      <CircleAlert aria-hidden />
      <div>
        <strong>{titleOf(error)}</strong>
        <p>{error.message}</p>
        <button type="button" className="button" onClick={() => void page.chat.retry()}>
          <RotateCcw aria-hidden /> Try again
        </button>
      </div>
    </div>
  );
}

function titleOf(error: RequestError): string {
  if (error.context_overflow) return "The conversation is too long for the model";
  switch (error.type) {
    case "provider":
      return "The model server failed";
    case "conflict":
      return "The session is busy";
    case "unreachable":
    case "unavailable":
      return "Not reachable";
    case "plugin":
      return "A plugin failed";
    default:
      return "The request failed";
  }
}

// Errors that cross the border.

/** An error with a class of Orlop, so that the host knows what kind of failure it is. */
export class PluginError extends Error {
  /**
   * @param {string} errorClass `bad_argument`, `not_found`, `unavailable`, `conflict`, `bad_state`, `cancelled`, `internal`, ...
   * @param {string} message what happened and what to do
   * @param options `contextOverflow` of a provider: the conversation is too long for the model, and is made shorter and sent again
   */
  constructor(errorClass, message, { retryable = false, contextOverflow = false, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "PluginError";
    this.class = errorClass;
    this.retryable = retryable;
    this.contextOverflow = contextOverflow;
  }

  /** From the error of an answer. */
  static fromWire({ message = "the host refused", data } = {}) {
    return new PluginError(data?.class ?? "internal", message, { retryable: data?.retryable === true });
  }
}

/** The error of an answer. */
export function toWire(error, message) {
  if (error?.class === "method_not_found") return { code: -32601, message, data: { class: "not_found" } };
  const data = { class: classOf(error) };
  if (error?.retryable === true) data.retryable = true;
  if (error?.contextOverflow === true) data.context_overflow = true;
  return { code: -32000, message, data };
}

function classOf(error) {
  if (typeof error?.class === "string") return error.class;
  return error?.name === "AbortError" ? "cancelled" : "internal";
}

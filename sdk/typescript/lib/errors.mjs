// Errors that cross the border.

/** An error with a class of Orlop, so that the host knows what kind of failure it is. */
export class PluginError extends Error {
  /**
   * @param {string} errorClass `bad_argument`, `not_found`, `unavailable`, `conflict`, `bad_state`, `cancelled`, `internal`, ...
   * @param {string} message what happened and what to do
   */
  constructor(errorClass, message, { retryable = false, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "PluginError";
    this.class = errorClass;
    this.retryable = retryable;
  }

  /** From the error of an answer. */
  static fromWire({ message = "the host refused", data } = {}) {
    return new PluginError(data?.class ?? "internal", message, { retryable: data?.retryable === true });
  }
}

const CODES = { method_not_found: -32601, bad_params: -32602 };

/** The error of an answer. */
export function toWire(error, message) {
  const errorClass = typeof error?.class === "string" ? error.class : error?.name === "AbortError" ? "cancelled" : "internal";
  const code = CODES[errorClass] ?? -32000;
  const data = { class: errorClass in CODES ? "bad_argument" : errorClass };
  if (error?.retryable === true) data.retryable = true;
  return { code, message, data };
}

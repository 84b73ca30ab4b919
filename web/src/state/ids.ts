//! Ids that nobody else makes. Browsers offer `crypto.randomUUID` to secure pages only, and this one is also read over plain HTTP.

export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

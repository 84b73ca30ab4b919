//! Hands a file to the user. It is kept, never opened: what somebody attached may be a page with scripts.

export function saveFile(name: string, file: Blob): void {
  const url = URL.createObjectURL(new Blob([file], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers begin to read only after this.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

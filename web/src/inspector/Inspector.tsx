//! What happened in the last request, what was used, and which plugins are there.
export default function Inspector() {
  return <aside className="inspector" aria-label="Inspector" />;
}

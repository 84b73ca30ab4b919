//! Asks for the token, where the server wants one.

import { type FormEvent, useState } from "react";
import { usePage } from "../state/page";

export function TokenForm({ problem }: { problem: string | null }) {
  const page = usePage();
  const [token, setToken] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== "") void page.useToken(token);
  };
  return (
    <main className="gate">
      <form onSubmit={submit}>
        <h1>Orlop</h1>
        <p>This server asks for a token. Whoever runs it can give you one.</p>
        <div className="field">
          <label htmlFor="token">Token</label>
          <input id="token" type="password" autoComplete="current-password" autoFocus value={token} aria-describedby={problem ? "token-problem" : undefined} aria-invalid={problem ? true : undefined} onChange={(event) => setToken(event.target.value)} />
          {problem && (
            <p className="field-error" id="token-problem" role="alert">
              {problem}
            </p>
          )}
        </div>
        <button type="submit" className="button primary" disabled={token.trim() === ""}>
          Go in
        </button>
        <p className="muted">It is kept in this browser until you forget it in the settings.</p>
      </form>
    </main>
  );
}

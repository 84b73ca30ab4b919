//! Links by which others read a session: made, copied once, and taken back.

import { Check, Copy, Link2Off } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import { asProblem } from "../api/problem";
import type { Share } from "../api/types";
import { usePage } from "../state/page";
import { Modal } from "../ui/Modal";
import { IconButton } from "../ui/IconButton";
import { when } from "../ui/format";
import { useCopied } from "../ui/useCopied";

export default function ShareDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const page = usePage();
  const [shares, setShares] = useState<Share[] | null>(null);
  const [made, setMade] = useState<{ id: string; url: string } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const attempt = useCallback(async (work: () => Promise<void>) => {
    try {
      setProblem(null);
      await work();
    } catch (error) {
      setProblem(asProblem(error).message);
    }
  }, []);
  const refresh = useCallback(async () => setShares(await page.api.shares(id)), [page, id]);
  useEffect(() => void attempt(refresh), [attempt, refresh]);
  const make = () =>
    attempt(async () => {
      const share = await page.api.share(id);
      setMade({ id: share.id, url: `${location.origin}${location.pathname}#/shared/${share.link}` });
      await refresh();
    });
  const takeBack = (share: Share) =>
    attempt(async () => {
      await page.api.unshare(id, share.id);
      if (made?.id === share.id) setMade(null);
      await refresh();
    });
  return (
    <Modal title="Share this session" description="Whoever has a link reads this session, now and as it goes on, until you take the link back. Nobody can write by it." onClose={onClose}>
      {problem && (
        <p className="field-error" role="alert">
          {problem}
        </p>
      )}
      {made && <Made url={made.url} />}
      {shares && shares.length > 0 && (
        <ul className="shares" aria-label="Links to this session">
          {shares.map((share) => (
            <li key={share.id}>
              <span>Made {when(share.created_at)}</span>
              {share.id === made?.id && <span className="badge">new</span>}
              <button type="button" className="link-button with-icon" onClick={() => void takeBack(share)}>
                <Link2Off aria-hidden /> Take back
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="row-end">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
        <button type="button" className="button primary" onClick={() => void make()}>
          {shares && shares.length > 0 ? "Make another link" : "Make a link"}
        </button>
      </div>
    </Modal>
  );
}

/** A link that was just made. The server does not know it any more. */
function Made({ url }: { url: string }) {
  const [copied, copy] = useCopied();
  return (
    <div className="field">
      <label htmlFor="share-link">The link</label>
      <div className="with-button">
        <input id="share-link" type="text" readOnly value={url} onFocus={(event) => event.target.select()} aria-describedby="share-once" />
        <IconButton label={copied ? "Copied" : "Copy link"} onClick={() => copy(url)}>
          {copied ? <Check /> : <Copy />}
        </IconButton>
      </div>
      <p className="about" id="share-once">
        Copy it now: it is shown once.
      </p>
    </div>
  );
}

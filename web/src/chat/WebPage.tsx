//! A page of the web that a tool read: its title, where it is, and what was read of it.

import { Globe } from "lucide-react";
import { plainLine, plainText, webUrl } from "../actions/safe";
import type { JsonMap } from "../api/types";
import { count } from "../ui/format";
import { Folded } from "./Folded";

export function WebPage({ display, result }: { display: JsonMap; result: string }) {
  const address = typeof display.url === "string" ? display.url : "";
  const url = webUrl(address);
  const title = typeof display.title === "string" ? plainLine(display.title) : "";
  const shown = title || plainLine(address) || "A page";
  return (
    <div className="labelled">
      <div className="web-page">
        <Globe aria-hidden />
        <div>
          {url ? (
            <a href={url} target="_blank" rel="noopener noreferrer nofollow">
              {shown}
            </a>
          ) : (
            <strong>{shown}</strong>
          )}
          <small>{[title && plainLine(address), typeof display.characters === "number" && `${count(display.characters)} characters`].filter(Boolean).join(" · ")}</small>
        </div>
      </div>
      <Folded text={plainText(typeof display.content === "string" ? display.content : result)} />
    </div>
  );
}

//! What a call was given: a line for each argument, or as it is where it is more than that.

import type { ReactNode } from "react";
import { plainText } from "../actions/safe";
import { type Json, isMap } from "../api/types";

export function Arguments({ given }: { given: Json }) {
  if (!isMap(given)) {
    const text = typeof given === "string" ? given : JSON.stringify(given, null, 2);
    return text === "" || text === "null" ? null : <Labelled><pre tabIndex={0}>{text}</pre></Labelled>;
  }
  const fields = Object.entries(given) as [string, Json][];
  if (fields.length === 0) return null;
  return (
    <Labelled>
      <dl className="arguments">
        {fields.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{isLong(value) ? <pre tabIndex={0}>{wordsOf(value)}</pre> : <code>{wordsOf(value)}</code>}</dd>
          </div>
        ))}
      </dl>
    </Labelled>
  );
}

function Labelled({ children }: { children: ReactNode }) {
  return (
    <div className="labelled">
      <span>Arguments</span>
      {children}
    </div>
  );
}

function wordsOf(value: Json): string {
  return typeof value === "string" ? plainText(value) : JSON.stringify(value, null, typeof value === "object" ? 2 : 0);
}

function isLong(value: Json): boolean {
  return wordsOf(value).includes("\n");
}

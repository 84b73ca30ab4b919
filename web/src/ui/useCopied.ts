//! Copies a text and says so for a moment.

import { useEffect, useRef, useState } from "react";
import { usePage } from "../state/page";
import { NOT_COPIED, copyText } from "./clipboard";

export function useCopied(): [boolean, (text: string) => void] {
  const page = usePage();
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = (text: string) => {
    void copyText(text).then((done) => {
      if (!done) {
        page.toast(NOT_COPIED, "error");
        return;
      }
      setCopied(true);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => setCopied(false), 1_500);
    });
  };
  return [copied, copy];
}

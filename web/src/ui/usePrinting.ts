//! Whether the page is being printed. What is left out of the page until it is scrolled to has to be there then.

import { useEffect, useState } from "react";
import { flushSync } from "react-dom";

export function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    // Browsers print what is drawn when this event has been told.
    const onBefore = () => flushSync(() => setPrinting(true));
    const onAfter = () => setPrinting(false);
    addEventListener("beforeprint", onBefore);
    addEventListener("afterprint", onAfter);
    return () => {
      removeEventListener("beforeprint", onBefore);
      removeEventListener("afterprint", onAfter);
    };
  }, []);
  return printing;
}

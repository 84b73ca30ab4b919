//! Files that are dropped anywhere on the page. The browser would open them in its place.

import { useEffect, useRef, useState } from "react";
import { isDialogOpen } from "../ui/overlay";

/** Hands on what is dropped, and says whether files are being dragged. Behind a dialog nothing is taken. */
export function useDroppedFiles(add: (files: Iterable<File>) => void): boolean {
  const [dragged, setDragged] = useState(false);
  const adding = useRef(add);
  adding.current = add;
  useEffect(() => {
    const onDragOver = (event: DragEvent) => {
      const data = filesIn(event);
      if (!data) return;
      event.preventDefault();
      if (isDialogOpen()) data.dropEffect = "none";
      setDragged(!isDialogOpen());
    };
    // Where it goes on inside of the page, it enters something else there.
    const onDragLeave = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setDragged(false);
    };
    const onDrop = (event: DragEvent) => {
      const data = filesIn(event);
      if (!data) return;
      event.preventDefault();
      setDragged(false);
      if (!isDialogOpen()) adding.current(data.files);
    };
    addEventListener("dragover", onDragOver);
    addEventListener("dragleave", onDragLeave);
    addEventListener("drop", onDrop);
    return () => {
      removeEventListener("dragover", onDragOver);
      removeEventListener("dragleave", onDragLeave);
      removeEventListener("drop", onDrop);
    };
  }, []);
  return dragged;
}

/** What is dragged, if it has files. A text is the browser's to put where it is dropped. */
function filesIn({ dataTransfer }: DragEvent): DataTransfer | null {
  return dataTransfer?.types.includes("Files") ? dataTransfer : null;
}

//! Parts of the page that are loaded when they are needed. One that cannot be loaded says so in its place, and can be tried again.

import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { Boundary } from "./Boundary";

interface Instead<P> {
  /** Shown until the part is there. */
  waiting?: (props: P) => ReactNode;
  /** Shown if it does not come. */
  failed: (props: P, again: () => void) => ReactNode;
}

/** A part that can be loaded before it is needed; then it is drawn at once. */
export type Later<P> = ComponentType<P> & { preload: () => void };

export function later<P extends object>(load: () => Promise<{ default: ComponentType<P> }>, { waiting, failed }: Instead<P>): Later<P> {
  let tries = 0;
  let lost: string | null = null;
  let part: ComponentType<P> | null = null;
  let asked: Promise<void> | null = null;
  const ask = () => (asked ??= loading());
  const loading = async () => {
    tries += 1;
    try {
      // Browsers remember that an address could not be loaded, and do not ask again: another try needs another address.
      const made = await (lost === null ? load() : (import(/* @vite-ignore */ `${lost}?again=${tries}`) as ReturnType<typeof load>));
      part = made.default;
    } catch (error) {
      asked = null;
      lost ??= addressIn(error);
      throw error;
    }
  };

  function Part(props: P) {
    const [phase, setPhase] = useState<"waiting" | "there" | "failed">(part ? "there" : "waiting");
    useEffect(() => {
      if (phase !== "waiting") return;
      let wanted = true;
      const say = (said: "there" | "failed") => wanted && setPhase(said);
      ask().then(
        () => say("there"),
        () => say("failed"),
      );
      return () => {
        wanted = false;
      };
    }, [phase]);
    if (phase === "failed") return failed(props, () => setPhase("waiting"));
    const Loaded = part;
    if (!Loaded) return waiting?.(props) ?? null;
    return (
      <Boundary instead={(again) => failed(props, again)}>
        <Loaded {...props} />
      </Boundary>
    );
  }
  return Object.assign(Part, { preload: () => void ask().catch(() => undefined) });
}

/** The address of a part that could not be loaded, where the browser tells it. */
function addressIn(error: unknown): string | null {
  const address = error instanceof Error ? /https?:\/\/\S+\.js\b/.exec(error.message)?.[0] : undefined;
  return address?.startsWith(`${location.origin}/`) ? address : null;
}

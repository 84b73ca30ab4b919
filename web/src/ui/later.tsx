//! Parts of the page that are loaded when they are needed. One that cannot be loaded says so in its place, and can be tried again.

import { type ComponentType, type ReactNode, Suspense, lazy, useState } from "react";
import { Boundary } from "./Boundary";

interface Instead<P> {
  /** Shown until the part is there. */
  waiting?: (props: P) => ReactNode;
  /** Shown if it does not come. */
  failed: (props: P, again: () => void) => ReactNode;
}

export function later<P extends object>(load: () => Promise<{ default: ComponentType<P> }>, { waiting, failed }: Instead<P>): ComponentType<P> {
  let tries = 0;
  let lost: string | null = null;
  let failedLast = false;
  // Browsers remember that an address could not be loaded, and do not ask again: another try needs another address.
  const loading = () => {
    tries += 1;
    const asked = lost === null ? load() : (import(/* @vite-ignore */ `${lost}?again=${tries}`) as ReturnType<typeof load>);
    return asked.catch((error: unknown) => {
      failedLast = true;
      lost ??= addressIn(error);
      throw error;
    });
  };
  let part = lazy(loading);
  const renew = () => {
    failedLast = false;
    part = lazy(loading);
  };
  return function Later(props: P) {
    const [, draw] = useState(() => {
      // Whoever opens it once more wants it tried once more.
      if (failedLast) renew();
      return 0;
    });
    const Part = part as unknown as ComponentType<P>;
    const again = () => {
      renew();
      draw((round) => round + 1);
    };
    return (
      <Boundary instead={(retry) => failed(props, retry)} onAgain={again}>
        <Suspense fallback={waiting?.(props) ?? null}>
          <Part {...props} />
        </Suspense>
      </Boundary>
    );
  };
}

/** The address of a part that could not be loaded, where the browser tells it. */
function addressIn(error: unknown): string | null {
  const address = error instanceof Error ? /https?:\/\/\S+\.js\b/.exec(error.message)?.[0] : undefined;
  return address?.startsWith(`${location.origin}/`) ? address : null;
}

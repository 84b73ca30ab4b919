//! Where the marks of an axis stand. Pure.

/** Round numbers from 0 up to `most`, at most `count` of them beyond 0. */
export function ticksOf(most: number, count: number): number[] {
  if (!(most > 0)) return [0];
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((nice) => nice * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, place) => place * step);
}

/** The same, with the last one at or above `most`, so that everything stands below a mark. */
export function ticksOver(most: number, count: number): number[] {
  if (most <= 1) return [0, 1];
  const ticks = ticksOf(most, count);
  const step = ticks[1] ?? 1;
  return (ticks.at(-1) ?? 0) >= most ? ticks : [...ticks, ticks.length * step];
}

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { countDown, secondsLeft } from "./countdown";

beforeEach(() => vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => vi.useRealTimers());

function counted(wait: number, since: number) {
  const told: number[] = [];
  return { told, end: countDown(wait, since, (left) => told.push(left)) };
}

test("each second is told once, and the end", () => {
  const { told } = counted(3, Date.now());
  expect(told).toEqual([3]);
  vi.advanceTimersByTime(999);
  expect(told).toEqual([3]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual([3, 2]);
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual([3, 2, 1, 0]);
  expect(vi.getTimerCount()).toBe(0);
});

test("what was waited before counts, and part of a second is one", () => {
  const { told } = counted(2.5, Date.now() - 1_000);
  vi.advanceTimersByTime(2_000);
  expect(told).toEqual([2, 1, 0]);
  expect(counted(5, Date.now() - 5_000).told).toEqual([0]);
});

test("a server whose clock is ahead makes nobody wait longer", () => {
  expect(counted(4, Date.now() + 3_600_000).told).toEqual([4]);
  expect(secondsLeft(4, Date.now() + 3_600_000)).toBe(4);
});

test("a machine that slept goes on where the time is", () => {
  const { told } = counted(30, Date.now());
  vi.setSystemTime(Date.now() + 20_000);
  vi.advanceTimersByTime(1_000);
  expect(told).toEqual([30, 9]);
});

test("who leaves hears no more", () => {
  const { told, end } = counted(3, Date.now());
  end();
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual([3]);
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Gathering } from "./gathering";

let times: number[];
let gathering: Gathering;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  times = [];
  gathering = new Gathering(() => times.push(performance.now()));
});
afterEach(() => {
  vi.useRealTimers();
});

function comeEach(ms: number, until: number): void {
  for (let passed = 0; passed < until; passed += ms) {
    gathering.note();
    vi.advanceTimersByTime(ms);
  }
}

test("lone news is told after 100 ms, however often it comes", () => {
  comeEach(1_000, 5_000);
  expect(times).toEqual([100, 1_100, 2_100, 3_100, 4_100]);
});

test("the more there is, the more is told at once, and nothing later than after 800 ms", () => {
  comeEach(20, 6_000);
  const pauses = times.map((at, place) => at - (times[place - 1] ?? 0));
  expect(pauses.slice(0, 3).every((pause, place) => pause <= 100 * 2 ** place + 20)).toBe(true);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(820);
  expect(times.length).toBeLessThan(12);
});

test("the last of many is told, and after them what comes alone is told soon again", () => {
  comeEach(20, 3_000);
  vi.advanceTimersByTime(2_000);
  const before = times.length;
  expect(times.at(-1)).toBeGreaterThanOrEqual(3_000 - 20);
  const now = performance.now();
  gathering.note();
  vi.advanceTimersByTime(100);
  expect(times.slice(before)).toEqual([now + 100]);
});

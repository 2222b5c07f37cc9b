import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { LineDocument } from "../store/document";
import { NOTHING } from "../store/findings";
import { graphOf } from "./graph";

/** As many as were started; none of them ever answers. */
let started = 0;

class SilentWorker {
  constructor() {
    started += 1;
  }
  addEventListener(): void {}
  postMessage(): void {}
  terminate(): void {}
}

beforeEach(() => {
  started = 0;
  vi.resetModules();
  vi.stubGlobal("Worker", SilentWorker);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  // It gave up for good, which other files would find.
  vi.resetModules();
});

it("draws a line whose layout does not come as it can be at once, starts the worker anew, and gives up", async () => {
  const { onLayout, placedFor } = await import("./layouts");
  vi.useFakeTimers();
  const stations = ["a", "b"].map((key) => ({ key, name: key, rules: [] }));
  const line: LineDocument = { stations, gates: [] };
  const graph = graphOf(line, NOTHING, [1000, 750]);
  let requests = 0;
  onLayout(() => {
    requests += 1;
  });
  expect(placedFor(graph).placed.parts).toEqual([]);
  vi.advanceTimersByTime(2_000);
  expect(requests).toBe(1);
  const parts = placedFor(graph).placed.parts.map((part) => part.key);
  expect(parts).toEqual(expect.arrayContaining(["a", "b"]));
  expect(started).toBe(1);
  vi.advanceTimersByTime(60_000);
  expect(started).toBe(2);
  expect(placedFor(graph).exact).toBe(false);
  vi.advanceTimersByTime(60_000);
  const last = placedFor(graph);
  expect(last.exact).toBe(true);
  expect(last.placed.provisional).toBeUndefined();
  expect(last.placed.parts.map((part) => part.key)).toEqual(expect.arrayContaining(["a", "b"]));
});

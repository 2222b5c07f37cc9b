import { expect, test } from "vitest";
import { levelOf, looksOf } from "./level";
import { Zooming } from "./zooming";

/** Time that goes on when it is told to. */
function clock() {
  let now = 0;
  const due = new Set<{ at: number; run: () => void }>();
  const later = (run: () => void, after: number) => {
    const one = { at: now + after, run };
    due.add(one);
    return () => void due.delete(one);
  };
  const pass = (by: number): void => {
    now += by;
    for (const one of [...due].sort((a, b) => a.at - b.at)) {
      if (one.at > now || !due.delete(one)) continue;
      one.run();
    }
  };
  return { later, pass };
}

/** Every zoom that the canvas was drawn by while it went there in frames of 16 ms, and in the second after. */
function drawnOn(way: readonly number[]): number[] {
  const { later, pass } = clock();
  const zooming = new Zooming(way[0] ?? 1, later);
  const drawn: number[] = [];
  zooming.listen(() => drawn.push(zooming.drawn));
  for (const zoom of way) {
    zooming.see(zoom);
    pass(16);
  }
  pass(1000);
  return drawn;
}

const between = (from: number, to: number, frames: number): number[] =>
  Array.from({ length: frames }, (_, at) => from * (to / from) ** (at / (frames - 1)));

test("a zoom nearer is followed a few times, not with each of its steps, and to its end", () => {
  const way = between(0.15, 0.9, 75);
  const steps = new Set(way.map(looksOf)).size;
  const drawn = drawnOn(way);
  expect(steps).toBeGreaterThan(15);
  expect(drawn.length).toBeLessThanOrEqual(4);
  expect(drawn.at(-1)).toBe(way.at(-1));
});

test("a single step is followed at once", () => {
  const { later } = clock();
  const zooming = new Zooming(0.2, later);
  zooming.see(1);
  expect(zooming.drawn).toBe(1);
});

test("on the way further away no card comes into view that says more than can be read there", () => {
  const { later, pass } = clock();
  const zooming = new Zooming(1, later);
  for (const zoom of between(1, 0.15, 12)) {
    zooming.see(zoom);
    expect(levelOf(zooming.drawn)).toBe(levelOf(zoom));
    pass(16);
  }
});

test("where nothing looks different nothing is drawn anew", () => {
  expect(drawnOn(between(1, 2, 40))).toEqual([]);
});

import { describe, expect, it } from "vitest";

import { Router } from "./routes";
import type { Point, Rect } from "./types";

const box = (x: number, y: number): Rect => ({ x, y, width: 100, height: 60 });
const out = ({ x, y, width, height }: Rect): Point => [x + width, y + height / 2];
const into = ({ x, y, height }: Rect): Point => [x, y + height / 2];

function route(router: Router, owner: string, source: Rect, target: Rect): Point[] {
  return router.route({ owner, from: out(source), to: into(target), source, target, lane: 0 });
}
const segments = (points: readonly Point[]): [Point, Point][] =>
  points.slice(1).map((point, at) => [points[at] as Point, point]);
const isUpright = ([[ax, ay], [bx, by]]: [Point, Point]): boolean => ax === bx || ay === by;

/** Tells whether a way goes through the inside of a box. */
const through = (points: readonly Point[], { x, y, width, height }: Rect): boolean =>
  segments(points).some(
    ([[ax, ay], [bx, by]]) =>
      Math.min(ax, bx) < x + width && Math.max(ax, bx) > x && Math.min(ay, by) < y + height && Math.max(ay, by) > y,
  );

describe("a way between two stations", () => {
  it("is a straight line where nothing stands between", () => {
    const [a, b] = [box(0, 0), box(300, 0)];
    expect(route(new Router([a, b], 1), "a", a, b)).toEqual([out(a), into(b)]);
  });

  it("turns at right angles, and ends at both ports", () => {
    const [a, b] = [box(0, 0), box(300, 200)];
    const points = route(new Router([a, b], 1), "a", a, b);
    expect([points[0], points.at(-1)]).toEqual([out(a), into(b)]);
    expect(segments(points).every(isUpright)).toBe(true);
  });

  it("goes around what stands in its way", () => {
    const [a, b, between] = [box(0, 0), box(500, 0), box(250, 0)];
    expect(through(route(new Router([a, b, between], 1), "a", a, b), between)).toBe(false);
  });

  it("goes back around the stations that it joins", () => {
    const [a, b] = [box(0, 0), box(300, 0)];
    const points = route(new Router([a, b], 1), "b", b, a);
    expect(segments(points).every(isUpright)).toBe(true);
    expect(through(points, a) || through(points, b)).toBe(false);
  });

  it("has a lane of its own beside that of another station", () => {
    const [a, b, c] = [box(0, 0), box(0, 200), box(400, 400)];
    const router = new Router([a, b, c], 2);
    const turns = (points: readonly Point[]): number[] =>
      segments(points).flatMap(([[ax, ay], [bx, by]]) => (ax === bx && ay !== by ? [ax] : []));
    const [one, other] = [turns(route(router, "a", a, c)), turns(route(router, "b", b, c))];
    expect(one.filter((x) => other.includes(x))).toEqual([]);
  });
});

/** Where edges part that begin as one, and where they come together that end as one. */
import type { Point, Way } from "./types";

/** Where the ways of one rule part: the last point that all of them share. */
export function forkOf(ways: readonly Way[]): Point | undefined {
  const [first, ...others] = ways;
  if (!first || others.length === 0) return undefined;
  let shared: Point | undefined;
  for (const other of others) {
    const at = partingOf(first.points, other.points);
    if (!shared || (at && distanceTo(first.points, at) < distanceTo(first.points, shared))) shared = at;
  }
  return shared;
}

interface Met {
  /** Where it comes to one of those before it; of the first of them all nowhere. */
  at: Point | undefined;
}

/** Ways back of different rules that end as one. */
export function meetings(ways: readonly Way[]): Map<Way, Met> {
  const ends = new Map<string, Way[]>();
  for (const way of ways) {
    if (!way.back) continue;
    const key = JSON.stringify([way.target, way.points.at(-1)]);
    ends.set(key, [...(ends.get(key) ?? []), way]);
  }
  const parted = new Map<Way, Met>();
  for (const own of ends.values()) {
    if (own.length < 2) continue;
    const reversed = own.map((way) => [...way.points].reverse());
    own.forEach((way, index) => {
      const points = reversed[index] ?? [];
      let at: Point | undefined;
      for (const other of reversed.slice(0, index)) {
        const parts = partingOf(points, other);
        if (parts && (!at || distanceTo(points, parts) > distanceTo(points, at))) at = parts;
      }
      parted.set(way, { at });
    });
  }
  return parted;
}

function partingOf(one: readonly Point[], other: readonly Point[]): Point | undefined {
  let at: Point | undefined = one[0];
  for (let index = 1; index < Math.min(one.length, other.length); index += 1) {
    const [a, b, from] = [one[index], other[index], one[index - 1]] as [Point, Point, Point];
    if (a[0] === b[0] && a[1] === b[1]) {
      at = a;
      continue;
    }
    // Both go on the same way for a while: the shorter one turns.
    const together = (a[0] === from[0]) === (b[0] === from[0]) && towards(from, a) === towards(from, b);
    return together ? (length(from, a) < length(from, b) ? a : b) : from;
  }
  return at;
}

const length = (a: Point, b: Point): number => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]);
const towards = (a: Point, b: Point): string => `${Math.sign(b[0] - a[0])} ${Math.sign(b[1] - a[1])}`;

function distanceTo(points: readonly Point[], to: Point): number {
  let sum = 0;
  for (let index = 1; index < points.length; index += 1) {
    const [a, b] = [points[index - 1], points[index]] as [Point, Point];
    if (length(a, to) + length(to, b) === length(a, b)) return sum + length(a, to);
    sum += length(a, b);
  }
  return sum;
}

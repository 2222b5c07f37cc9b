/** What stands on a way back ("at most 3 times"): in the middle of it, or where else on it nothing is in the way. Ways back that
 * share their end and say the same have one, where all of them run. Where no place is free it is not drawn: the rule says it
 * when it is chosen or pointed at. */
import { meet, passes } from "./moved";
import { boxesOf } from "./shapes";
import type { Graph, Placed, Point, Rect, Way } from "./types";
import { PILL } from "./zones";

/** How far apart the places on one piece are that are tried. */
const STEP = 24;
const APART = 3;

const around = ([x, y]: Point, width: number): Rect => ({
  x: x - width / 2 - APART,
  y: y - PILL.height / 2 - APART,
  width: width + 2 * APART,
  height: PILL.height + 2 * APART,
});

/** The room of those that have a place. */
export function pillBoxes(graph: Graph, { ways }: Pick<Placed, "ways">): Rect[] {
  const widths = new Map(graph.parts.flatMap((part) => part.outlets.map(({ id, pill }) => [id, pill] as const)));
  return ways.flatMap(({ rule, pillAt }) => (pillAt ? [around(pillAt, widths.get(rule) ?? 0)] : []));
}

/** Ways back with something on them: together where they come in together and say the same; each rule once. */
export function groupsOf(graph: Graph, ways: readonly Way[]): Way[][] {
  const outlets = new Map(graph.parts.flatMap((part) => part.outlets.map((each) => [each.id, each] as const)));
  const groups = new Map<string, Way[]>();
  const labelled = new Set<string>();
  for (const way of ways) {
    const words = outlets.get(way.rule)?.pillWords;
    // One is enough where a rule leads back by several branches.
    if (!way.back || !words || labelled.has(way.rule)) continue;
    labelled.add(way.rule);
    const key = JSON.stringify([way.target, way.points.at(-1), words]);
    groups.set(key, [...(groups.get(key) ?? []), way]);
  }
  return [...groups.values()];
}

export function freed(graph: Graph, placed: Placed): Placed {
  const groups = groupsOf(graph, placed.ways);
  if (groups.length === 0) return placed;
  const outlets = new Map(graph.parts.flatMap((part) => part.outlets.map((each) => [each.id, each] as const)));
  const boxes = boxesOf(graph, placed);
  const occupied: Rect[] = [];
  const pills = new Map<string, Point>();
  /** Tells whether one was found that all of them share. */
  const put = (ways: readonly Way[]): boolean => {
    const [first] = ways;
    const width = outlets.get(first?.rule ?? "")?.pill ?? 0;
    const [own, shared] = [new Set(ways.map((way) => way.rule)), new Set(ways.map((way) => way.points))];
    const isFree = (point: Point): boolean => {
      const box = around(point, width);
      return (
        ways.every((way) => lies(way.points, point)) &&
        ![...boxes, ...occupied].some((each) => meet(box, each)) &&
        !placed.ways.some(({ rule, points }) => !own.has(rule) && !shared.has(points) && passes(points, box))
      );
    };
    const at = along(first?.points ?? [], width).find(isFree);
    if (!first || !at) return false;
    occupied.push(around(at, width));
    pills.set(first.rule, at);
    return true;
  };
  for (const ways of groups) if (!put(ways) && ways.length > 1) for (const way of ways) put([way]);
  const done = new Set<string>();
  const ways = placed.ways.map((way): Way => {
    const pillAt = way.back && !done.has(way.rule) ? pills.get(way.rule) : undefined;
    if (way.back) done.add(way.rule);
    return { ...way, pillAt };
  });
  return { ...placed, ways };
}

/** Tells whether a way comes through this point. */
export const lies = (points: readonly Point[], [x, y]: Point): boolean =>
  points.some(([bx, by], index) => {
    const [ax, ay] = points[index - 1] ?? [bx, by];
    return Math.min(ax, bx) <= x && x <= Math.max(ax, bx) && Math.min(ay, by) <= y && y <= Math.max(ay, by);
  });

/** Places on a way: on its level pieces, the longest first, then on the others; of each from the middle outwards. */
function along(points: readonly Point[], width: number): Point[] {
  const pieces = points
    .slice(1)
    .map((b, index) => ({ a: points[index] as Point, b, level: points[index]?.[1] === b[1] }));
  const length = ({ a, b }: { a: Point; b: Point }): number => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]);
  pieces.sort((one, other) => Number(other.level) - Number(one.level) || length(other) - length(one));
  return pieces.flatMap((piece) => {
    const room = (length(piece) - (piece.level ? width : PILL.height)) / 2 - 4;
    if (room < 0) return [];
    const [x, y] = [(piece.a[0] + piece.b[0]) / 2, (piece.a[1] + piece.b[1]) / 2];
    const steps = Array.from({ length: Math.floor(room / STEP) + 1 }, (_, at) => at * STEP);
    const places = [...steps.flatMap((step) => (step === 0 ? [0] : [-step, step])), -room, room];
    return places.map((by): Point => (piece.level ? [Math.round(x + by), y] : [x, Math.round(y + by)]));
  });
}

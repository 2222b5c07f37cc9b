/** What stands on a loop ("at most 3 times") has its place from the layout; where another edge comes through it after all, it
 * moves along its own edge. Where no place is free it is not drawn: the rule says it when it is chosen or pointed at. */
import { gateBox, meet, passes } from "./moved";
import type { Graph, Placed, Point, Rect, Way } from "./types";
import { PILL, zoneOf } from "./zones";

/** How far apart the places on one piece are that are tried. */
const STEP = 24;
const APART = 3;

const around = ([x, y]: Point, width: number): Rect => ({
  x: x - width / 2 - APART,
  y: y - PILL.height / 2 - APART,
  width: width + 2 * APART,
  height: PILL.height + 2 * APART,
});

export function freed(graph: Graph, placed: Placed): Placed {
  const widths = new Map(graph.parts.flatMap(({ outlets }) => outlets.map((each) => [each.id, each.pill] as const)));
  if (!placed.ways.some((way) => way.pillAt)) return placed;
  const at = new Map(placed.parts.map((each) => [each.key, each]));
  const boxes = graph.parts.flatMap((part): Rect[] => {
    const [spot, zone] = [at.get(part.key), zoneOf(part)];
    return spot ? [{ ...zone, x: zone.x + spot.x, y: zone.y + spot.y }] : [];
  });
  const gates = new Map(graph.parts.flatMap(({ outlets }) => outlets.map((each) => [each.id, each] as const)));
  for (const gate of placed.gates) boxes.push(gateBox(gate, gates.get(gate.key) ?? { gate: 0, gateOver: 0 }));
  const taken: Rect[] = [];
  const said = new Set<string>();
  const ways = placed.ways.map((way): Way => {
    const width = widths.get(way.rule) ?? 0;
    if (!way.pillAt || width === 0) return way;
    // One is enough where a rule leads back by several branches.
    if (said.has(way.rule)) return { ...way, pillAt: undefined };
    said.add(way.rule);
    const isFree = (point: Point): boolean => {
      const own = around(point, width);
      return (
        !boxes.some((each) => meet(own, each)) &&
        !taken.some((each) => meet(own, each)) &&
        !placed.ways.some((other) => other.rule !== way.rule && passes(other.points, own))
      );
    };
    const pillAt = [way.pillAt, ...along(way.points, width)].find(isFree);
    if (pillAt) taken.push(around(pillAt, width));
    return { ...way, pillAt };
  });
  return { ...placed, ways };
}

/** Places on a way: on its level pieces, the longest first, then on the others. */
function along(points: readonly Point[], width: number): Point[] {
  const pieces = points
    .slice(1)
    .map((b, index) => ({ a: points[index] as Point, b, level: points[index]?.[1] === b[1] }));
  const length = ({ a, b }: { a: Point; b: Point }): number => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]);
  pieces.sort((one, other) => Number(other.level) - Number(one.level) || length(other) - length(one));
  return pieces.flatMap((piece) => {
    const room = length(piece) - (piece.level ? width : PILL.height) - 8;
    if (room < 0) return [];
    const from = piece.level
      ? Math.min(piece.a[0], piece.b[0]) + width / 2
      : Math.min(piece.a[1], piece.b[1]) + PILL.height / 2;
    return Array.from({ length: Math.floor(room / STEP) + 1 }, (_, at): Point => {
      const along = from + 4 + at * STEP;
      return piece.level ? [along, piece.a[1]] : [piece.a[0], along];
    });
  });
}

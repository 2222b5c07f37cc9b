/** Words of rules that lead back, on their way in place of beside their port: where a line stands in one row only so. On a level
 * piece of their own edge, or beside an upright one; never where another edge is as near. */
import { meet, passes } from "./moved";
import { gateBoxes, rejectedBox, shapesOf } from "./shapes";
import type { Graph, Outlet, Placed, Point, Rect, Way } from "./types";
import { WORDS } from "./zones";

/** From words to what is not theirs. */
const APART = 5;
/** From an upright piece to the words beside it. */
const NEIGHBOURS = 3;
/** From the corners of an edge: there is room for a sign of what changed. */
const ENDS = 14;
const STEP = 16;

const isAlong = (each: Outlet): boolean =>
  each.loops && each.long > 0 && each.gate === 0 && each.stubs.length === 0 && each.targets.length === 1;

/** All rules whose words may stand so. */
export const alongRules = (graph: Graph): string[] =>
  graph.parts.flatMap(({ outlets }) => outlets.filter(isAlong).map((each) => each.id));

/** The graph without the words of these rules beside their ports. */
export function alongOf(graph: Graph, rules: readonly string[]): Graph {
  const own = new Set(rules);
  const put = (each: Outlet): Outlet => (own.has(each.id) ? { ...each, lines: 0, words: 0, along: true } : each);
  return { ...graph, parts: graph.parts.map((part) => ({ ...part, outlets: part.outlets.map(put) })) };
}

/** With a place for each of these words; `without`: the rules for whose words there is none. */
export function strung(graph: Graph, placed: Placed): { placed: Placed; without: string[] } {
  const outlets = new Map(graph.parts.flatMap((part) => part.outlets.map((each) => [each.id, each] as const)));
  const boxes = boxesOf(graph, placed);
  const without: string[] = [];
  const rects = new Map<Way, Rect>();
  const shortOf = (way: Way): number => outlets.get(way.rule)?.short ?? 0;
  // Near their ports those that have a limit to say, too, which needs room beside them; then the longest first, for they
  // fit in the fewest places.
  const limited = (way: Way): number => (outlets.get(way.rule)?.pillWords ? 1 : 0);
  const own = placed.ways.filter((way) => outlets.get(way.rule)?.along);
  own.sort((one, other) => limited(other) - limited(one) || shortOf(other) - shortOf(one));
  for (const way of own) {
    const isFree = (box: Rect): boolean => {
      const room = grown(box, APART);
      return (
        !boxes.some((each) => meet(room, each)) &&
        !placed.ways.some((other) => other.rule !== way.rule && passes(other.points, room))
      );
    };
    const long = outlets.get(way.rule)?.long ?? 0;
    const wordsAt = placesOn(way.points, long).find(isFree) ?? placesOn(way.points, shortOf(way)).find(isFree);
    if (!wordsAt) {
      without.push(way.rule);
      continue;
    }
    boxes.push(wordsAt);
    rects.set(way, wordsAt);
  }
  const ways = placed.ways.map((way) => (rects.has(way) ? { ...way, wordsAt: rects.get(way) } : way));
  return { placed: { ...placed, ways }, without };
}

/** Cards, ports, words and gates. */
export function boxesOf(graph: Graph, placed: Placed): Rect[] {
  const at = new Map(placed.parts.map((each) => [each.key, each]));
  const gates = new Map(placed.gates.map((each) => [each.key, each]));
  return graph.parts.flatMap((part): Rect[] => {
    const spot = at.get(part.key);
    if (!spot) return [];
    const own = shapesOf(part).map((each) => ({ ...each, x: each.x + spot.x, y: each.y + spot.y }));
    const over = part.outlets.flatMap((outlet) => {
      const gate = gates.get(outlet.id);
      if (outlet.gate === 0 || !gate) return [];
      return [...gateBoxes(gate, outlet), ...[rejectedBox(gate, outlet)].filter((each) => each !== undefined)];
    });
    return [...own, ...over];
  });
}

const grown = ({ x, y, width, height }: Rect, by: number): Rect => ({
  x: x - by,
  y: y - by,
  width: width + 2 * by,
  height: height + 2 * by,
});

/** Nearest to the port first, for there somebody looks for them: beside what goes down, then on the level pieces. */
function placesOn(points: readonly Point[], width: number): Rect[] {
  const height = WORDS.line;
  return points.slice(1).flatMap(([bx, by], index): Rect[] => {
    const [ax, ay] = points[index] as Point;
    if (ay === by) {
      const room = Math.abs(bx - ax) - width - 2 * ENDS;
      if (room < 0) return [];
      return steps(room).map((at) => ({
        x: Math.round(ax < bx ? ax + ENDS + at : ax - ENDS - at - width),
        y: ay - height / 2,
        width,
        height,
      }));
    }
    const room = Math.abs(by - ay) - height - 2 * APART;
    if (room < 0) return [];
    return steps(room).flatMap((at) => {
      const y = Math.round(ay < by ? ay + APART + at : ay - APART - at - height);
      return [
        { x: ax + NEIGHBOURS, y, width, height },
        { x: ax - NEIGHBOURS - width, y, width, height },
      ];
    });
  });
}

const steps = (room: number): number[] => Array.from({ length: Math.floor(room / STEP) + 1 }, (_, at) => at * STEP);

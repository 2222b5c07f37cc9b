/** Words of a rule, on its own edge: beside a piece that goes down, or on a level one; never where another edge is as near.
 * Where there is no such place the words are left to who points at the edge. */
import { distance } from "./geometry";
import { meet, passes } from "./moved";
import { pillBoxes } from "./pills";
import { boxesOf, grown } from "./shapes";
import type { Graph, Placed, Point, Rect, Way } from "./types";
import { WORDS } from "./zones";

/** Distance from words to what is not theirs. */
const APART = 5;
/** Distance from an upright piece to the words beside it. */
const NEIGHBOURS = 3;
/** Distance from the corners of an edge: there is room for a sign of what changed. */
const ENDS = 12;
const STEP = 8;
/** Distance from a level piece to words past a pill at its end. */
const FARTHER = 16;

export function labelled(graph: Graph, placed: Placed): Placed {
  const widths = new Map<string | undefined, number | undefined>();
  for (const { id, words, rejected } of graph.parts.flatMap((part) => part.outlets))
    widths.set(id, words).set(rejected?.id, rejected?.width);
  const boxes = [...boxesOf(graph, placed), ...pillBoxes(graph, placed)];
  const rects = new Map<Way, Rect>();
  const done = new Set<string>();
  const wordsOf = (way: Way): number => widths.get(way.rule) ?? 0;
  // The longest first, for they fit in the fewest places.
  const own = placed.ways.filter((way) => wordsOf(way) > 0).sort((one, other) => wordsOf(other) - wordsOf(one));
  for (const places of [placesBack, placesOn, placesNear])
    for (const way of own) {
      if (done.has(way.rule) || (places === placesBack && !way.back)) continue;
      const wordsAt = places(way.points, wordsOf(way)).find((box) => {
        const room = grown({ ...box, width: box.width * WORDS.grown }, APART);
        const clear = grown(room, Math.max(0, distance(way.points, box) - APART + 1));
        return (
          !boxes.some((each) => meet(room, each)) &&
          !placed.ways.some(
            (other) => other.rule !== way.rule && other.points !== way.points && passes(other.points, clear),
          )
        );
      });
      if (!wordsAt) continue;
      boxes.push(wordsAt);
      rects.set(way, wordsAt);
      done.add(way.rule);
    }
  return { ...placed, ways: placed.ways.map((way) => ({ ...way, wordsAt: rects.get(way) })) };
}

/** Places of words of a way back on its longest level piece, from the middle outwards: there it is seen where it leads. */
function placesBack(points: readonly Point[], width: number): Rect[] {
  const level = points.slice(1).flatMap(([bx, by], index): Rect[] => {
    const [ax, ay] = points[index] as Point;
    return ay === by ? [{ x: Math.min(ax, bx), y: ay, width: Math.abs(bx - ax), height: 0 }] : [];
  });
  const [longest] = level.sort((one, other) => other.width - one.width);
  const room = (longest?.width ?? 0) - width - 2 * ENDS;
  if (!longest || room < 0) return [];
  const [x, y, height] = [longest.x + (longest.width - width) / 2, longest.y - WORDS.line / 2, WORDS.line];
  return steps(room / 2).flatMap((at) => [x - at, x + at].map((left) => ({ x: Math.round(left), y, width, height })));
}

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

/** Places below or above a piece that is too short to hold them, or beside its corner: still nearer to it than to any other edge. */
function placesNear(points: readonly Point[], width: number): Rect[] {
  const height = WORDS.line;
  const around = points.slice(1).flatMap(([bx, by], index): Rect[] => {
    const [ax, ay] = points[index] as Point;
    const [left, right, top, bottom] = [Math.min(ax, bx), Math.max(ax, bx), Math.min(ay, by), Math.max(ay, by)];
    // Of a level piece, from the port on; below a pill at its end, too.
    if (ay === by)
      return [NEIGHBOURS, FARTHER].flatMap((by) =>
        [ay + by, ay - by - height].flatMap((y) =>
          steps(Math.max(0, right - left - ENDS)).map((at) => ({ x: left + ENDS + at, y, width, height })),
        ),
      );
    return steps(bottom - top).flatMap((at) => [
      { x: ax + NEIGHBOURS, y: top + at - height / 2, width, height },
      { x: ax - NEIGHBOURS - width, y: top + at - height / 2, width, height },
    ]);
  });
  return around.filter((box) => !passes(points, box));
}

const steps = (room: number): number[] => Array.from({ length: Math.floor(room / STEP) + 1 }, (_, at) => at * STEP);

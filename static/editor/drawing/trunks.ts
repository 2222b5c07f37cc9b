/** Ways back to one station come in together (elk.ts). Where one of them may run level with another without crossing more or
 * coming through anything, it does: side by side over half of the drawing they would be two lines for one thing. */
import { boxesOf } from "./along";
import { crossings } from "./geometry";
import { passes } from "./moved";
import type { Graph, Placed, Point, Rect, Way } from "./types";

export function shared(graph: Graph, placed: Placed): Placed {
  const ways = [...placed.ways];
  const boxes = boxesOf(graph, placed);
  const ends = new Map<string, number[]>();
  ways.forEach((way, index) => {
    if (!way.back) return;
    const key = JSON.stringify([way.target, way.points.at(-1)]);
    ends.set(key, [...(ends.get(key) ?? []), index]);
  });
  for (const own of ends.values()) {
    if (own.length < 2) continue;
    for (const one of own)
      for (const other of own) {
        const [way, with_] = [ways[one], ways[other]];
        const level = one === other ? undefined : with_ && runOf(with_);
        const moved = way && with_ && level !== undefined && beside(way, with_, level);
        if (moved && isClear(moved, ways, one, boxes)) ways[one] = moved;
      }
  }
  return { ...placed, ways };
}

/** Out of the port, down, along, and up to where it leads: at which height it runs along. */
function runOf({ points, wordsAt }: Way): number | undefined {
  const [at, before] = [points.at(-2), points.at(-3)];
  if (!at || !before || points.length < 4 || at[1] !== before[1]) return undefined;
  // Words on it would be about both.
  return wordsAt && wordsAt.y < at[1] && wordsAt.y + wordsAt.height > at[1] ? undefined : at[1];
}

/** The way, running along at the height of another: only where that is further from its port, so that none of it turns. */
function beside(way: Way, other: Way, level: number): Way | undefined {
  const own = runOf(way);
  if (own === undefined || own === level) return undefined;
  const { points } = way;
  const [port, target] = [points.at(-4), points.at(-1)];
  if (!port || !target || level - port[1] <= 0 || level - target[1] <= 0) return undefined;
  if (other.points.at(-2)?.[0] !== points.at(-2)?.[0]) return undefined;
  const last = points.length - 1;
  return {
    ...way,
    points: points.map(([x, y], index): Point => (index === last - 1 || index === last - 2 ? [x, level] : [x, y])),
  };
}

function isClear(moved: Way, ways: readonly Way[], index: number, boxes: readonly Rect[]): boolean {
  const run = moved.points.slice(-4);
  const grown = boxes.map(({ x, y, width, height }) => ({
    x: x - 5,
    y: y - 5,
    width: width + 10,
    height: height + 10,
  }));
  if (grown.some((box) => passes(run.slice(0, 3), box) && !passes(moved.points.slice(0, -3), box))) return false;
  const now = ways.map((way, at) => (at === index ? moved : way));
  if (crossings(now) > crossings(ways)) return false;
  // On nothing of an edge that leads elsewhere, and not beside it either.
  return !ways.some((other, at) => at !== index && !isSame(other, moved) && closeBy(other.points, run));
}

const isSame = (one: Way, other: Way): boolean =>
  one.back && one.target === other.target && String(one.points.at(-1)) === String(other.points.at(-1));

const NEAR = 8;

/** Whether a piece of one lies along a piece of the other. */
const closeBy = (points: readonly Point[], run: readonly Point[]): boolean =>
  run.slice(1).some((b, index) => {
    const a = run[index] as Point;
    return points.slice(1).some((d, at) => {
      const c = points[at] as Point;
      const flat = a[1] === b[1] ? 1 : 0;
      if ((c[1] === d[1] ? 1 : 0) !== flat || Math.abs((a[flat] ?? 0) - (c[flat] ?? 0)) >= NEAR) return false;
      const along = 1 - flat;
      const [from, to] = [Math.min(a[along] ?? 0, b[along] ?? 0), Math.max(a[along] ?? 0, b[along] ?? 0)];
      return Math.min(c[along] ?? 0, d[along] ?? 0) < to && Math.max(c[along] ?? 0, d[along] ?? 0) > from;
    });
  });

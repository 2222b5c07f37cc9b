/** What must hold of a drawing, checked by its geometry: for tests, and for counting. */
import { meet, passes } from "./moved";
import { groupsOf, lies } from "./pills";
import { gateBoxes, rejectedBox, shapesOf } from "./shapes";
import type { Graph, Placed, Point, Rect } from "./types";
import { PILL, STUB, stubsFrom } from "./zones";

interface Thing extends Rect {
  what: string;
  /** Part or rule that it belongs to. */
  of: string;
  /** Of a pill all rules that it is said of. */
  rules?: readonly string[];
  /** Words that stand on their edge. */
  along?: boolean;
  /** The part that it stands at. */
  part: string;
  kind: "card" | "bar" | "port" | "gate" | "words" | "stub" | "pill";
}

interface Line {
  rule: string;
  part: string;
  target: string;
  points: readonly Point[];
}

/** All boxes of a drawing, and all lines. */
export function drawnThings(graph: Graph, placed: Placed): { things: Thing[]; lines: Line[] } {
  const at = new Map(placed.parts.map((each) => [each.key, each]));
  const gates = new Map(placed.gates.map((each) => [each.key, each]));
  const things: Thing[] = [];
  const lines: Line[] = [];
  const groups = groupsOf(graph, placed.ways);
  for (const part of graph.parts) {
    const spot = at.get(part.key);
    if (!spot) continue;
    const add = (kind: Thing["kind"], of: string, { x, y, width, height }: Rect): void => {
      things.push({ kind, of, part: part.key, what: `${kind} ${of}`, x, y, width, height });
    };
    for (const { kind, rule, x, y, width, height } of shapesOf(part))
      add(kind, rule ?? part.key, { x: x + spot.x, y: y + spot.y, width, height });
    for (const outlet of part.outlets) {
      if (outlet.badge) continue;
      let [from, x] = [part.width, part.width + stubsFrom(part)];
      for (const stub of outlet.stubs) {
        const begin: Point = [spot.x + from, spot.y + outlet.port];
        lines.push({ rule: outlet.id, part: part.key, target: "", points: [begin, [spot.x + x, begin[1]]] });
        from = x + stub.width;
        x = from + STUB.between;
      }
      const gate = gates.get(outlet.id);
      if (outlet.gate > 0 && gate) for (const box of gateBoxes(gate, outlet)) add("gate", outlet.id, box);
      const word = gate && rejectedBox(gate, outlet);
      if (word && outlet.rejected) add("words", outlet.rejected.id, word);
      for (const { rule, target, points } of placed.ways)
        if (rule === outlet.rejected?.id) lines.push({ rule, part: part.key, target, points });
      for (const way of placed.ways.filter((each) => each.rule === outlet.id)) {
        lines.push({ rule: outlet.id, part: part.key, target: way.target, points: way.points });
        if (way.wordsAt)
          things.push({
            kind: "words",
            of: outlet.id,
            part: part.key,
            along: true,
            what: `words ${outlet.id}`,
            ...way.wordsAt,
          });
        if (way.pillAt && outlet.pill > 0) {
          const [middle, level] = way.pillAt;
          const group = groups.find((each) => each.some(({ rule }) => rule === outlet.id)) ?? [];
          things.push({
            kind: "pill",
            of: outlet.id,
            part: part.key,
            rules: group.filter(({ points }) => lies(points, [middle, level])).map(({ rule }) => rule),
            what: `pill ${outlet.id}`,
            x: middle - outlet.pill / 2,
            y: level - PILL.height / 2,
            width: outlet.pill,
            height: PILL.height,
          });
        }
      }
    }
  }
  return { things, lines };
}

const SLACK = 1;

const inner = ({ x, y, width, height }: Rect): Rect => ({
  x: x + SLACK,
  y: y + SLACK,
  width: width - 2 * SLACK,
  height: height - 2 * SLACK,
});

/** Every sentence about drawings (help: drawing) that this one breaks, in words; none where it is right. */
export function faults(graph: Graph, placed: Placed): string[] {
  const { things, lines } = drawnThings(graph, placed);
  return [
    ...covered(things),
    ...through(things, lines),
    ...strayed(things, lines),
    ...unordered(graph),
    ...bent(graph, placed),
  ];
}

/** Nothing covers anything else. */
function covered(things: readonly Thing[]): string[] {
  return things.flatMap((one, index) =>
    things
      .slice(index + 1)
      .filter(
        (other) =>
          (one.part !== other.part || one.kind === "pill" || one.along || other.along || other.kind === "pill") &&
          meet(inner(one), inner(other)),
      )
      .map((other) => `${one.what} covers ${other.what}`),
  );
}

const OWN: ReadonlySet<Thing["kind"]> = new Set(["gate", "stub", "port"]);

/** No edge goes through a station, a gate, a pill, words or ports of others. */
function through(things: readonly Thing[], lines: readonly Line[]): string[] {
  return lines.flatMap((line) =>
    things
      .filter((thing) => {
        if (OWN.has(thing.kind) && thing.of === line.rule) return false;
        if (thing.rules?.includes(line.rule) || (thing.along && thing.of === line.rule)) return false;
        if (thing.kind === "bar" && thing.of === line.target) return false;
        return passes(line.points, inner(thing));
      })
      .map((thing) => `${line.rule} to ${line.target} goes through ${thing.what}`),
  );
}

/** Words stand nearer to their own edge than to any other. */
function strayed(things: readonly Thing[], lines: readonly Line[]): string[] {
  return things
    .filter(({ kind, of, part }) => kind === "words" && of !== part)
    .flatMap((words) => {
      const own = Math.min(
        ...lines.filter((line) => line.rule === words.of).map((line) => distance(line.points, words)),
      );
      return lines
        .filter((line) => line.rule !== words.of && distance(line.points, words) <= own)
        .map((line) => `${words.what} is nearer to ${line.rule} to ${line.target}`);
    });
}

/** The number in the circle is the rule: below one another in their order. */
const unordered = (graph: Graph): string[] =>
  graph.parts
    .filter(({ outlets }) => outlets.some((each, index) => index > 0 && each.port <= (outlets[index - 1]?.port ?? 0)))
    .map((part) => `${part.key} has rules out of order`);

/** The main way is straight: one height from start to end, in each row. */
export function bent(graph: Graph, placed: Placed): string[] {
  const at = new Map(placed.parts.map((each) => [each.key, each]));
  const levels = graph.main.flatMap((key) => {
    const [part, spot] = [graph.parts.find((each) => each.key === key), at.get(key)];
    return part && spot
      ? [{ key, level: spot.y + part.port, row: placed.rows.findIndex((row) => row.includes(key)) }]
      : [];
  });
  return levels.flatMap((each, index) => {
    const before = levels[index - 1];
    if (!before || each.row > before.row) return [];
    return each.level === before.level ? [] : [`the main way bends at ${each.key}`];
  });
}

function distance(points: readonly Point[], { x, y, width, height }: Rect): number {
  let nearest = Number.POSITIVE_INFINITY;
  points.forEach((point, index) => {
    const before = points[index - 1];
    if (!before) return;
    const [left, right] = [Math.min(before[0], point[0]), Math.max(before[0], point[0])];
    const [top, bottom] = [Math.min(before[1], point[1]), Math.max(before[1], point[1])];
    const across = Math.max(0, left - (x + width), x - right);
    const down = Math.max(0, top - (y + height), y - bottom);
    nearest = Math.min(nearest, Math.hypot(across, down));
  });
  return nearest;
}

/** How often edges of different rules cross. */
export function crossings(ways: Placed["ways"]): number {
  const pieces = ways.flatMap(({ rule, points }) =>
    points.slice(1).map((point, index) => ({ rule, a: points[index] as Point, b: point })),
  );
  const level = pieces.filter(({ a, b }) => a[1] === b[1]);
  const upright = pieces.filter(({ a, b }) => a[0] === b[0] && a[1] !== b[1]);
  let count = 0;
  for (const one of level)
    for (const other of upright) {
      if (one.rule === other.rule) continue;
      const [left, right] = [Math.min(one.a[0], one.b[0]), Math.max(one.a[0], one.b[0])];
      const [top, bottom] = [Math.min(other.a[1], other.b[1]), Math.max(other.a[1], other.b[1])];
      if (other.a[0] > left && other.a[0] < right && one.a[1] > top && one.a[1] < bottom) count += 1;
    }
  return count;
}

export const sizeOf = (placed: Placed): [number, number] => {
  const points = placed.ways.flatMap((way) => way.points);
  const [xs, ys] = [points.map((point) => point[0]), points.map((point) => point[1])];
  return [Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)];
};

/** What must hold of a drawing, checked by its geometry: for tests, and for counting. */
import { meet, passes } from "./moved";
import { groupsOf, lies } from "./pills";
import { gateBoxes, shapesOf } from "./shapes";
import type { Graph, Placed, Point, Rect, Way } from "./types";
import { CARD, PILL } from "./zones";

interface Thing extends Rect {
  what: string;
  /** Part or rule that it belongs to. */
  of: string;
  /** Of a pill all rules that it is said of. */
  rules?: readonly string[];
  /** The part that it stands at. */
  part: string;
  kind: "card" | "bar" | "port" | "gate" | "words" | "pill";
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
      const gate = gates.get(outlet.id);
      if (outlet.gate > 0 && gate) for (const box of gateBoxes(gate, outlet)) add("gate", outlet.id, box);
      for (const way of placed.ways.filter(({ rule }) => rule === outlet.id || rule === outlet.rejected?.id)) {
        lines.push({ rule: way.rule, part: part.key, target: way.target, points: way.points });
        if (way.wordsAt) add("words", way.rule, way.wordsAt);
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
    ...through(graph, things, lines),
    ...strayed(graph, things, lines),
    ...unordered(graph),
    ...bent(graph, placed),
    ...twice(graph, placed),
  ];
}

/** Nothing covers anything else. */
function covered(things: readonly Thing[]): string[] {
  return things.flatMap((one, index) =>
    things
      .slice(index + 1)
      .filter(
        (other) =>
          (one.part !== other.part || [one, other].some(({ kind }) => kind === "pill" || kind === "words")) &&
          meet(inner(one), inner(other)),
      )
      .map((other) => `${one.what} covers ${other.what}`),
  );
}

const OWN: ReadonlySet<Thing["kind"]> = new Set(["gate", "port", "words"]);

/** No edge goes through a station, a gate, a pill, words or ports of others. */
const through = (graph: Graph, things: readonly Thing[], lines: readonly Line[]): string[] =>
  lines.flatMap((line) =>
    inTheWay(graph, things, line).map((thing) => `${line.rule} to ${line.target} goes through ${thing.what}`),
  );

function inTheWay(graph: Graph, things: readonly Thing[], line: Line): Thing[] {
  const leaders = leadersOf(graph);
  return things.filter((thing) => {
    if (!passes(line.points, inner(thing))) return false;
    if (OWN.has(thing.kind) && thing.of === line.rule) return false;
    if (thing.rules?.includes(line.rule) || leaders.get(line.rule) === thing.of) return false;
    if (thing.kind === "port" && leaders.get(thing.of) === (leaders.get(line.rule) ?? line.rule)) return false;
    return !(thing.kind === "bar" && thing.of === line.target);
  });
}

/** Of rules that share the edge of another, that one. */
const leadersOf = ({ parts }: Graph): Map<string, string | undefined> =>
  new Map(parts.flatMap(({ outlets }) => outlets.map(({ id, leader }) => [id, leader] as const)));

/** Words stand nearer to their own edge than to any other. */
function strayed(graph: Graph, things: readonly Thing[], lines: readonly Line[]): string[] {
  const leaders = leadersOf(graph);
  return things
    .filter(({ kind, of, part }) => kind === "words" && of !== part)
    .flatMap((words) => {
      const own = Math.min(
        ...lines.filter((line) => line.rule === words.of).map((line) => distance(line.points, words)),
      );
      return lines
        .filter(({ rule }) => rule !== words.of && leaders.get(rule) !== words.of)
        .filter((line) => distance(line.points, words) <= own)
        .map((line) => `${words.what} is nearer to ${line.rule} to ${line.target}`);
    });
}

/** Ports stand below one another as far apart as their circles need, those of one edge beside one another. */
const unordered = (graph: Graph): string[] =>
  graph.parts
    .filter(({ outlets }) => {
      const own = outlets.filter(({ badge, leader }) => !badge && leader === undefined).map(({ port }) => port);
      return own.some((one, index) => own.slice(index + 1).some((other) => Math.abs(one - other) < CARD.step));
    })
    .map((part) => `${part.key} has ports on one another`);

/** A station asks at a gate before the same place once. */
function twice({ parts }: Graph, placed: Placed): string[] {
  const gates = new Set(placed.gates.map((gate) => gate.key));
  return parts.flatMap(({ key, outlets }) => {
    const questions = outlets
      .filter(({ id }) => gates.has(id))
      .map((each) => [each.gateRows, each.many, each.targets, each.dead, each.pillWords].join());
    return new Set(questions).size < questions.length ? [`${key} asks twice at one gate`] : [];
  });
}

type Edge = Pick<Way, "rule" | "target">;

/** Edges that cross the main way. */
export const crossingMain = (graph: Graph, placed: Placed): string[] =>
  acrossMain(graph, placed).map(({ rule, target }) => `${rule} to ${target} crosses the main way`);

function acrossMain({ mainEdges, mainRules }: Graph, { ways }: Placed): Edge[] {
  const [edges, rules] = [new Set(mainEdges), new Set(mainRules)];
  const main = ways.filter(({ rule, target }) => edges.has(`${rule}>${target}`));
  return ways.filter(({ rule }) => !rules.has(rule)).filter((way) => main.some((other) => crossings([way, other]) > 0));
}

/** How much longer an edge may be than twice the way along x and y between its ends. */
const DETOUR = 200;

const along = ([ax, ay]: Point, [bx, by]: Point): number => Math.abs(ax - bx) + Math.abs(ay - by);

/** Edges that are longer than twice the way along x and y between their ends, past their gate, or pass what they lead to;
 * what goes on in another row goes round. */
export const tooLong = (graph: Graph, placed: Placed): string[] =>
  goingTooFar(graph, placed).map(({ rule, target }) => `${rule} to ${target} goes too far`);

function goingTooFar(graph: Graph, placed: Placed): Edge[] {
  const gates = new Map(placed.gates.map(({ key, x, y }) => [key, [x, y] as const]));
  const rowOf = new Map(placed.rows.flatMap((keys, row) => keys.map((key) => [key, row] as const)));
  const leaders = leadersOf(graph);
  return drawnThings(graph, placed).lines.filter(({ rule, part, target, points }) => {
    const [first, last, gate] = [points[0], points.at(-1), gates.get(leaders.get(rule) ?? rule)];
    if (!first || !last || rowOf.get(part) !== rowOf.get(target)) return false;
    const length = points.slice(1).reduce((sum, point, index) => sum + along(points[index] as Point, point), 0);
    const direct = gate ? along(first, gate) + along(gate, last) : along(first, last);
    const isAhead = points.at(-2)?.[1] === last[1] && first[0] < last[0];
    const comesBack = isAhead && points.some(([x]) => x > last[0]);
    return length > 2 * direct + DETOUR || comesBack;
  });
}

/** "rule>target" of the edges that cross the main way or go too far. */
export const misled = (graph: Graph, placed: Placed): string[] =>
  [...acrossMain(graph, placed), ...goingTooFar(graph, placed)].map(({ rule, target }) => `${rule}>${target}`);

/** These, and those that go through something. */
export function faulty(graph: Graph, placed: Placed): string[] {
  const { things, lines } = drawnThings(graph, placed);
  const passing = lines.filter((line) => inTheWay(graph, things, line).length > 0);
  return [...misled(graph, placed), ...passing.map(({ rule, target }) => `${rule}>${target}`)];
}

/** Rules whose words have no place. */
export function unsaid({ parts }: Graph, { ways }: Placed): string[] {
  const labelledRules = new Set(ways.flatMap(({ rule, wordsAt }) => (wordsAt ? [rule] : [])));
  const drawn = new Set(ways.map(({ rule }) => rule));
  return parts
    .flatMap(({ outlets }) => outlets)
    .filter(({ id, words }) => words > 0 && drawn.has(id) && !labelledRules.has(id))
    .map(({ id }) => id);
}

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

/** Distance from an edge to a box. */
export function distance(points: readonly Point[], { x, y, width, height }: Rect): number {
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

/** Counts how often edges of different rules cross. */
export const crossings = (ways: Placed["ways"]): number => crossingPoints(ways).length;

/** Finds where edges of different rules cross, once for each two of them. */
export function crossingPoints(ways: Placed["ways"]): Point[] {
  const pieces = ways.flatMap(({ rule, points }) =>
    points.slice(1).map((point, index) => ({ rule, a: points[index] as Point, b: point })),
  );
  const level = pieces.filter(({ a, b }) => a[1] === b[1]);
  const upright = pieces.filter(({ a, b }) => a[0] === b[0] && a[1] !== b[1]);
  return level.flatMap((one) => {
    const [left, right] = [Math.min(one.a[0], one.b[0]), Math.max(one.a[0], one.b[0])];
    return upright
      .filter((other) => {
        const [top, bottom] = [Math.min(other.a[1], other.b[1]), Math.max(other.a[1], other.b[1])];
        return (
          one.rule !== other.rule && other.a[0] > left && other.a[0] < right && one.a[1] > top && one.a[1] < bottom
        );
      })
      .map(({ a }): Point => [a[0], one.a[1]]);
  });
}

export const sizeOf = (placed: Placed): [number, number] => {
  const points = placed.ways.flatMap((way) => way.points);
  const [xs, ys] = [points.map((point) => point[0]), points.map((point) => point[1])];
  return [Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)];
};

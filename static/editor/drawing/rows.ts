/** A long line in rows: cut where few edges go on, each row laid out by itself, and what goes on led from the end of one row
 * to the beginning of another through the free room around them. */
import type { ElkExtendedEdge, ElkNode } from "elkjs/lib/elk-api";
import { pillKey, pillOf } from "./graph";
import type { Graph, Outlet, Part, Placed } from "./types";
import { gateWidth, leavingOf, roomFor, zoneOf } from "./zones";

/** Which parts stand in which row. */
export type RowOf = ReadonlyMap<string, number>;

/** Of a line with more parts only one number of rows is tried, and no single row. */
export const LONG = 40;
/** About how high a row is. */
const ROW = 245;
const LANE = 12;
const ROOM = 20;
const BETWEEN = 20;
/** What an edge that goes on in another row costs, in pixels of a row's width. */
const CUT = 90;

type Edge = { from: string; to: string };

/** All edges as ELK sees them: from left to right. */
export function edgesOf(graph: Graph): Edge[] {
  const back = new Set(graph.back);
  const silent = graph.silent.map(([from, to]): Edge => ({ from, to }));
  const drawn = graph.parts.flatMap((part) =>
    part.outlets
      .flatMap(leavingOf)
      .map(({ id, to }) => (back.has(`${id}>${to}`) ? { from: to, to: part.key } : { from: part.key, to })),
  );
  return [...drawn, ...silent].filter(({ from, to }) => from !== to);
}

/** Each as far right as the longest way to it; what nothing leads to stands beside what it leads to. */
export function columnsOf(graph: Graph, edges: readonly Edge[]): Map<string, number> {
  const column = new Map(graph.parts.map((part) => [part.key, 0]));
  const into = new Map<string, number>();
  const after = new Map<string, string[]>();
  for (const { from, to } of edges) {
    into.set(to, (into.get(to) ?? 0) + 1);
    after.set(from, [...(after.get(from) ?? []), to]);
  }
  const ready = graph.parts.map((part) => part.key).filter((key) => !into.get(key));
  const order: string[] = [];
  for (let key = ready.pop(); key !== undefined; key = ready.pop()) {
    order.push(key);
    for (const to of after.get(key) ?? []) {
      column.set(to, Math.max(column.get(to) ?? 0, (column.get(key) ?? 0) + 1));
      const left = (into.get(to) ?? 1) - 1;
      into.set(to, left);
      if (left === 0) ready.push(to);
    }
  }
  const first = graph.parts[0]?.key;
  const targets = new Set(edges.map((edge) => edge.to));
  for (const key of order) {
    if (key === first || targets.has(key)) continue;
    const next = (after.get(key) ?? []).map((to) => column.get(to) ?? 1);
    column.set(key, next.length === 0 ? 1 : Math.max(0, Math.min(...next) - 1));
  }
  return column;
}

const widthOf = (part: Part): number => {
  const gates = part.outlets.map((each) => (each.gate > 0 ? gateWidth(each) + BETWEEN : 0));
  return zoneOf(part).width + Math.max(0, ...gates) + BETWEEN;
};

export function widthsOf(graph: Graph, column: ReadonlyMap<string, number>): number[] {
  const widths: number[] = Array.from({ length: Math.max(0, ...column.values()) + 1 }, () => 0);
  for (const part of graph.parts) {
    const at = column.get(part.key) ?? 0;
    widths[at] = Math.max(widths[at] ?? 0, widthOf(part));
  }
  return widths;
}

/** Counts how many rows a long line takes, by the shape of the window. */
export function countOf(graph: Graph): number {
  const length = widthsOf(graph, columnsOf(graph, edgesOf(graph))).reduce((sum, each) => sum + each, 0);
  return Math.max(1, Math.round(Math.sqrt((length * graph.window[1]) / (Math.max(1, graph.window[0]) * ROW))));
}

/** As many rows as these, about equally long, cut where few edges go on. */
export function rowsFor(graph: Graph, count: number): { rowOf: RowOf; cut: number } {
  const edges = edgesOf(graph);
  const column = columnsOf(graph, edges);
  const widths = widthsOf(graph, column);
  const cutting = widths.map(
    (_, at) =>
      edges.filter(({ from, to }) => {
        const [a, b] = [column.get(from) ?? 0, column.get(to) ?? 0];
        return Math.min(a, b) < at && Math.max(a, b) >= at;
      }).length,
  );
  const average = widths.reduce((sum, each) => sum + each, 0) / count;
  const upTo = [0];
  for (const width of widths) upTo.push((upTo.at(-1) ?? 0) + width);
  // best[row][at]: the cheapest way to have the columns before `at` in `row` rows.
  type Best = { cost: number; begin: number };
  const none = { cost: Number.POSITIVE_INFINITY, begin: 0 };
  const best: Best[][] = [[{ cost: 0, begin: 0 }, ...widths.map(() => none)]];
  for (let row = 1; row <= count; row += 1) {
    best.push(
      upTo.map((right, at) => {
        let least: Best = none;
        for (let begin = 0; begin < at; begin += 1) {
          // The start alone is no row.
          if (begin === 1) continue;
          const over = right - (upTo[begin] ?? 0) - average;
          const cost =
            (best[row - 1]?.[begin]?.cost ?? Number.POSITIVE_INFINITY) +
            (over * over) / Math.max(200, average) +
            (begin > 0 ? CUT * (cutting[begin] ?? 0) : 0);
          if (cost < least.cost) least = { cost, begin };
        }
        return least;
      }),
    );
  }
  const begins: number[] = [];
  for (let row = count, at = widths.length; row > 0; row -= 1) {
    at = best[row]?.[at]?.begin ?? 0;
    begins.unshift(at);
  }
  const rowAt = (at: number): number => begins.filter((begin) => begin <= at).length - 1;
  const rowOf = new Map([...column].map(([key, at]) => [key, rowAt(at)]));
  // An end stands in the row of what leads there: no edge goes round for it. The one of the main way closes the last row.
  for (const { key, kind } of graph.parts) {
    if ((kind !== "end" && kind !== "pill") || graph.main.includes(key)) continue;
    const from = new Set(edges.filter(({ to }) => to === key).map((edge) => rowOf.get(edge.from) ?? 0));
    const [only] = from;
    if (from.size === 1 && only !== undefined) rowOf.set(key, only);
  }
  return { rowOf, cut: edges.filter(({ from, to }) => rowOf.get(from) !== rowOf.get(to)).length };
}

/** The line as it stands in rows: only the main way leads from one into another. What else leads there is named in a pill. */
export function inRows(graph: Graph, rows: RowOf): Graph {
  const main = new Set(graph.mainEdges);
  return withPillsFor(graph, (edge, from, to) => rows.get(from) !== rows.get(to) && !main.has(edge));
}

/** The line with pills that name the targets of these edges. */
function withPillsFor(graph: Graph, isNamed: (edge: string, from: string, to: string) => boolean): Graph {
  const byKey = new Map(graph.parts.map((part) => [part.key, part]));
  const pills: Part[] = [];
  const cut = (from: string, id: string, to: string): string => {
    if (!isNamed(`${id}>${to}`, from, to)) return to;
    const key = pillKey(id, to);
    pills.push(pillOf(key, byKey.get(to)?.named ?? 0));
    return key;
  };
  const back = new Set(graph.back);
  const parts = graph.parts.map((part) => ({
    ...part,
    outlets: part.outlets.map((each): Outlet => {
      const { id, rejected } = each;
      const targets = each.targets.map((to) => cut(part.key, id, to));
      const loops = targets.some((to) => back.has(`${id}>${to}`));
      const rejects = rejected && {
        ...rejected,
        targets: rejected.targets.map((to) => cut(part.key, rejected.id, to)),
      };
      return { ...each, targets, loops, rejected: rejects };
    }),
  }));
  return { ...graph, parts: [...parts, ...pills] };
}

/** The line with pills in the place of these edges ("rule>target"). */
export function withStubs(graph: Graph, edges: readonly string[] = []): Graph {
  const stubs = new Set(edges);
  return stubs.size > 0 ? withPillsFor(graph, (edge) => stubs.has(edge)) : graph;
}

/** The line with room beside the ports of these rules for their words. */
export const withRoom = (graph: Graph, rules: readonly string[]): Graph => ({
  ...graph,
  parts: graph.parts.map((part) => ({
    ...part,
    outlets: part.outlets.map((each) => (rules.includes(each.id) ? { ...each, room: roomFor(each, part) } : each)),
  })),
});

/** Pills stand in the row of what they are led to from. */
export function withPills(graph: Graph, rows: RowOf): RowOf {
  const all = new Map(rows);
  for (const { key, outlets } of graph.parts)
    for (const { to } of outlets.flatMap(leavingOf)) if (!all.has(to)) all.set(to, rows.get(key) ?? 0);
  return all;
}

/** Which parts stand in which of these rows. */
export const rowOfAll = (rows: Placed["rows"]): RowOf =>
  new Map(rows.flatMap((keys, row) => keys.map((key) => [key, row] as const)));

/** What is drawn of the line in this layout. */
export function shownOf(graph: Graph, { rows, stubs }: Pick<Placed, "rows" | "stubs">): Graph {
  const stubbed = withStubs(graph, stubs);
  return rows.length > 1 ? inRows(stubbed, rowOfAll(rows)) : stubbed;
}

export const exitOf = (edge: string): string => `exit ${edge}`;
export const entryOf = (edge: string): string => `entry ${edge}`;

type Pair = readonly [number, number];

const pairsOf = (edge: ElkExtendedEdge | undefined): Pair[] =>
  (edge?.sections ?? []).flatMap((section): Pair[] => [
    [section.startPoint.x, section.startPoint.y],
    ...(section.bendPoints ?? []).map(({ x, y }): Pair => [x, y]),
    [section.endPoint.x, section.endPoint.y],
  ]);

type Going = { id: string; from: number; to: number; head: Pair[]; tail: Pair[] };

/** One answer out of those of the rows, one below the other: the main way goes on round the right and the left of them. */
export function stacked(rows: readonly ElkNode[]): ElkNode {
  const going = goingOn(rows);
  const width = Math.max(...rows.map((row) => row.width ?? 0));
  const children: ElkNode[] = [];
  const edges: ElkExtendedEdge[] = [];
  const tops: number[] = [];
  let height = 0;
  for (const row of rows) {
    tops.push(height === 0 ? 0 : height + 2 * ROOM + LANE);
    height = (tops.at(-1) ?? 0) + (row.height ?? 0);
  }
  const between = new Set(going.map((each) => each.id));
  rows.forEach((row, index) => {
    const top = tops[index] ?? 0;
    for (const node of row.children ?? [])
      if (!node.id.startsWith("exit ") && !node.id.startsWith("entry "))
        children.push({ ...node, y: (node.y ?? 0) + top });
    for (const edge of row.edges ?? [])
      if (!between.has(edge.id)) edges.push(along(edge.id, shifted(pairsOf(edge), top)));
  });
  for (const edge of going) {
    const [head, tail] = [shifted(edge.head, tops[edge.from] ?? 0), shifted(edge.tail, tops[edge.to] ?? 0)];
    const [out, into, level] = [head.at(-1)?.[1] ?? 0, tail[0]?.[1] ?? 0, (tops[edge.to] ?? 0) - ROOM];
    const [right, left] = [width + ROOM, -ROOM];
    edges.push(along(edge.id, [...head, [right, out], [right, level], [left, level], [left, into], ...tail]));
  }
  return { id: "line", width: width + 2 * ROOM, height, children, edges };
}

function goingOn(rows: readonly ElkNode[]): Going[] {
  return rows.flatMap((row, from) =>
    (row.edges ?? []).flatMap((edge): Going[] => {
      if (!row.children?.some((node) => node.id === exitOf(edge.id))) return [];
      const to = rows.findIndex((other) => other.children?.some((node) => node.id === entryOf(edge.id)));
      const tail = pairsOf(rows[to]?.edges?.find((each) => each.id === edge.id));
      return to < 0 ? [] : [{ id: edge.id, from, to, head: pairsOf(edge), tail }];
    }),
  );
}

const shifted = (points: readonly Pair[], down: number): Pair[] => points.map(([x, y]) => [x, y + down]);

function along(id: string, points: readonly Pair[]): ElkExtendedEdge {
  const at = ([x, y]: Pair) => ({ x, y });
  const [first = [0, 0], last = [0, 0]] = [points[0], points.at(-1)];
  const section = { id: `${id} s`, startPoint: at(first), bendPoints: points.slice(1, -1).map(at), endPoint: at(last) };
  return { id, sources: [], targets: [], sections: [section] };
}

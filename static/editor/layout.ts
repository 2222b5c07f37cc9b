/** Where stations and ends stand. Positions that a person chose stay; the rest is laid out from left to right by
 * dagre, and what one station leads to is put in the order of its rules, so that their edges do not cross. */
import { Graph, layout } from "@dagrejs/dagre";

import {
  ALWAYS_ENDS,
  type LineDocument,
  positionsOf,
  ruleOf,
  rulesOf,
  startOf,
  stationOf,
  targetsOf,
} from "./document";

export const STATION = { width: 168, height: 64, port: 32, step: 24 };
export const END = { width: 120, height: 36 };
export const START = { width: 40, height: 40 };
/** A row of more ranks than this would be unreadable as a whole: it is continued below. */
const WRAP = 14;
const GAP = { rank: 176, node: 40, row: 120 };
export const START_ID = "@start";

export interface Box {
  key: string;
  kind: "start" | "station" | "end";
  x: number;
  y: number;
  width: number;
  height: number;
}

export function heightOf(line: LineDocument, key: string): number {
  const station = stationOf(line, key);
  return STATION.height + STATION.step * Math.max(0, (station ? rulesOf(station).length : 1) - 1);
}

/** The ends that are drawn: those that the line declares, and those of the three standing ones that a rule leads to. */
export function endsOf(line: LineDocument): string[] {
  const declared = (line.ends ?? []).map((end) => end.key);
  const targets = new Set(line.stations.flatMap((station) => rulesOf(station).flatMap(targetsOf)));
  const standing = ALWAYS_ENDS.map((end) => end.key).filter((key) => targets.has(key) && !declared.includes(key));
  return [...declared, ...standing];
}

/** Where an edge over several columns passes the ones between, in order: [x, y] of a free lane in each. */
export type Ways = Record<string, [number, number][]>;

/** The ways that were laid out; none where a person moved one of its ends. */
export function waysOf(line: LineDocument): Ways {
  const chosen = positionsOf(line);
  const ways = laidOut(line).ways;
  return Object.fromEntries(
    Object.entries(ways).filter(([edge]) => {
      const [rule = "", target = ""] = edge.split(">");
      const source = ruleOf(line, rule)?.station.key;
      return source !== undefined && !chosen[source] && !chosen[target];
    }),
  );
}

export function boxes(line: LineDocument): Box[] {
  const found = laidOut(line).boxes;
  const chosen = positionsOf(line);
  return found.map((box) => {
    const at = chosen[box.key];
    return isPlace(at) ? { ...box, x: at[0], y: at[1] } : box;
  });
}

const isPlace = (at: unknown): at is [number, number] =>
  Array.isArray(at) && at.length === 2 && at.every((each) => Number.isFinite(each));

interface Laid {
  boxes: Box[];
  ways: Ways;
}

let last: { line: string; laid: Laid } | undefined;

function laidOut(line: LineDocument): Laid {
  const shape = JSON.stringify([
    startOf(line),
    line.stations.map((station) => [station.key, rulesOf(station).map(targetsOf)]),
    endsOf(line),
  ]);
  if (last?.line !== shape) last = { line: shape, laid: wrapped(arranged(line)) };
  return last.laid;
}

function arranged(line: LineDocument): Laid {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", ranksep: GAP.rank, nodesep: GAP.node, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  const start = startOf(line);
  graph.setNode(START_ID, { ...START });
  for (const station of line.stations) {
    // Dagre aligns the middles of nodes; ours are to stand with their first ports in one line.
    graph.setNode(station.key, { width: STATION.width, height: 2 * (heightOf(line, station.key) - STATION.port) });
  }
  for (const key of endsOf(line)) graph.setNode(key, { ...END });
  if (start && stationOf(line, start)) graph.setEdge(START_ID, start, { weight: 10 }, "start");
  for (const station of line.stations) {
    rulesOf(station).forEach((rule, index) => {
      for (const target of targetsOf(rule)) {
        if (target === station.key || !graph.hasNode(target)) continue;
        graph.setEdge(station.key, target, { weight: index === 0 ? 4 : 1 }, `${rule.id}>${target}`);
      }
    });
  }
  layout(graph);
  const placed = graph.nodes().map((key): Box => {
    const node = graph.node(key) as { x: number; y: number; width: number; height: number };
    const kind = key === START_ID ? "start" : stationOf(line, key) ? "station" : "end";
    const height = kind === "station" ? heightOf(line, key) : node.height;
    const over = kind === "station" ? STATION.port : height / 2;
    return { key, kind, x: node.x - node.width / 2, y: node.y - over, width: node.width, height };
  });
  const ways: Ways = {};
  for (const edge of graph.edges()) {
    const points = (graph.edge(edge) as { points: { x: number; y: number }[] }).points;
    // The first and last lie on the borders of its ends, where our ports stand elsewhere.
    const between = points.slice(1, -1).filter((_, index, all) => all.length > 1 || index > 0);
    if (edge.name && between.length > 0) ways[edge.name] = between.map(({ x, y }) => [x, y]);
  }
  return { boxes: inOrderOfRules(line, placed), ways };
}

/** Among what stands in one column and is first led to by one station, the topmost is the target of the first rule. */
function inOrderOfRules(line: LineDocument, placed: Box[]): Box[] {
  const byKey = new Map(placed.map((box) => [box.key, box]));
  const led = new Set<string>();
  for (const station of line.stations) {
    const columns = new Map<number, Box[]>();
    for (const target of rulesOf(station).flatMap(targetsOf)) {
      const box = byKey.get(target);
      if (!box || led.has(target)) continue;
      led.add(target);
      const column = Math.round(box.x + box.width / 2);
      columns.set(column, [...(columns.get(column) ?? []), box]);
    }
    for (const column of columns.values()) stacked(column);
  }
  return placed;
}

function stacked(column: Box[]): void {
  let top = Math.min(...column.map((box) => box.y));
  for (const box of column) {
    box.y = top;
    top += box.height + GAP.node;
  }
}

function wrapped(laid: Laid): Laid {
  const placed = laid.boxes;
  const columns = [...new Set(placed.map((box) => Math.round(box.x + box.width / 2)))].sort((a, b) => a - b);
  if (columns.length <= WRAP * 1.5) return laid;
  const height = Math.max(...placed.map((box) => box.y + box.height)) + GAP.row;
  const rank = new Map(columns.map((column, index) => [column, index]));
  const boxes = placed.map((box) => {
    const index = rank.get(Math.round(box.x + box.width / 2)) ?? 0;
    const row = Math.floor(index / WRAP);
    return { ...box, x: box.x - (columns[row * WRAP] ?? 0), y: box.y + row * height };
  });
  return { boxes, ways: {} };
}

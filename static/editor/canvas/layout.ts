/** Where stations and ends stand on this canvas: as the layout put them, and where a person did. */
import { START_ID } from "../drawing/graph";
import { moved } from "../drawing/moved";
import { shownOf } from "../drawing/rows";
import type { Graph, Part, Placed, Point, Spot, Way } from "../drawing/types";
import { CARD } from "../drawing/zones";
import { isPlace, type Positions, rulesOf, type Station } from "../store/document";

export { START_ID };
export const STATION = CARD;
export const END = { width: 96, height: 36 };

export interface Box {
  key: string;
  kind: Exclude<Part["kind"], "pill">;
  x: number;
  y: number;
  width: number;
  height: number;
  /** From the top to where the main way goes in and out. */
  port: number;
  /** Only the bar of a join, no card. */
  bar: boolean;
  /** From the upper right corner to the port of each rule, and to that of the policy where it leads on after them. */
  ports: readonly Point[];
}

/** What stands over a row of a long line, seen from afar. */
export interface Row {
  first: string;
  last: string;
  x: number;
  y: number;
}

export interface Laid {
  graph: Graph;
  boxes: Box[];
  rows: Row[];
  placedRows: Placed["rows"];
  /** Upper left corners of pills that an edge leads to. */
  pills: readonly Spot[];
  /** Middles of hexagons, by rule: those that ask together have one. */
  gates: ReadonlyMap<string, Point>;
  /** Edges, by rule. */
  ways: ReadonlyMap<string, readonly Way[]>;
  /** Tells whether this is the layout of this very line, and not of the one before it. */
  exact: boolean;
  /** Only cards, for the edges are still being led. */
  provisional: boolean;
}

const LONG = 60;
let lastPlaced: { placed: Placed; graph: string; positions: string; found: Laid } | undefined;

export function withPlaces(whole: Graph, placed: Placed, exact: boolean, positions: Positions): Laid {
  const graph = shownOf(whole, placed);
  const [written, drawn] = [JSON.stringify(positions), JSON.stringify(graph)];
  const same =
    lastPlaced?.placed === placed &&
    lastPlaced.positions === written &&
    lastPlaced.found.exact === exact &&
    lastPlaced.graph === drawn;
  if (same && lastPlaced) return lastPlaced.found;
  const places = placesOf(graph, positions);
  const laid = { ...laidFrom(graph, placed.provisional ? put(placed, places) : moved(graph, placed, places)), exact };
  lastPlaced = { placed, graph: drawn, positions: written, found: laid };
  return laid;
}

/** Where a person put parts of what has no edges yet. */
const put = (placed: Placed, places: ReadonlyMap<string, readonly [number, number]>): Placed => ({
  ...placed,
  parts: placed.parts.map((spot) => {
    const [x, y] = places.get(spot.key) ?? [spot.x, spot.y];
    return { key: spot.key, x, y };
  }),
});

/** The same with some parts elsewhere, while they are dragged. */
export function dragged(laid: Laid, places: ReadonlyMap<string, readonly [number, number]>): Laid {
  const placed: Placed = {
    rows: laid.placedRows,
    parts: [...laid.boxes, ...laid.pills],
    gates: [...laid.gates].map(([key, [x, y]]) => ({ key, x, y })),
    ways: [...laid.ways.values()].flat(),
  };
  const now = laid.provisional
    ? { ...put(placed, places), provisional: true as const }
    : moved(laid.graph, placed, places);
  return { ...laidFrom(laid.graph, now), exact: laid.exact };
}

function placesOf(graph: Graph, positions: Positions): Map<string, readonly [number, number]> {
  const known = new Set(graph.parts.map((part) => part.key));
  return new Map(Object.entries(positions).filter(([key, at]) => known.has(key) && isPlace(at)));
}

function laidFrom(graph: Graph, placed: Placed): Omit<Laid, "exact"> {
  const at = new Map(placed.parts.map((each) => [each.key, each]));
  const boxes = graph.parts.flatMap(({ key, kind, width, height, port, outlets, open, bar }): Box[] => {
    const spot = at.get(key);
    const ports = open ? [] : outlets.map(({ aside, port: down }): Point => [aside, down]);
    return spot && kind !== "pill"
      ? [{ key, kind, x: spot.x, y: spot.y, width, height, port, bar: bar > 0, ports }]
      : [];
  });
  const ways = new Map<string, Way[]>();
  for (const way of placed.ways) ways.set(way.rule, [...(ways.get(way.rule) ?? []), way]);
  const gates = new Map(placed.gates.map(({ key, x, y }) => [key, [x, y] as const]));
  for (const { id, leader } of graph.parts.flatMap(({ outlets }) => outlets)) {
    const shared = gates.get(leader ?? "");
    if (shared) gates.set(id, shared);
  }
  const pills = graph.parts.flatMap((part) => (part.kind === "pill" ? (at.get(part.key) ?? []) : []));
  const rows = rowsOf(graph, placed, boxes);
  const provisional = placed.provisional === true;
  return { graph, boxes, placedRows: placed.rows, pills, ways, gates, rows, provisional };
}

/** The rows into which a long line was broken. */
function rowsOf(graph: Graph, placed: Placed, boxes: readonly Box[]): Row[] {
  const stations = boxes.filter((box) => box.kind === "station");
  if (stations.length < LONG) return [];
  const main = new Set(graph.main);
  return placed.rows.flatMap((keys): Row[] => {
    const own = new Set(keys);
    const here = stations.filter((box) => own.has(box.key)).sort((a, b) => a.x - b.x);
    const onMainWay = here.filter((box) => main.has(box.key));
    const [first, last] = [onMainWay[0] ?? here[0], onMainWay.at(-1) ?? here.at(-1)];
    if (!first || !last) return [];
    const [x, y] = [Math.min(...here.map((box) => box.x)), Math.min(...here.map((box) => box.y))];
    return [{ first: first.key, last: last.key, x, y }];
  });
}

/** Where the port of the rule stands that is not there yet. */
export const nextPort = ({ ports, port }: Pick<Box, "ports" | "port">): number =>
  ports.length > 0 ? Math.max(...ports.map(([, down]) => down)) + STATION.step : port;

/** About as high as a station will be. */
export const heightOf = (station: Station): number =>
  STATION.height + STATION.step * Math.max(0, rulesOf(station).length - 1);

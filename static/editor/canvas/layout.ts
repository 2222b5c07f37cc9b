/** Where stations and ends stand. Positions that a person chose stay; the rest is laid out from left to right, the way
 * of the first rules in one straight line, and long lines are continued in rows below. */

import { say } from "../shell/words";
import {
  BLOCKED,
  endOf,
  endsOf,
  isPlace,
  type LineDocument,
  nameOf,
  ORIGIN,
  positionsOf,
  rulesOf,
  type Station,
  startOf,
  stationOf,
  targetsOf,
} from "../store/document";
import { endName } from "../store/names";
import { type Link, type Ranked, ranked } from "./ranks";
import { brokenWidth, pillWidth, widthOf } from "./text";

export const STATION = { width: 120, widest: 216, height: 72, port: 36, step: 24 };
export const END = { width: 96, widest: 184, height: 36 };
const START = { width: 40, height: 40 };
const GAP = {
  start: 44,
  column: 60,
  lane: 10,
  node: 44,
  row: 112,
  gate: 120,
  stub: 44,
  beside: 44,
  words: 116,
  plus: 84,
};
/** In columns. */
const FAR = { end: 4, station: 8 };
/** As many columns stand in one row; more are broken into rows of about the shape of a screen. */
const ROW = 12;
const SHAPE = 1.6;
export const START_ID = "@start";

export interface Box {
  key: string;
  kind: "start" | "station" | "end";
  x: number;
  y: number;
  width: number;
  height: number;
  /** From the top to the middle of the first port, where the main way goes in and out. */
  port: number;
  /** Of a line that was broken; none where a person put it. */
  row: number | undefined;
}

export interface Row {
  first: string;
  last: string;
  x: number;
  y: number;
}

export interface Laid {
  boxes: Box[];
  /** More than one only where the line was broken. */
  rows: Row[];
  /** "from>to" of the links from the end of one row to the beginning of the next. */
  wraps: ReadonlySet<string>;
}

export function laidOut(line: LineDocument): Laid {
  const found = automatic(line);
  const chosen = positionsOf(line);
  const boxes = found.boxes.map((box) => {
    const at = chosen[box.key];
    return isPlace(at) ? { ...box, x: at[0], y: at[1], row: undefined } : box;
  });
  return { ...found, boxes };
}

export const heightOf = (station: Station): number =>
  STATION.height + STATION.step * Math.max(0, rulesOf(station).length - 1);

const between = (least: number, value: number, most: number): number => Math.min(most, Math.max(least, value));

/** Who works there stands beside the icon of the kind, with room for the signs of what binds there. */
const agentWidth = ({ agent }: Station): number => (typeof agent === "string" ? widthOf(agent, 12) + 96 : 0);

type Part = Omit<Box, "x" | "y" | "row">;

function partsOf(line: LineDocument): Part[] {
  const stations = line.stations.map((station): Part => {
    const wanted = Math.max(widthOf(nameOf(station), 14) + 44, agentWidth(station));
    const width = between(STATION.width, Math.ceil(wanted / 8) * 8, STATION.widest);
    return { key: station.key, kind: "station", width, height: heightOf(station), port: STATION.port };
  });
  const ends = endsOf(line).map((key): Part => {
    const width = between(
      END.width,
      Math.ceil((widthOf(endName(endOf(line, key)?.label ?? key), 13) + 56) / 8) * 8,
      END.widest,
    );
    return { key, kind: "end", width, height: END.height, port: END.height / 2 };
  });
  return [{ key: START_ID, kind: "start", ...START, port: START.height / 2 }, ...stations, ...ends];
}

/** What leads where, in the order of the rules. A station without rules is drawn before the next one: that is what
 * most policies do, and only its place depends on it. */
function linksOf(line: LineDocument, parts: ReadonlySet<string>): Link[] {
  const start = startOf(line);
  const links: Link[] = start && parts.has(start) ? [{ from: START_ID, to: start, order: 0 }] : [];
  line.stations.forEach((station, index) => {
    const rules = rulesOf(station);
    const next = line.stations[index + 1];
    if (rules.length === 0 && next) links.push({ from: station.key, to: next.key, order: 0 });
    rules.forEach((rule, order) => {
      for (const to of targetsOf(rule)) {
        if (to !== station.key && parts.has(to)) links.push({ from: station.key, to, order });
      }
    });
  });
  return links;
}

let lastRanks: { shape: string; ranks: Ranked } | undefined;
let lastLaid: { shape: string; laid: Laid } | undefined;

function automatic(line: LineDocument): Laid {
  const parts = partsOf(line);
  const keys = parts.map((part) => part.key);
  const links = linksOf(line, new Set(keys));
  const structure = JSON.stringify([keys, links]);
  const shape = JSON.stringify([structure, parts, line.stations.map((each) => rulesOf(each).map(room))]);
  if (lastLaid?.shape === shape) return lastLaid.laid;
  if (lastRanks?.shape !== structure) lastRanks = { shape: structure, ranks: ranked(keys, links) };
  const laid = placed(line, parts, lastRanks.ranks);
  lastLaid = { shape, laid };
  return laid;
}

/** What a rule needs beside its station. */
const room = (rule: { label?: string; gates?: string[] }): [string, number] => [
  rule.label ?? "",
  rule.gates?.length ?? 0,
];

function placed(line: LineDocument, parts: readonly Part[], { columns, forward }: Ranked): Laid {
  const part = new Map(parts.map((each) => [each.key, each]));
  const into = new Map<string, Link[]>();
  for (const link of forward) into.set(link.to, [...(into.get(link.to) ?? []), link]);
  const main = mainWay(forward);
  const at = new Map(columns.flatMap((keys, index) => keys.map((key) => [key, index] as const)));
  const rough = columns.map((keys) => gapAfter(line, keys, forward, () => false));
  const size = rowSize(columns, rough, part);
  // What is too far away for an edge is named beside the station (see `isNear` in drawing.ts), which takes its room.
  const far = (from: string, to: string): boolean => {
    const [here, there] = [at.get(from) ?? 0, at.get(to) ?? 0];
    if (columns.length > size && Math.floor(here / size) !== Math.floor(there / size)) return there - here !== 1;
    return Math.abs(there - here) > (part.get(to)?.kind === "end" ? FAR.end : FAR.station);
  };
  const gaps = columns.map((keys) => gapAfter(line, keys, forward, far));
  const boxes: Box[] = [];
  const rows: Row[] = [];
  const rowOf = new Map<string, number>();
  let bottom = 0;
  for (let begin = 0; begin < columns.length; begin += size) {
    const own = columns.slice(begin, begin + size);
    const row = oneRow(own, gaps.slice(begin, begin + size), part, into, main);
    const top = Math.min(...row.map((box) => box.y));
    const down = begin === 0 ? 0 : bottom + GAP.row - top;
    for (const box of row) {
      box.y += down;
      box.row = rows.length;
      rowOf.set(box.key, rows.length);
    }
    boxes.push(...row);
    bottom = Math.max(...row.map((box) => box.y + box.height));
    const stations = row.filter((box) => box.kind === "station");
    rows.push({
      first: stations[0]?.key ?? "",
      last: stations.at(-1)?.key ?? "",
      x: 0,
      y: Math.min(...row.map((box) => box.y)),
    });
  }
  const wraps = new Set<string>();
  for (const { from, to } of forward) {
    const over = (rowOf.get(to) ?? 0) - (rowOf.get(from) ?? 0);
    if (over === 1 && (at.get(to) ?? 0) - (at.get(from) ?? 0) === 1) wraps.add(`${from}>${to}`);
  }
  return { boxes, rows: rows.length > 1 ? rows : [], wraps };
}

/** From the start along the first rules: it stands in one straight line. */
function mainWay(forward: readonly Link[]): Set<string> {
  const first = new Map<string, string>();
  for (const link of forward) if (link.order === 0 && !first.has(link.from)) first.set(link.from, link.to);
  const found = new Set<string>();
  for (let key: string | undefined = START_ID; key && !found.has(key); key = first.get(key)) found.add(key);
  return found;
}

function rowSize(columns: readonly string[][], gaps: readonly number[], part: ReadonlyMap<string, Part>): number {
  if (columns.length <= ROW) return columns.length;
  const widths = columns.map((keys, index) => widest(keys, part) + (gaps[index] ?? 0));
  const heights = columns.map((keys) => keys.reduce((sum, key) => sum + (part.get(key)?.height ?? 0) + GAP.node, 0));
  const mean = (all: number[]): number => all.reduce((sum, each) => sum + each, 0) / all.length;
  const across = Math.sqrt((columns.length * SHAPE * (mean(heights) + GAP.row)) / mean(widths));
  return between(ROW - 4, Math.round(across), 2 * ROW);
}

const widest = (keys: readonly string[], part: ReadonlyMap<string, Part>): number =>
  Math.max(0, ...keys.map((key) => part.get(key)?.width ?? 0));

/** Room for what stands between a column and the next: words, gates, edges that turn. */
function gapAfter(
  line: LineDocument,
  keys: readonly string[],
  forward: readonly Link[],
  far: (from: string, to: string) => boolean,
): number {
  const own = new Set(keys);
  const leaving = new Set(forward.filter((link) => own.has(link.from)).map((link) => `${link.from} ${link.order}`));
  const turning = leaving.size - keys.length;
  const gap = GAP.column + GAP.lane * between(0, turning, 8);
  if (keys.length === 1 && keys[0] === START_ID) return GAP.start;
  let stubs = 0;
  let beside = 0;
  let gates = 0;
  for (const key of keys) {
    const station = stationOf(line, key);
    if (!station) continue;
    const rules = rulesOf(station);
    if (rules.length === 0) beside = Math.max(beside, GAP.plus);
    rules.forEach((rule, order) => {
      // What comes back goes below, and says there what it is.
      const words = rules.length > 1 && leaving.has(`${key} ${order}`) ? brokenWidth(rule.label ?? "", 12) : 0;
      beside = Math.max(beside, words > 0 ? GAP.beside + Math.min(words, GAP.words - GAP.beside) : 0);
      gates = Math.max(gates, rule.gates?.length ? GAP.gate : 0);
      for (const to of targetsOf(rule))
        if (isGone(line, to) || far(key, to)) stubs = Math.max(stubs, GAP.stub + pillWidth(stubName(line, to)));
    });
  }
  return Math.max(gap, beside, gates + stubs);
}

const isGone = (line: LineDocument, to: string): boolean => !stationOf(line, to) && !endOf(line, to);

function stubName(line: LineDocument, to: string): string {
  const station = stationOf(line, to);
  if (station) return nameOf(station);
  return to === BLOCKED ? say("blockedShort") : to === ORIGIN ? say("origin") : endName(endOf(line, to)?.label ?? to);
}

function oneRow(
  columns: readonly string[][],
  gaps: readonly number[],
  part: ReadonlyMap<string, Part>,
  into: ReadonlyMap<string, Link[]>,
  main: ReadonlySet<string>,
): Box[] {
  const boxes = new Map<string, Box>();
  let x = 0;
  columns.forEach((keys, index) => {
    stackColumn(keys, x, part, into, main, boxes);
    x += widest(keys, part) + (gaps[index] ?? GAP.column);
  });
  return [...boxes.values()];
}

/** One column: what the main way goes through stands on its line, the others beside what leads to them, in order. */
function stackColumn(
  keys: readonly string[],
  x: number,
  part: ReadonlyMap<string, Part>,
  into: ReadonlyMap<string, Link[]>,
  main: ReadonlySet<string>,
  boxes: Map<string, Box>,
): void {
  const column = keys.flatMap((key): Box[] => {
    const own = part.get(key);
    return own ? [{ ...own, row: undefined, x, y: main.has(key) ? -own.port : wanted(key, own, into, boxes) }] : [];
  });
  const anchor = Math.max(
    0,
    column.findIndex((box) => main.has(box.key)),
  );
  for (let index = anchor + 1; index < column.length; index += 1) {
    const [box, over] = [column[index], column[index - 1]];
    if (box && over) box.y = Math.max(box.y, over.y + over.height + GAP.node);
  }
  for (let index = anchor - 1; index >= 0; index -= 1) {
    const [box, below] = [column[index], column[index + 1]];
    if (box && below) box.y = Math.min(box.y, below.y - GAP.node - box.height);
  }
  for (const box of column) boxes.set(box.key, { ...box, y: Math.round(box.y) });
}

function wanted(key: string, own: Part, into: ReadonlyMap<string, Link[]>, boxes: ReadonlyMap<string, Box>): number {
  let sum = 0;
  let weights = 0;
  for (const link of into.get(key) ?? []) {
    const from = boxes.get(link.from);
    if (!from) continue;
    const weight = link.order === 0 ? 4 : 1;
    sum += weight * (from.y + from.port + STATION.step * link.order);
    weights += weight;
  }
  return (weights > 0 ? sum / weights : 0) - own.port;
}

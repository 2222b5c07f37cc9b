/** A line document as a draft holds it: it may be unfinished or wrong, so every reader here takes what it finds.
 * What it means is decided on the server; the browser only draws it and changes its text. */

import type { LineDocument as Document, End, Gate, Json, Rule, Station } from "../../generated/line";

export type { End, Gate, Json, Rule, Station };

/** Where things stand on the canvas: kept with the line, read by nobody else (`extra` of the line document). */
export type Positions = Record<string, [number, number]>;

/** A sticky note: only for people, kept with the line like the positions. */
export interface Note {
  key: string;
  text: string;
  tone: string;
  x: number;
  y: number;
  width: number;
  height: number;
  /** A heading: keys of the stations and ends that it stands over, wherever they are. */
  over?: readonly string[];
}

export interface LineDocument extends Document {
  stations: Station[];
  extra?: { editor?: { positions?: Positions; notes?: Note[] }; [key: string]: unknown };
}

export const ALWAYS_ENDS: readonly End[] = [
  { key: "completed", kind: "completed" },
  { key: "failed", kind: "failed" },
  { key: "cancelled", kind: "cancelled" },
];
export const ORIGIN = "@origin";
export const BLOCKED = "@blocked";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Tells whether a draft can be drawn: its stations are a list of objects with keys, and so are their rules. */
export const canBeDrawn = (value: unknown): value is LineDocument => undrawablePath(value) === undefined;

/** The first part for which a draft cannot be drawn. */
export function undrawablePath(value: unknown): string | undefined {
  if (!isObject(value)) return "";
  const stations = unnamed(value.stations, "stations", "key");
  if (stations !== undefined || !Array.isArray(value.stations)) return stations;
  const rules = value.stations.map(({ rules: own = [] }, index) => unnamed(own, `stations[${index}].rules`, "id"));
  const others = (["gates", "ends"] as const).map((name) => unnamed(value[name] ?? [], name, "key"));
  return [...rules, ...others].find((path) => path !== undefined);
}

/** Of a list of objects with names the path of the first that is none. */
function unnamed(list: unknown, path: string, name: string): string | undefined {
  if (!Array.isArray(list)) return path;
  const index = list.findIndex((each) => !isObject(each) || typeof each[name] !== "string");
  return index < 0 ? undefined : `${path}[${index}]`;
}

export function targetsOf(rule: Rule): string[] {
  if (typeof rule.to === "string") return [rule.to];
  return Array.isArray(rule.to) ? rule.to.filter((each) => typeof each === "string") : [];
}

export const rulesOf = (station: Station): Rule[] => station.rules ?? [];
export const nameOf = (station: Station): string => station.name || station.key;
/** Without `work` a person does it (line-document, Defaults). */
export const kindOf = (station: Station): string => (station.work ? (station.work.kind ?? "other") : "manual");
/** By key, for each list of stations: a line never changes, a change is another line. */
const stationsByKey = new WeakMap<readonly Station[], ReadonlyMap<string, Station>>();

export function stationOf({ stations }: LineDocument, key: string): Station | undefined {
  let known = stationsByKey.get(stations);
  if (!known) {
    // Of two with one key the first counts.
    known = new Map([...stations].reverse().map((station) => [station.key, station]));
    stationsByKey.set(stations, known);
  }
  return known.get(key);
}
export const startOf = (line: LineDocument): string | undefined => line.start ?? line.stations[0]?.key;

export function endOf(line: LineDocument, key: string): End | undefined {
  return line.ends?.find((end) => end.key === key) ?? ALWAYS_ENDS.find((end) => end.key === key);
}

export function ruleOf(line: LineDocument, id: string): { station: Station; rule: Rule; index: number } | undefined {
  for (const station of line.stations) {
    const index = rulesOf(station).findIndex((rule) => rule.id === id);
    const rule = rulesOf(station)[index];
    if (rule) return { station, rule, index };
  }
  return undefined;
}

export const isPlace = (at: unknown): at is [number, number] =>
  Array.isArray(at) && at.length === 2 && at.every((each) => Number.isFinite(each));

export function positionsOf(line: LineDocument): Positions {
  const positions = line.extra?.editor?.positions;
  return isObject(positions) ? (positions as Positions) : {};
}

/** A key that nothing has yet: `name`, `name-2`, …  Stations and ends share one name space. */
export function freeKey(line: LineDocument, wanted: string): string {
  const keys = new Set([...line.stations, ...(line.ends ?? []), ...ALWAYS_ENDS].map((each) => each.key));
  return free(slug(wanted), keys);
}

/** What a station is called that nobody has named yet: two of a kind are told apart. */
export function freeName(line: LineDocument, wanted: string): string {
  const names = new Set(line.stations.map(nameOf));
  let number = 1;
  let name = wanted;
  while (names.has(name)) {
    number += 1;
    name = `${wanted} ${number}`;
  }
  return name;
}

export function freeRuleId(line: LineDocument, wanted: string): string {
  return free(slug(wanted), new Set(line.stations.flatMap((station) => rulesOf(station).map((rule) => rule.id))));
}

function free(wanted: string, taken: Set<string>): string {
  if (!taken.has(wanted)) return wanted;
  let number = 2;
  while (taken.has(`${wanted}-${number}`)) number += 1;
  return `${wanted}-${number}`;
}

export function slug(text: string): string {
  const key = text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9_.-]+/g, "-")
    .replace(/^[^a-z0-9]+|-+$/g, "")
    .slice(0, 56);
  return key || "item";
}

/** The ends that are drawn: those that the line declares, and those of the three standing ones that a rule leads to. */
export function endsOf(line: LineDocument): string[] {
  const declared = (line.ends ?? []).map((end) => end.key);
  const targets = new Set(line.stations.flatMap((station) => rulesOf(station).flatMap(targetsOf)));
  const builtIn = ALWAYS_ENDS.map((end) => end.key).filter((key) => targets.has(key) && !declared.includes(key));
  return [...declared, ...builtIn];
}

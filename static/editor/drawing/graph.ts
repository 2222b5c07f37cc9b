/** From a line to the graph that is laid out: how large everything is, which edges are drawn, which lead back, and which
 * is the main way. */
import { say } from "../shell/words";
import {
  BLOCKED,
  endOf,
  endsOf,
  type Json,
  kindOf,
  type LineDocument,
  nameOf,
  ORIGIN,
  type Rule,
  rulesOf,
  type Station,
  startOf,
  stationOf,
  targetsOf,
} from "../store/document";
import type { Findings } from "../store/findings";
import { kindName } from "../store/kinds";
import { endName, gateName } from "../store/names";
import { illness, type Link, NEVER, ordered } from "./order";
import { boldWidthOf, broken, cut, pillWidth, widthOf } from "./text";
import type { Graph, Outlet, Part } from "./types";
import { BADGE, BAR, CARD, type GateSize, gateOf, HEXAGON, NO_GATE, roomOver, roomUnder, STUB, WORDS } from "./zones";

export const START_ID = "@start";
const END = { width: 80, widest: 184, height: 36 };
const START = { width: 40, height: 40, under: 36 };
const BADGE_UNDER = 14;
const ENTRY = 34;
const JOIN_BEFORE = 20;
const JOIN_OVER = 20;
/** A bar with more rules would be no bar. */
const BAR_RULES = 3;
/** In a long line what is further away than this many stations is named in a pill. */
const FAR = 4;
const LONG = 60;
/** An end that more rules of a long line lead to is named in pills. */
const MANY = 4;

/** Of a rule that no task could take yet: after those that tasks took. */
const UNRANKED = 1_000;

const SILENT = "@silent";

export const onwardId = (station: string): string => `${station}@onward`;
const REJECTED = "@rejected";
/** Of the way that a gate of this rule leads what it rejects, and the rule of such a way. */
export const rejectedId = (rule: string): string => `${rule}${REJECTED}`;
export const rejectingRule = (id: string): string | undefined =>
  id.endsWith(REJECTED) ? id.slice(0, -REJECTED.length) : undefined;

const between = (least: number, value: number, most: number): number => Math.min(most, Math.max(least, value));

/** What the layout needs to know of what the server said. */
export type Said = Pick<Findings, "onward" | "rejected" | "rules" | "signs" | "endless" | "taken">;

/** Stations to which the gates of a rule lead what they reject, as far as that is drawn: not to its own, which runs again as
 * after a word that sends back, nor far away in a long line. */
export function rejectionsOf(
  line: LineDocument,
  station: Station,
  rule: Rule,
  { rejected, rules }: Pick<Said, "rejected" | "rules">,
): string[] {
  const rejecting = new Set((rule.gates ?? []).flatMap((key) => rejected[key] ?? []));
  rejecting.delete(station.key);
  if (rejecting.size === 0 || isBadge(station, rule) || rules[rule.id]?.status === "dead") return [];
  const at = (key: string): number => line.stations.findIndex((each) => each.key === key);
  const here = at(station.key);
  const isNear = (place: number): boolean => line.stations.length <= LONG || Math.abs(place - here) <= FAR;
  return [...rejecting].filter((key) => at(key) >= 0 && isNear(at(key)));
}

export function graphOf(line: LineDocument, said: Said, window: readonly [number, number]): Graph {
  const at = new Map(line.stations.map((station, index) => [station.key, index]));
  const ends = endsOf(line);
  const there = new Set([...at.keys(), ...ends]);
  const start = startOf(line);
  const links: Link[] = [];
  const begins = start !== undefined && at.has(start);
  if (begins) links.push({ from: START_ID, to: start, rule: START_ID, order: 0, ill: 0, rank: 0 });
  const targets = new Map<string, number>();
  for (const to of line.stations.flatMap((station) => rulesOf(station).flatMap(targetsOf)))
    targets.set(to, (targets.get(to) ?? 0) + 1);
  const far = (from: string, to: string): boolean => {
    if (line.stations.length <= LONG) return false;
    const [here, other] = [at.get(from) ?? 0, at.get(to)];
    return other === undefined ? (targets.get(to) ?? 0) > MANY : Math.abs(other - here) > FAR;
  };
  const drawn = (station: Station, rule: Rule): string[] => [
    ...new Set(targetsOf(rule).filter((to) => there.has(to) && !far(station.key, to))),
  ];
  line.stations.forEach((station, index) => {
    const rules = rulesOf(station);
    const next = said.onward[station.key];
    // After the rules, and after what tasks are known to take.
    const rank = rules.length > 0 ? UNRANKED : 0;
    if (next !== undefined && there.has(next) && next !== station.key)
      links.push({ from: station.key, to: next, rule: onwardId(station.key), order: rules.length, ill: 1, rank });
    const after = line.stations[index + 1]?.key;
    // Nothing is drawn, but so they stand in their order.
    if (rules.length === 0 && next === undefined && after !== undefined)
      links.push({ from: station.key, to: after, rule: SILENT, order: 0, ill: NEVER, rank: 0 });
    rules.forEach((rule, order) => {
      const ill = said.rules[rule.id]?.status === "dead" ? NEVER : illness(rule.when);
      const rank = said.taken?.[rule.id] ?? UNRANKED;
      for (const to of drawn(station, rule))
        if (!isBadge(station, rule)) links.push({ from: station.key, to, rule: rule.id, order, ill, rank });
      for (const to of rejectionsOf(line, station, rule, said))
        links.push({ from: station.key, to, rule: rejectedId(rule.id), order, ill: NEVER, rank: UNRANKED });
    });
  });
  const well = new Set(ends.filter((key) => (endOf(line, key)?.kind ?? "completed") === "completed"));
  // The policy completes the task here after the rules, and nothing else leads to that end: it is a pill.
  for (const station of line.stations) {
    const next = said.onward[station.key];
    if (rulesOf(station).length > 0 && next !== undefined && !there.has(next)) well.add(station.key);
  }
  const all = [START_ID, ...line.stations.map((each) => each.key), ...ends];
  const { back, main, mainLinks, keys } = ordered(all, links, well);
  const silent = links.flatMap(({ from, to, rule }, index): [string, string][] =>
    rule === SILENT && !back.has(index) ? [[from, to]] : [],
  );
  const leadsBack = new Set([...back].map((index) => `${links[index]?.rule}>${links[index]?.to}`));
  const mainRules = new Set([...mainLinks].map((index) => links[index]?.rule ?? ""));
  const last = main.at(-1) ?? "";
  if (at.has(last) && well.has(last)) mainRules.add(onwardId(last));
  const parts = new Map<string, Part>();
  parts.set(START_ID, startPart(begins ? [start] : []));
  for (const station of line.stations)
    parts.set(station.key, stationPart(line, station, said, { drawn, there, leadsBack, mainRules }));
  for (const key of ends) parts.set(key, endPart(line, key));
  const pills = line.stations.flatMap((station) => pillParts(line, station, drawn));
  return {
    parts: [...keys.flatMap((key) => parts.get(key) ?? []), ...pills],
    main,
    mainRules: [...mainRules],
    mainEdges: [...mainLinks].map((index) => `${links[index]?.rule}>${links[index]?.to}`),
    back: [...leadsBack],
    silent,
    window,
  };
}

/** A rule that only leads back to its own station, at once: a badge there, and no loop. */
export const isBadge = (station: Station, rule: Rule): boolean => {
  const targets = targetsOf(rule);
  return targets.length === 1 && targets[0] === station.key && !rule.gates?.length;
};

/** The key of a pill that an edge leads to. */
export const pillKey = (rule: Rule, target: string): string => `${rule.id}>${target}`;

function pillParts(line: LineDocument, station: Station, drawn: Known["drawn"]): Part[] {
  return rulesOf(station).flatMap((rule) => {
    const targets = drawn(station, rule);
    if (targets.length === 0 || isBadge(station, rule)) return [];
    const rest = [...new Set(targetsOf(rule))].filter((to) => !targets.includes(to));
    return rest.map((to): Part => {
      const size = { width: pillWidth(stubName(line, to)), height: STUB.height, port: STUB.height / 2 };
      return { key: pillKey(rule, to), kind: "pill", ...size, ...NO_ROOM };
    });
  });
}

const NO_ROOM = { before: 0, over: 0, under: 0, open: false, bar: 0, outlets: [] } as const;

function startPart(targets: readonly string[]): Part {
  const outlet = {
    id: START_ID,
    port: START.height / 2,
    ...NO_WORDS,
    ...NO_GATE,
    pill: 0,
    pillWords: "",
    dead: false,
    stubs: [],
    targets,
    loops: false,
    badge: false,
  };
  return {
    key: START_ID,
    kind: "start",
    ...START,
    port: START.height / 2,
    before: 12,
    over: 0,
    open: false,
    bar: 0,
    outlets: [outlet],
  };
}

function endPart(line: LineDocument, key: string): Part {
  const words = boldWidthOf(endName(endOf(line, key)?.label ?? key), 13) + 50;
  const width = between(END.width, Math.ceil(words / 8) * 8, END.widest);
  return {
    key,
    kind: "end",
    width,
    height: END.height,
    port: END.height / 2,
    ...NO_ROOM,
  };
}

interface Known {
  drawn(station: Station, rule: Rule): string[];
  there: ReadonlySet<string>;
  leadsBack: ReadonlySet<string>;
  mainRules: ReadonlySet<string>;
}

/** Padding and border of a card; the icon of its kind; one sign of what binds there. */
const INSIDE = 30;
const ICON = 18;
const SIGN = 17;

/** Who works there, else the kind of its work, stands beside its icon. */
const kindWidth = (station: Station): number =>
  widthOf(typeof station.agent === "string" && station.agent ? station.agent : kindName(kindOf(station)), 12) + ICON;

export function cardWidth(station: Station, signs = 0, dead = 0): number {
  const never = dead > 0 ? ICON + widthOf(say("deadRules", String(dead)), 12) : 0;
  // Signs stand behind the number of rules; where there is only one, behind what is wrong.
  const behind = rulesOf(station).length > 1 ? 0 : SIGN * signs;
  const wide = Math.max(boldWidthOf(nameOf(station), 14), kindWidth(station), never + behind);
  // What leads back into it comes in beside its badges.
  const badges = rulesOf(station).filter((rule) => isBadge(station, rule)).length;
  const under = badges > 1 ? BADGE.first + badges * BADGE.width + ENTRY : CARD.width;
  return Math.max(between(CARD.width, Math.ceil((wide + INSIDE) / 8) * 8, CARD.widest), under);
}

export const cardHeight = (ports: readonly number[]): number =>
  CARD.height - CARD.port + Math.max(CARD.port, ports.at(-1) ?? 0);

function stationPart(line: LineDocument, station: Station, said: Said, known: Known): Part {
  const rules = rulesOf(station);
  const sizes = rules.map((rule) => linesOf(station, rule, said));
  const pilled = rules.map((rule) => !isBadge(station, rule) && known.drawn(station, rule).length === 0);
  const bar = line.stations.length <= LONG ? barWidth(station) : 0;
  const next = said.onward[station.key];
  const after = rules.length === 0 || next !== undefined;
  const isPill = next !== undefined && !known.there.has(next);
  const ports = portsOf(
    station,
    [...sizes, ...(after ? [[]] : [])],
    [...pilled, isPill],
    bar > 0 ? BAR.port : CARD.port,
  );
  const outlets = rules.map((rule, index): Outlet => {
    const lines = sizes[index] ?? [];
    const badge = isBadge(station, rule);
    const targets = badge ? [] : known.drawn(station, rule);
    const all = targetsOf(rule);
    const rest = badge ? [] : [...new Set(all)].filter((to) => !targets.includes(to));
    if (all.length === 0) rest.push("");
    // Beside an edge that goes on, a pill has a place of its own.
    const pills = targets.length > 0 ? rest.map((to) => pillKey(rule, to)) : [];
    return {
      id: rule.id,
      port: ports[index] ?? CARD.port,
      lines: lines.length,
      words:
        lines.length > 0 ? Math.ceil(Math.max(...lines.map((each) => widthOf(each, 12))) + besideWords(rule)) + 6 : 0,
      long: longWidth(inOne(lines), rule),
      short: longWidth(inOne(lines, true), rule),
      along: false,
      ...(badge ? NO_GATE : gateSize(line, rule)),
      rejected: rejectionOf(rule, rejectionsOf(line, station, rule, said)),
      ...(targets.some((to) => known.leadsBack.has(`${rule.id}>${to}`)) ? loopPill(rule, said) : NO_PILL),
      dead: said.rules[rule.id]?.status === "dead",
      stubs: pills.length > 0 ? [] : rest.map((target) => ({ target, width: pillWidth(stubName(line, target)) })),
      targets: [...targets, ...pills],
      loops: targets.some((to) => known.leadsBack.has(`${rule.id}>${to}`)),
      badge,
    };
  });
  if (after) {
    const targets = next !== undefined && known.there.has(next) && next !== station.key ? [next] : [];
    const id = onwardId(station.key);
    const loops = targets.some((to) => known.leadsBack.has(`${id}>${to}`));
    const stubs =
      next !== undefined && targets.length === 0 && next !== station.key
        ? [{ target: next, width: pillWidth(stubName(line, next)) }]
        : [];
    const onward = { id, ...NO_WORDS, ...NO_GATE, ...NO_PILL, stubs, targets, loops };
    outlets.push({ ...onward, port: ports.at(-1) ?? CARD.port, dead: false, badge: false });
  }
  const signs = Object.keys(said.signs.stations[station.key] ?? {}).length;
  const dead = rules.filter((rule) => said.rules[rule.id]?.status === "dead").length;
  const straight = outlets.find((each) => known.mainRules.has(each.id));
  return {
    key: station.key,
    kind: "station",
    width: bar > 0 ? BAR.width : cardWidth(station, signs, dead),
    height: bar > 0 ? Math.max(2 * BAR.port, (ports.at(-1) ?? 0) + BAR.under) : cardHeight(ports),
    port: straight?.port ?? outlets[0]?.port ?? CARD.port,
    before: station.join && bar === 0 ? JOIN_BEFORE : 0,
    over: Math.max(
      bar > 0 ? BAR.over : station.join ? JOIN_OVER : 4,
      ...outlets.map((each) => roomOver(each.lines, each.stubs.length > 0) - each.port),
    ),
    under: outlets.some((each) => each.badge) ? BADGE_UNDER : 4,
    open: rules.length === 0,
    bar,
    outlets,
  };
}

/** How wide the words are over a station that does nothing but join: it is drawn as the bar of its join. 0 for all others. */
function barWidth(station: Station): number {
  const rules = rulesOf(station);
  const only = station.join && kindOf(station) === "noop" && !station.gate && rules.length <= BAR_RULES;
  if (!only || rules.some((rule) => isBadge(station, rule))) return 0;
  return Math.ceil(Math.max(boldWidthOf(cut(nameOf(station)), 12), widthOf(waitsWords(station), 12))) + 4;
}

/** How many of those it waits for have to pass. */
export const waitsWords = (station: Station): string => (station.join?.aggregation ?? "all-pass").replace("-", " ");

/** What is said of a rule at its edge, whole. */
export function wordsOfRule(station: Station, rule: Rule, said: Pick<Said, "rules" | "onward">): string {
  const others = rulesOf(station).length > 1 || said.onward[station.key] !== undefined;
  const needed = others || asksFirst(rule.when);
  return rule.label || (needed ? said.rules[rule.id]?.words || rule.id : "");
}

/** Whether a condition holds one that must be asked: agentic or hook, however deep. */
export function asksFirst(when: Json | undefined): boolean {
  if (Array.isArray(when)) return when.some(asksFirst);
  if (when === null || typeof when !== "object") return false;
  return "agentic" in when || "hook" in when || ["all", "any", "not"].some((key) => asksFirst(when[key]));
}

/** What stands over its edge, line by line. */
export function linesOf(station: Station, rule: Rule, said: Pick<Said, "rules" | "onward">): string[] {
  const words = isBadge(station, rule) ? "" : wordsOfRule(station, rule, said);
  const dead = said.rules[rule.id]?.status === "dead" && !isBadge(station, rule);
  return [...(words ? broken(words) : []), ...(dead ? [say("neverReached")] : [])];
}

/** The same in one line, where words stand on their edge; `short`: the look of the edge says that it never matches. */
export function inOne(lines: readonly string[], short = false): string {
  if (lines.at(-1) !== say("neverReached") || lines.length === 1) return lines.join(" ");
  const words = lines.slice(0, -1).join(" ");
  return short ? words : `${words} · ${lines.at(-1)}`;
}

const longWidth = (words: string, rule: Rule): number =>
  words === "" ? 0 : Math.ceil(widthOf(words, 12) + besideWords(rule)) + 6;

/** From the top of the card to each port: below one another, with room for the words over each edge, and for pills. Below
 * those of the rules that of the policy, where it has one. */
function portsOf(
  station: Station,
  sizes: readonly (readonly string[])[],
  pilled: readonly boolean[],
  first: number,
): number[] {
  const ports: number[] = [];
  let edge = Number.NEGATIVE_INFINITY;
  const rules = rulesOf(station);
  sizes.forEach(({ length: lines }, index) => {
    const [rule, pills] = [rules[index], pilled[index] === true];
    // Words below a gate leave it its room: so it may stand beside its station.
    const gated = index > 0 && lines > 0 && (rules[index - 1]?.gates?.length ?? 0) > 0;
    const step = gated ? HEXAGON.height / 2 + HEXAGON.apart + roomOver(lines, pills) : 0;
    const least = index === 0 ? first : (ports[index - 1] ?? 0) + Math.max(CARD.step, step);
    // Words over a pill stand further from their edge: twice as far from the one above.
    const apart = lines > 0 && pills ? roomOver(0, true) + 2 : WORDS.apart;
    ports.push(Math.max(least, edge + roomOver(lines, pills) + apart));
    if (!rule || !isBadge(station, rule)) edge = (ports[index] ?? edge) + roomUnder(pills);
  });
  return ports;
}

/** Beside the words of a rule: the sign that it asks. */
const besideWords = (rule: Rule): number => (asksFirst(rule.when) ? 16 : 0);

/** Letters of a gate's name that may stand in one line. */
const ONE_LINE = 16;
const NO_WORDS = { lines: 0, words: 0, long: 0, short: 0, along: false } as const;
const NO_PILL = { pill: 0, pillWords: "" } as const;

function gateSize(line: LineDocument, rule: Rule): GateSize {
  const [first, ...others] = rule.gates ?? [];
  if (first === undefined) return NO_GATE;
  const name = gateName(line, first);
  return gateOf(name.length <= ONE_LINE ? [name] : broken(name), others.length > 0);
}

function rejectionOf({ id }: Rule, targets: readonly string[]): Outlet["rejected"] {
  if (targets.length === 0) return undefined;
  return { id: rejectedId(id), targets, width: Math.ceil(widthOf(say("rejected"), 12)) };
}

function loopPill(rule: Rule, said: Said): Pick<Outlet, "pill" | "pillWords"> {
  const most = said.signs.rules[rule.id]?.most;
  const pillWords = most !== undefined ? say("atMost", String(most)) : said.endless[rule.id] ? say("noLimit") : "";
  if (pillWords === "") return NO_PILL;
  return { pill: Math.ceil(widthOf(pillWords, 12)) + (most !== undefined ? 30 : 36), pillWords };
}

export function stubName(line: LineDocument, to: string): string {
  const station = stationOf(line, to);
  if (station) return nameOf(station);
  if (to === "") return say("nowhere");
  return to === BLOCKED
    ? say("blockedShort")
    : to === ORIGIN
      ? say("originShort")
      : endName(endOf(line, to)?.label ?? to);
}

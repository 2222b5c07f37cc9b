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
import { ILL, type Link, NEVER, ordered } from "./order";
import { boldWidthOf, cut, inTwo, pillWidth, widthOf } from "./text";
import type { Graph, Outlet, Part } from "./types";
import { unlikeliness } from "./usual";
import { BADGE, BAR, CARD, type GateSize, gateOf, MARK, NO_GATE, NUMBER_STEP, PILL } from "./zones";

export const START_ID = "@start";
const END = { width: 80, widest: 184, height: 36 };
const START = { width: 40, height: 40, under: 36 };
const BADGE_UNDER = 14;
const ENTRY = 34;
const JOIN_BEFORE = 20;
const JOIN_OVER = 20;
/** A bar with more rules would be no bar. */
const BAR_RULES = 3;
/** In longer lines no station is drawn as a bar; what is further away than so many stations, and an end that more rules lead
 * to, is named in pills. */
const [LONG, FAR, MANY] = [60, 4, 4];

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
 * after a word that sends back. */
export function rejectionsOf(
  line: LineDocument,
  station: Station,
  rule: Rule,
  { rejected, rules }: Pick<Said, "rejected" | "rules">,
): string[] {
  const rejecting = new Set((rule.gates ?? []).flatMap((key) => rejected[key] ?? []));
  rejecting.delete(station.key);
  if (rejecting.size === 0 || isBadge(station, rule) || rules[rule.id]?.status === "dead") return [];
  return [...rejecting].filter((key) => stationOf(line, key) !== undefined);
}

export function graphOf(line: LineDocument, said: Said, window: readonly [number, number]): Graph {
  const at = new Map(line.stations.map((station, index) => [station.key, index]));
  const ends = endsOf(line);
  const there = new Set([...at.keys(), ...ends]);
  const start = startOf(line);
  const links: Link[] = [];
  const begins = start !== undefined && at.has(start);
  if (begins) links.push({ from: START_ID, to: start, rule: START_ID, order: 0, ill: 0, rank: 0 });
  const counts = new Map<string, number>();
  for (const to of line.stations.flatMap((station) => rulesOf(station).flatMap(targetsOf)))
    counts.set(to, (counts.get(to) ?? 0) + 1);
  const isFar = (from: string, to: string): boolean => {
    if (line.stations.length <= LONG) return false;
    const [index, other] = [at.get(from) ?? 0, at.get(to)];
    return other === undefined ? (counts.get(to) ?? 0) > MANY : Math.abs(other - index) > FAR;
  };
  const drawn = ({ key }: Station, rule: Rule): string[] => [
    ...new Set(targetsOf(rule).filter((to) => there.has(to) && !isFar(key, to))),
  ];
  line.stations.forEach((station, index) => {
    const rules = rulesOf(station);
    const next = said.onward[station.key];
    // After rules that are as likely.
    const onward = { from: station.key, rule: onwardId(station.key), order: rules.length, ill: 1, rank: ILL };
    if (next !== undefined && there.has(next) && next !== station.key) links.push({ ...onward, to: next });
    const after = line.stations[index + 1]?.key;
    // Nothing is drawn, but so they stand in their order.
    if (rules.length === 0 && next === undefined && after !== undefined)
      links.push({ from: station.key, to: after, rule: SILENT, order: 0, ill: NEVER, rank: 0 });
    const unlikely = unlikeliness(rules.map((rule) => rule.when));
    rules.forEach((rule, order) => {
      const rank = said.taken?.[rule.id];
      const isDead = said.rules[rule.id]?.status === "dead";
      // What tasks took counts more than what they usually would.
      const ill = isDead ? NEVER : rank === undefined ? (unlikely[order] ?? 1) : Math.min(rank, 1) * ILL;
      const way = { from: station.key, order, ill, rank: unlikely[order] ?? 1 };
      for (const to of drawn(station, rule)) if (!isBadge(station, rule)) links.push({ ...way, to, rule: rule.id });
      for (const to of rejectionsOf(line, station, rule, said))
        links.push({ ...way, to, rule: rejectedId(rule.id), ill: NEVER });
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
  const mainEdges = [...mainLinks].map((index) => `${links[index]?.rule}>${links[index]?.to}`);
  const last = main.at(-1) ?? "";
  const beyond = said.onward[last];
  if (at.has(last) && well.has(last) && beyond !== undefined) {
    const pill = pillKey(onwardId(last), beyond);
    main.push(pill);
    mainRules.add(onwardId(last));
    mainEdges.push(`${onwardId(last)}>${pill}`);
  }
  const parts = new Map<string, Part>();
  parts.set(START_ID, startPart(begins ? [start] : []));
  for (const station of line.stations)
    parts.set(station.key, stationPart(line, station, said, { drawn, there, leadsBack, mainRules }));
  for (const key of ends) parts.set(key, endPart(line, key));
  const pills = [...parts.values()].flatMap(({ outlets }) =>
    outlets.flatMap(({ id, targets }) =>
      targets
        .filter((to) => !parts.has(to))
        .map((to) => pillOf(to, pillWidth(stubName(line, to.slice(id.length + 1))))),
    ),
  );
  for (const pill of pills) parts.set(pill.key, pill);
  const rest = pills.map((pill) => pill.key);
  return {
    parts: [...new Set([...main, ...keys, ...rest])].flatMap((key) => parts.get(key) ?? []),
    main,
    mainRules: [...mainRules],
    mainEdges,
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
export const pillKey = (rule: string, target: string): string => `${rule}>${target}`;

export const pillOf = (key: string, width: number): Part => {
  const { height } = PILL;
  return { key, kind: "pill", ...NO_ROOM, width, height, port: height / 2 };
};

const NO_ROOM = { before: 0, over: 0, under: 0, open: false, bar: 0, outlets: [], named: 0 } as const;

function startPart(targets: readonly string[]): Part {
  const port = START.height / 2;
  const outlet = { ...BARE, id: START_ID, port, targets };
  return { key: START_ID, kind: "start", ...NO_ROOM, ...START, port, before: 12, outlets: [outlet] };
}

function endPart(line: LineDocument, key: string): Part {
  const words = boldWidthOf(endName(endOf(line, key)?.label ?? key), 13) + 50;
  const width = between(END.width, Math.ceil(words / 8) * 8, END.widest);
  const { height } = END;
  return { key, kind: "end", ...NO_ROOM, width, height, port: height / 2, named: pillWidth(stubName(line, key)) };
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
  Math.max(CARD.height, CARD.under + Math.max(0, ...ports));

function stationPart(line: LineDocument, station: Station, said: Said, known: Known): Part {
  const rules = rulesOf(station);
  const bar = line.stations.length <= LONG ? barWidth(station) : 0;
  const next = said.onward[station.key];
  const outlets = rules.map((rule): Outlet => {
    const badge = isBadge(station, rule);
    const drawn = badge ? [] : known.drawn(station, rule);
    const all = targetsOf(rule);
    const rest = badge ? [] : [...new Set(all.length > 0 ? all : [""])].filter((to) => !drawn.includes(to));
    const label = badge || known.mainRules.has(rule.id) ? "" : labelOf(station, rule, said);
    const loops = drawn.some((to) => known.leadsBack.has(`${rule.id}>${to}`));
    return {
      ...BARE,
      id: rule.id,
      label,
      words: label ? Math.ceil(widthOf(label, 12) + signWidth(rule)) + 6 : 0,
      ...(badge ? NO_GATE : gateSize(line, rule)),
      rejected: rejectionOf(rule, rejectionsOf(line, station, rule, said)),
      ...(loops ? loopPill(rule, said) : NO_PILL),
      dead: said.rules[rule.id]?.status === "dead",
      targets: [...drawn, ...rest.map((to) => pillKey(rule.id, to))],
      loops,
      badge,
    };
  });
  if (rules.length === 0 || next !== undefined) {
    const id = onwardId(station.key);
    const leads = next !== undefined && next !== station.key;
    const targets = leads ? [known.there.has(next) ? next : pillKey(id, next)] : [];
    const loops = targets.some((to) => known.leadsBack.has(`${id}>${to}`));
    outlets.push({ ...BARE, id, targets, loops });
  }
  const first = bar > 0 ? BAR.port : CARD.port;
  const ported = withPorts(together(outlets, rules, known.mainRules), known.mainRules, first);
  const ports = ported.filter((each) => !each.badge).map((each) => each.port);
  const signs = Object.keys(said.signs.stations[station.key] ?? {}).length;
  const dead = rules.filter((rule) => said.rules[rule.id]?.status === "dead").length;
  return {
    key: station.key,
    kind: "station",
    width: bar > 0 ? BAR.width : cardWidth(station, signs, dead),
    height: bar > 0 ? Math.max(2 * BAR.port, Math.max(0, ...ports) + BAR.under) : cardHeight(ports),
    port: first,
    before: station.join && bar === 0 ? JOIN_BEFORE : 0,
    over: bar > 0 ? BAR.over : MARK.height + (station.join ? JOIN_OVER : 2),
    under: bar > 0 ? BAR.below : ported.some((each) => each.badge) ? BADGE_UNDER : 4,
    open: rules.length === 0,
    bar,
    outlets: ported,
    named: pillWidth(nameOf(station)),
  };
}

/** Rules that ask at the same gates and lead to the same place share one edge: that of the main way, else of the first. */
function together(outlets: readonly Outlet[], rules: readonly Rule[], main: ReadonlySet<string>): Outlet[] {
  const groups = new Map<string, Outlet[]>();
  rules.forEach((rule, index) => {
    const outlet = outlets[index];
    if (!outlet || outlet.badge) return;
    const key = JSON.stringify([rule.gates ?? [], targetsOf(rule), outlet.dead, outlet.pillWords]);
    groups.set(key, [...(groups.get(key) ?? []), outlet]);
  });
  const asides = new Map<string, { leader: string; aside: number }>();
  for (const group of groups.values()) {
    const leader = (group.find(({ id }) => main.has(id)) ?? group[0])?.id ?? "";
    const others = group.filter(({ id }) => id !== leader);
    for (const [index, { id }] of others.entries()) asides.set(id, { leader, aside: NUMBER_STEP * (index + 1) });
  }
  return outlets.map((outlet) => {
    const shared = asides.get(outlet.id);
    if (!shared) return outlet;
    return { ...outlet, ...NO_GATE, ...NO_PILL, ...shared, label: "", words: 0, targets: [], loops: false };
  });
}

/** Below one another: the main way, then what is named in a pill near by, what leads on, and what leads back, so that
 * nothing has to cross it. */
function withPorts(outlets: readonly Outlet[], main: ReadonlySet<string>, first: number): Outlet[] {
  const leadsToPills = (each: Outlet): boolean => each.targets.every((to) => to.startsWith(`${each.id}>`));
  const rankOf = (each: Outlet): number => (main.has(each.id) ? 0 : each.loops ? 3 : leadsToPills(each) ? 1 : 2);
  const own = outlets.filter((each) => !each.badge && each.leader === undefined);
  own.sort((a, b) => rankOf(a) - rankOf(b));
  const ports = new Map(own.map(({ id }, index) => [id, first + CARD.step * index]));
  return outlets.map((each) => ({ ...each, port: ports.get(each.leader ?? each.id) ?? first }));
}

/** How wide the words are over a station that does nothing but join: it is drawn as the bar of its join. 0 for all others. */
function barWidth(station: Station): number {
  const rules = rulesOf(station);
  const only = station.join && kindOf(station) === "noop" && !station.gate && rules.length <= BAR_RULES;
  if (!only || rules.some((rule) => isBadge(station, rule))) return 0;
  return Math.ceil(Math.max(boldWidthOf(cut(nameOf(station)), 12), widthOf(waitsWords(station), 12))) + 4;
}

/** Counts how many of those it waits for have to pass. */
export const waitsWords = (station: Station): string => (station.join?.aggregation ?? "all-pass").replace("-", " ");

/** Text said of a rule at its edge, whole. */
export function wordsOfRule(station: Station, rule: Rule, said: Pick<Said, "rules" | "onward">): string {
  const others = rulesOf(station).length > 1 || said.onward[station.key] !== undefined;
  const needed = others || asksFirst(rule.when);
  return rule.label || (needed ? said.rules[rule.id]?.words || rule.id : "");
}

/** Tells whether a condition holds one that must be asked: agentic or hook, however deep. */
export function asksFirst(when: Json | undefined): boolean {
  if (Array.isArray(when)) return when.some(asksFirst);
  if (when === null || typeof when !== "object") return false;
  return "agentic" in when || "hook" in when || ["all", "any", "not"].some((key) => asksFirst(when[key]));
}

/** What stands on its edge, in one line. */
function labelOf(station: Station, rule: Rule, said: Pick<Said, "rules" | "onward">): string {
  if (said.rules[rule.id]?.status === "dead") return say("neverReached");
  return cut(wordsOfRule(station, rule, said), MOST_LETTERS);
}

/** Beside the words of a rule: the sign that it asks. */
const signWidth = (rule: Rule): number => (asksFirst(rule.when) ? 16 : 0);

/** Letters of a gate's name that may stand in one line. */
const ONE_LINE = 16;
/** And of what is said on an edge. */
const MOST_LETTERS = 18;
const NO_PILL = { pill: 0, pillWords: "" } as const;
/** Nothing is said of it or asked there. */
const BARE: Omit<Outlet, "id" | "targets"> = {
  ...NO_GATE,
  ...NO_PILL,
  port: 0,
  aside: 0,
  leader: undefined,
  label: "",
  words: 0,
  rejected: undefined,
  dead: false,
  loops: false,
  badge: false,
};

function gateSize(line: LineDocument, rule: Rule): GateSize {
  const [first, ...others] = rule.gates ?? [];
  if (first === undefined) return NO_GATE;
  const name = gateName(line, first);
  return gateOf(name.length <= ONE_LINE ? [name] : inTwo(name), others.length > 0);
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

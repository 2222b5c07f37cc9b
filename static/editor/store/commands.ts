/** Every change of a line, as a value with a name: applied to one document it gives the next. What is undone is the
 * change as a whole, by going back to the document before it (history.ts). None of them rewires by position. */

import { say } from "../shell/words";
import {
  type End,
  freeKey,
  freeName,
  freeRuleId,
  type Gate,
  kindOf,
  type LineDocument,
  type Positions,
  positionsOf,
  type Rule,
  ruleOf,
  rulesOf,
  type Station,
  startOf,
  stationOf,
  targetsOf,
} from "./document";
import { kindNamed } from "./kinds";
import { partName, ruleName } from "./names";

export interface Command {
  /** What it does, in the words that undo and the announcer use: by the names that things have before it. */
  label: string | ((before: LineDocument) => string);
  apply(line: LineDocument): LineDocument;
  /** Parts that have another key from then on: comments and scenarios go with them. */
  renames?: readonly Rename[];
}

export interface Rename {
  kind: "station" | "gate" | "rule" | "end" | "input";
  from: string;
  to: string;
}

/** Of all of them those that were not `sent`: others may have come before them meanwhile. */
export function renamesLeft(all: readonly Rename[], sent: readonly Rename[]): readonly Rename[] {
  const left = [...all];
  for (const { kind, from, to } of sent) {
    const at = left.findIndex((each) => each.kind === kind && each.from === from && each.to === to);
    if (at >= 0) left.splice(at, 1);
  }
  return left;
}

type Place = [number, number];

const command = (label: Command["label"], apply: (line: LineDocument) => LineDocument): Command => ({ label, apply });

function withStation(line: LineDocument, key: string, change: (station: Station) => Station): LineDocument {
  return { ...line, stations: line.stations.map((each) => (each.key === key ? change(each) : each)) };
}

function withRules(line: LineDocument, key: string, change: (rules: Rule[]) => Rule[]): LineDocument {
  return withStation(line, key, (station) => ({ ...station, rules: change(rulesOf(station)) }));
}

function withPositions(line: LineDocument, places: Positions): LineDocument {
  const extra = line.extra ?? {};
  return { ...line, extra: { ...extra, editor: { ...extra.editor, positions: { ...positionsOf(line), ...places } } } };
}

/** Of what is gone nothing is left, not even where it stood. */
function withoutPositions(line: LineDocument, gone: ReadonlySet<string>): LineDocument {
  const places = Object.entries(positionsOf(line));
  const left = places.filter(([key]) => !gone.has(key));
  if (left.length === places.length) return line;
  return { ...line, extra: { ...line.extra, editor: { ...line.extra?.editor, positions: Object.fromEntries(left) } } };
}

export function addStation(kind: string, name: string, at?: Place, after?: string): Command {
  return command(say("added", name), (line) => {
    const called = freeName(line, name);
    const key = freeKey(line, called);
    const station: Station = { key, name: called, work: freshWork(kind) };
    const before = after ? line.stations.findIndex((each) => each.key === after) : -1;
    const index = before < 0 ? line.stations.length : before + 1;
    const stations = [...line.stations.slice(0, index), station, ...line.stations.slice(index)];
    const next = at ? withPositions({ ...line, stations }, { [key]: at }) : { ...line, stations };
    return after ? connect(after, key).apply(next) : next;
  });
}

function freshWork(kind: string): Station["work"] {
  return { kind, ...kindNamed(kind)?.fresh };
}

export function addEnd(kind: string, name: string, at?: Place): Command {
  return command(say("added", name), (line) => {
    const key = freeKey(line, name);
    const end: End = { key, kind, label: key.toUpperCase().replace(/[^A-Z0-9]+/g, "_") };
    const next = { ...line, ends: [...(line.ends ?? []), end] };
    return at ? withPositions(next, { [key]: at }) : next;
  });
}

/** A rule from a station to what stands behind `to`: the last of the station's rules. */
export function connect(from: string, to: string): Command {
  return command(
    (line) => say("connected", partName(line, from), partName(line, to)),
    (line) => {
      const rule: Rule = { id: freeRuleId(line, `${from}-to-${to.replace("@", "")}`), ...drawnFor(line, from), to };
      return withRules(line, from, (rules) => [...rules, rule]);
    },
  );
}

/** Outcomes that a rule drawn by hand is for: where a program or an agent runs the first is for what succeeded, so that what
 * failed does not go on with it; any other takes whatever is left. */
export function drawnFor(line: LineDocument, from: string): Pick<Rule, "when"> {
  const station = stationOf(line, from);
  const kind = station && rulesOf(station).length === 0 ? kindOf(station) : "noop";
  // A no-op does nothing that could fail.
  return kind !== "noop" && kindNamed(kind)?.alone ? { when: { result: "success" } } : {};
}

export function retarget(id: string, before: string, to: string): Command {
  return command(
    (line) => say("retargeted", ruleName(line, id), partName(line, to)),
    (line) =>
      changedRule(line, id, (rule) => {
        const targets = targetsOf(rule).map((target) => (target === before ? to : target));
        const all = [...new Set(targets)];
        return { ...rule, to: all.length === 1 ? all[0] : all };
      }),
  );
}

export function renameStation(key: string, name: string): Command {
  return command(say("renamed", name), (line) => withStation(line, key, (station) => ({ ...station, name })));
}

function changedRule(line: LineDocument, id: string, change: (rule: Rule) => Rule): LineDocument {
  const ofRule = ruleOf(line, id);
  if (!ofRule) return line;
  return withRules(line, ofRule.station.key, (rules) => rules.map((rule) => (rule.id === id ? change(rule) : rule)));
}

/** To another place among the rules of its station; the other rules keep their order. `index` counts from 0. */
export function moveRule(id: string, index: number): Command {
  return command(
    (before) => say("movedRule", ruleName(before, id), String(index + 1)),
    (line) => {
      const place = ruleOf(line, id);
      if (!place) return line;
      return withRules(line, place.station.key, (rules) => {
        const others = rules.filter((rule) => rule.id !== id);
        return [...others.slice(0, index), place.rule, ...others.slice(index)];
      });
    },
  );
}

export function removeRule(id: string): Command {
  return command(
    (before) => say("removed", ruleName(before, id)),
    (line) => {
      const ofRule = ruleOf(line, id);
      return ofRule ? withRules(line, ofRule.station.key, (rules) => rules.filter((rule) => rule.id !== id)) : line;
    },
  );
}

/** Stations and ends, with the rules that lead nowhere else; a fork only loses that branch. */
export function remove(keys: readonly string[]): Command {
  const gone = new Set(keys);
  return command(
    (before) => say("removed", keys.map((key) => partName(before, key)).join(", ")),
    (line) => {
      const stations = line.stations
        .filter((station) => !gone.has(station.key))
        .map((station) => ({ ...station, ...(station.rules ? { rules: station.rules.flatMap(without) } : {}) }));
      const start = line.start && gone.has(line.start) ? stations[0]?.key : line.start;
      const next: LineDocument = { ...line, stations };
      if (line.ends) next.ends = line.ends.filter((end) => !gone.has(end.key));
      if (start === undefined) delete next.start;
      else next.start = start;
      return withoutPositions(next, gone);
    },
  );

  function without(rule: Rule): Rule[] {
    const targets = targetsOf(rule);
    const left = targets.filter((target) => !gone.has(target));
    if (left.length === targets.length) return [rule];
    if (left.length === 0) return [];
    return [{ ...rule, to: left.length === 1 ? left[0] : left }];
  }
}

export function place(places: Positions): Command {
  return command(say("moved"), (line) => withPositions(line, places));
}

export function tidy(): Command {
  return command(say("tidied"), (line) => {
    const { positions: _, ...rest } = line.extra?.editor ?? {};
    return { ...line, extra: { ...line.extra, editor: rest } };
  });
}

export function startAt(key: string): Command {
  return command(
    (before) => say("startsAt", partName(before, key)),
    (line) => (startOf(line) === key ? line : { ...line, start: key }),
  );
}

export interface Clip {
  gateline: "stations";
  stations: Station[];
  /** Gates that the stations and their rules ask, and ends that these lead to, for a line that lacks them. */
  gates?: Gate[];
  ends?: End[];
}

export function clip(line: LineDocument, keys: readonly string[]): Clip {
  const stations = keys.flatMap((key) => stationOf(line, key) ?? []);
  const gateKeys = new Set(
    stations.flatMap((station) => [station.gate, ...rulesOf(station).flatMap(({ gates }) => gates)]),
  );
  const gates = (line.gates ?? []).filter(({ key }) => gateKeys.has(key));
  const targets = new Set(stations.flatMap((station) => rulesOf(station).flatMap(targetsOf)));
  const ends = (line.ends ?? []).filter(({ key }) => targets.has(key));
  return {
    gateline: "stations",
    stations,
    ...(gates.length > 0 ? { gates } : {}),
    ...(ends.length > 0 ? { ends } : {}),
  };
}

/** Names rules of a clip, and targets of its forks, that lead to nothing in this line: a paste leaves them out. */
export function leadingNowhere(line: LineDocument, { stations, ends = [] }: Clip): string[] {
  const pasted = new Set([...stations, ...ends].map(({ key }) => key));
  return stations.flatMap((station) =>
    rulesOf(station).flatMap((rule) => {
      const unknown = targetsOf(rule).filter((target) => !pasted.has(target) && !isKnown(line, target));
      return unknown.length > 0 ? [`${rule.label || rule.id} → ${unknown.join(", ")}`] : [];
    }),
  );
}

/** Parts of a clip that this line lacks. */
function lacking<Part extends { key: string }>(
  own: readonly Part[] | undefined,
  brought: readonly Part[] = [],
): Part[] {
  const present = new Set((own ?? []).map(({ key }) => key));
  return brought.filter(({ key }) => !present.has(key));
}

/** The line with the gates and ends of a clip that this line lacks. */
function withBrought(line: LineDocument, clipped: Clip): LineDocument {
  const gates = lacking(line.gates, clipped.gates);
  const ends = lacking(line.ends, clipped.ends).filter(({ key }) => !stationOf(line, key));
  return {
    ...line,
    ...(gates.length > 0 ? { gates: [...(line.gates ?? []), ...gates] } : {}),
    ...(ends.length > 0 ? { ends: [...(line.ends ?? []), ...ends] } : {}),
  };
}

/** The stations of a clip under free keys and names, behind those that they are copies of, so that nothing else is led to
 * them; rules and joins among them stay among them, other rules lead to what is here. */
export function paste(clipped: Clip): Command {
  return command(say("pasted", String(clipped.stations.length)), (line) => {
    const newKeys = new Map<string, string>();
    const copied = new Set(clipped.stations.map(({ key }) => key));
    const last = Math.max(-1, ...line.stations.map(({ key }, index) => (copied.has(key) ? index : -1)));
    let at = last < 0 ? line.stations.length : last + 1;
    let next = withBrought(line, clipped);
    for (const station of clipped.stations) {
      const key = freeKey(next, station.key);
      newKeys.set(station.key, key);
      const name = typeof station.name === "string" ? { name: freeName(next, station.name) } : {};
      const made = { ...station, key, ...name, rules: [] };
      next = { ...next, stations: [...next.stations.slice(0, at), made, ...next.stations.slice(at)] };
      at += 1;
    }
    next = { ...next, stations: next.stations.map((each) => waitingForCopies(each, newKeys)) };
    for (const station of clipped.stations) {
      for (const rule of rulesOf(station)) {
        const to = targetsOf(rule).map((target) => newKeys.get(target) ?? target);
        const known = to.filter((target) => isKnown(next, target));
        if (known.length === 0) continue;
        const fresh = { ...rule, id: freeRuleId(next, rule.id), to: known.length === 1 ? known[0] : known };
        next = withRules(next, newKeys.get(station.key) ?? station.key, (rules) => [...rules, fresh]);
      }
    }
    return next;
  });
}

/** A copy of a join waits for the copies of what it waits for. */
function waitingForCopies(station: Station, newKeys: ReadonlyMap<string, string>): Station {
  const { join } = station;
  if (!Array.isArray(join?.wait_for) || ![...newKeys.values()].includes(station.key)) return station;
  return { ...station, join: { ...join, wait_for: join.wait_for.map((key) => newKeys.get(key) ?? key) } };
}

function isKnown(line: LineDocument, target: string): boolean {
  return (
    target.startsWith("@") ||
    stationOf(line, target) !== undefined ||
    ["completed", "failed", "cancelled"].includes(target) ||
    (line.ends ?? []).some((end) => end.key === target)
  );
}

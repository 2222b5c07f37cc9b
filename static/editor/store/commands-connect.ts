/** Connecting by name: to one target, to several at once, to one that is made for it. */

import { say } from "../shell/words";
import { addEnd, addStation, type Command, connect, drawnFor } from "./commands";
import {
  endsOf,
  freeRuleId,
  type Json,
  type LineDocument,
  type Rule,
  ruleOf,
  rulesOf,
  stationOf,
  targetsOf,
} from "./document";
import { gateName } from "./names";

const toOf = (targets: readonly string[]): string | string[] =>
  targets.length === 1 ? (targets[0] ?? "") : [...targets];

/** A new rule to these targets, the last of its station; several are a fork. `when`: for these outcomes only. */
export function connectTo(label: string, from: string, targets: readonly string[], when?: Json): Command {
  return {
    label,
    apply: (line) => {
      const station = stationOf(line, from);
      if (!station || targets.length === 0) return line;
      const id = freeRuleId(line, `${from}-to-${targets.join("-and-").replace("@", "")}`);
      const rule: Rule = { id, ...(when === undefined ? drawnFor(line, from) : { when }), to: toOf(targets) };
      return withRules(line, from, [...rulesOf(station), rule]);
    },
  };
}

/** The rule leads there instead; whatever else it says stays. */
export function leadTo(label: string, id: string, targets: readonly string[]): Command {
  return {
    label,
    apply: (line) => {
      const ofRule = ruleOf(line, id);
      if (!ofRule || targets.length === 0) return line;
      const changed = rulesOf(ofRule.station).map((rule) => (rule.id === id ? { ...rule, to: toOf(targets) } : rule));
      return withRules(line, ofRule.station.key, changed);
    },
  };
}

export interface Fresh {
  what: "station" | "end";
  kind: string;
  name: string;
  /** Where it stands; else the layout gives it its place. */
  at?: [number, number];
}

/** A new station on this branch of a rule: the rule leads to it, and it on to where the rule led. */
export function insertOn(id: string, target: string, kind: string, name: string): Command {
  return {
    label: say("inserted", name),
    apply: (line) => {
      const ofRule = ruleOf(line, id);
      if (!ofRule || !targetsOf(ofRule.rule).includes(target)) return line;
      const before = new Set(placesOf(line));
      const next = addStation(kind, name, undefined, undefined).apply(line);
      const fresh = next.stations.find((each) => !before.has(each.key));
      if (!fresh) return line;
      const others = next.stations.filter((each) => each !== fresh);
      const at = others.findIndex((each) => each.key === ofRule.station.key) + 1;
      const placed = { ...next, stations: [...others.slice(0, at), fresh, ...others.slice(at)] };
      const targets = targetsOf(ofRule.rule).map((each) => (each === target ? fresh.key : each));
      return connect(fresh.key, target).apply(leadTo("", id, targets).apply(placed));
    },
  };
}

/** Makes a station or an end, and leads there: one change. `rule`: this rule leads there, instead of a new one. */
export function connectToNew(label: string, from: string, made: Fresh, rule?: string): Command {
  return {
    label,
    apply: (line) => {
      const before = new Set(placesOf(line));
      const add =
        made.what === "station" ? addStation(made.kind, made.name, made.at) : addEnd(made.kind, made.name, made.at);
      const next = add.apply(line);
      const key = placesOf(next).find((each) => !before.has(each));
      if (!key) return line;
      return rule ? leadTo(label, rule, [key]).apply(next) : connect(from, key).apply(next);
    },
  };
}

/** Takes a gate off a rule; the gate itself stays in the line. */
export function takeGateOff(id: string, gate: string): Command {
  return {
    label: (before) => say("gateOff", gateName(before, gate)),
    apply: (line) => {
      const ofRule = ruleOf(line, id);
      if (!ofRule?.rule.gates?.includes(gate)) return line;
      const without = ({ gates: _, ...rest }: Rule, left: string[]): Rule =>
        left.length > 0 ? { ...rest, gates: left } : rest;
      const changed = rulesOf(ofRule.station).map((rule) =>
        rule.id === id
          ? without(
              rule as Rule,
              (rule.gates ?? []).filter((each) => each !== gate),
            )
          : rule,
      );
      return withRules(line, ofRule.station.key, changed);
    },
  };
}

export function takeStationGateOff(key: string, gate: string): Command {
  return {
    label: (before) => say("gateOff", gateName(before, gate)),
    apply: (line) => {
      const station = stationOf(line, key);
      if (station?.gate !== gate) return line;
      const { gate: _, ...rest } = station;
      return { ...line, stations: line.stations.map((each) => (each.key === key ? rest : each)) };
    },
  };
}

const placesOf = (line: LineDocument): string[] => [...line.stations.map((each) => each.key), ...endsOf(line)];

function withRules(line: LineDocument, key: string, rules: Rule[]): LineDocument {
  return { ...line, stations: line.stations.map((each) => (each.key === key ? { ...each, rules } : each)) };
}

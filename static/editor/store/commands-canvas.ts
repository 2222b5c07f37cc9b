/** What is done on the canvas itself: targets by mouse, gates put on edges and stations, places. */

import { say } from "../shell/words";
import { type Command, place } from "./commands";
import { type LineDocument, type Positions, type Rule, ruleOf, rulesOf, targetsOf } from "./document";
import { gateName, partName, ruleName } from "./names";
import { changeNote, noteKey } from "./notes";

function withRule(line: LineDocument, id: string, change: (rule: Rule) => Rule): LineDocument {
  const ofRule = ruleOf(line, id);
  if (!ofRule) return line;
  const rules = rulesOf(ofRule.station).map((rule) => (rule.id === id ? change(rule) : rule));
  return { ...line, stations: line.stations.map((each) => (each === ofRule.station ? { ...each, rules } : each)) };
}

const leading = (targets: readonly string[]): string | string[] =>
  targets.length === 1 ? (targets[0] ?? "") : [...targets];

/** One more place that a rule leads to: it forks. */
export function addTarget(id: string, target: string): Command {
  return {
    label: (before) => say("addedTarget", ruleName(before, id), partName(before, target)),
    apply: (line) => {
      const before = ruleOf(line, id)?.rule;
      if (!before || targetsOf(before).includes(target)) return line;
      return withRule(line, id, (rule) => ({ ...rule, to: leading([...targetsOf(rule), target]) }));
    },
  };
}

/** One place less; the last one stays, for a rule that leads nowhere is none. */
export function removeTarget(id: string, target: string): Command {
  return {
    label: (before) => say("removedTarget", ruleName(before, id), partName(before, target)),
    apply: (line) => {
      const left = targetsOf(ruleOf(line, id)?.rule ?? { id }).filter((each) => each !== target);
      return left.length > 0 ? withRule(line, id, (rule) => ({ ...rule, to: leading(left) })) : line;
    },
  };
}

export type Onto = { rule: string } | { station: string };
/** Gate that the line has already, or a fresh one of this mode. */
export type NewGate = { key: string } | { mode: string; name: string };

/** A gate on a rule's edge, or after a station's work. */
export function putGate(onto: Onto, gate: NewGate): Command {
  return {
    label: (before) =>
      say(
        "putGate",
        "key" in gate ? gateName(before, gate.key) : gate.name,
        "rule" in onto ? ruleName(before, onto.rule) : partName(before, onto.station),
      ),
    apply: (before) => {
      const [line, key] = "key" in gate ? [before, gate.key] : withFresh(before, gate.mode, gate.name);
      if ("station" in onto) {
        return {
          ...line,
          stations: line.stations.map((each) => (each.key === onto.station ? { ...each, gate: key } : each)),
        };
      }
      const had = ruleOf(line, onto.rule)?.rule.gates ?? [];
      if (!ruleOf(line, onto.rule) || had.includes(key)) return before;
      return withRule(line, onto.rule, (rule) => ({ ...rule, gates: [...had, key] }));
    },
  };
}

function withFresh(line: LineDocument, mode: string, name: string): [LineDocument, string] {
  const keys = new Set((line.gates ?? []).map((gate) => gate.key));
  const gateName =
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "") || "gate";
  let key = gateName;
  for (let number = 2; keys.has(key); number += 1) key = `${gateName}-${number}`;
  const checks = { all: [{ field: "exit_code", operator: "equals", value: 0, label: say("exitCode") }] };
  const number = key.slice(gateName.length).replace("-", " ");
  const gate = { key, name: name + number, mode, ...(mode === "manual" ? {} : { checks }) };
  return [{ ...line, gates: [...(line.gates ?? []), gate] }, key];
}

/** Stations, ends and notes to these places. */
export function movedTo(places: Positions): Command {
  return {
    label: say("moved"),
    apply: (line) => {
      const own: Positions = {};
      let next = line;
      for (const [id, [x, y]] of Object.entries(places)) {
        const note = noteKey(id);
        if (note === undefined) own[id] = [x, y];
        else next = changeNote(note, { x, y }).apply(next);
      }
      return Object.keys(own).length > 0 ? place(own).apply(next) : next;
    },
  };
}

/** Gates as changes of the line. */

import { say } from "../shell/words";
import type { Command } from "./commands";
import { type LineDocument, type Rule, rulesOf } from "./document";
import { gateName } from "./names";

export function freeGateKey(line: LineDocument): string {
  const keys = new Set((line.gates ?? []).map((gate) => gate.key));
  let number = 1;
  while (keys.has(number === 1 ? "review" : `review-${number}`)) number += 1;
  return number === 1 ? "review" : `review-${number}`;
}

export function addGate(key: string, more: { name?: string; mode?: string } = {}): Command {
  const name = more.name ?? key.charAt(0).toUpperCase() + key.slice(1).replace("-", " ");
  return {
    label: say("added", name),
    apply: (line) => ({ ...line, gates: [...(line.gates ?? []), { key, ...more, name }] }),
  };
}

/** With every place that asks it. */
export function removeGate(key: string): Command {
  const withGate = (rule: Rule): Rule => {
    if (!rule.gates?.includes(key)) return rule;
    const { gates, ...rest } = rule;
    const left = gates.filter((each) => each !== key);
    return left.length > 0 ? { ...rest, gates: left } : rest;
  };
  return {
    label: (before) => say("removed", gateName(before, key)),
    apply: (line) => ({
      ...line,
      gates: (line.gates ?? []).filter((gate) => gate.key !== key),
      stations: line.stations.map((station) => {
        const { gate, ...rest } = station;
        const next = gate === key ? rest : station;
        return station.rules ? { ...next, rules: rulesOf(station).map(withGate) } : next;
      }),
    }),
  };
}

/** Where a gate is asked: stations, and rules by their id. */
export function usesOf(line: LineDocument, key: string): { station: string; rule?: string }[] {
  return line.stations.flatMap((station) => [
    ...(station.gate === key ? [{ station: station.key }] : []),
    ...rulesOf(station)
      .filter((rule) => rule.gates?.includes(key))
      .map((rule) => ({ station: station.key, rule: rule.id })),
  ]);
}

/** The edits of a remedy, applied as one command. The server proposes them (`pipelines/web/editor/fixes/edits.py`, where
 * each is proved to help); everything is named by key or id, and where what it names is gone an edit changes nothing. */
import type { Command } from "./commands";
import { freeRuleId, type Json, type LineDocument, type Rule, ruleOf, rulesOf, type Station } from "./document";

interface Change {
  set: Record<string, Json>;
  unset: string[];
}

export type Edit =
  | { do: "moveRule"; rule: string; before: string | null }
  | { do: "removeRule"; rule: string }
  | { do: "addRule"; station: string; rule: Rule }
  | ({ do: "changeRule"; rule: string } & Change)
  | ({ do: "changeStation"; station: string } & Change)
  | { do: "removeStation"; station: string }
  | { do: "moveStation"; station: string; before: string }
  | ({ do: "changeGate"; gate: string } & Change)
  | { do: "addGate"; gate: { key: string } }
  | { do: "addEnd"; end: { key: string } }
  | ({ do: "changeLine" } & Change);

export interface Remedy {
  label: string;
  icon: string;
  edits: Edit[];
}

export function remedy(given: Pick<Remedy, "label" | "edits">): Command {
  return { label: given.label, apply: (line) => given.edits.reduce(applied, line) };
}

function applied(line: LineDocument, edit: Edit): LineDocument {
  switch (edit.do) {
    case "moveRule":
      return withRules(line, edit.rule, (rules, rule) => {
        const others = rules.filter((each) => each !== rule);
        const index = others.findIndex((each) => each.id === edit.before);
        const to = index < 0 ? others.length : index;
        return [...others.slice(0, to), rule, ...others.slice(to)];
      });
    case "removeRule":
      return withRules(line, edit.rule, (rules, rule) => rules.filter((each) => each !== rule));
    case "changeRule":
      return withRules(line, edit.rule, (rules, rule) =>
        rules.map((each) => (each === rule ? changed(each, edit) : each)),
      );
    case "addRule": {
      const rule = { ...edit.rule, id: freeRuleId(line, edit.rule.id) };
      return withStation(line, edit.station, (station) => ({ ...station, rules: [...rulesOf(station), rule] }));
    }
    case "changeStation":
      return withStation(line, edit.station, (station) => changed(station, edit));
    case "removeStation":
      return withoutStation(line, edit.station);
    case "moveStation": {
      const moved = line.stations.find((each) => each.key === edit.station);
      const others = line.stations.filter((each) => each !== moved);
      const to = others.findIndex((each) => each.key === edit.before);
      return moved && to >= 0 ? { ...line, stations: [...others.slice(0, to), moved, ...others.slice(to)] } : line;
    }
    case "changeGate":
      return {
        ...line,
        gates: (line.gates ?? []).map((gate) => (gate.key === edit.gate ? changed(gate, edit) : gate)),
      };
    case "addGate":
      return { ...line, gates: added(line.gates ?? [], edit.gate) };
    case "addEnd":
      return { ...line, ends: added(line.ends ?? [], edit.end) };
    case "changeLine":
      return changed(line, edit);
  }
}

function changed<T extends object>(given: T, { set, unset }: Change): T {
  const entries = Object.entries(given).filter(([key]) => !unset.includes(key));
  return { ...Object.fromEntries(entries), ...set } as T;
}

const added = <T extends { key: string }>(members: T[], one: T): T[] =>
  members.some((each) => each.key === one.key) ? members : [...members, one];

function withStation(line: LineDocument, key: string, change: (station: Station) => Station): LineDocument {
  return { ...line, stations: line.stations.map((each) => (each.key === key ? change(each) : each)) };
}

function withRules(line: LineDocument, id: string, change: (rules: Rule[], rule: Rule) => Rule[]): LineDocument {
  const ofRule = ruleOf(line, id);
  if (!ofRule) return line;
  return withStation(line, ofRule.station.key, (station) => ({
    ...station,
    rules: change(rulesOf(station), ofRule.rule),
  }));
}

/** With the rules that lead nowhere else; a fork only loses that branch. */
function withoutStation(line: LineDocument, gone: string): LineDocument {
  const left = (rule: Rule): Rule[] => {
    if (!Array.isArray(rule.to)) return rule.to === gone ? [] : [rule];
    const to = rule.to.filter((each) => each !== gone);
    if (to.length === rule.to.length) return [rule];
    return to.length === 0 ? [] : [{ ...rule, to: to.length === 1 ? (to[0] as string) : to }];
  };
  const stations = line.stations
    .filter((station) => station.key !== gone)
    .map((station) => (station.rules ? { ...station, rules: station.rules.flatMap(left) } : station));
  return { ...line, stations };
}

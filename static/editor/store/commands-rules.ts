/** Commands about the rules of a station. */

import { say } from "../shell/words";
import type { Command } from "./commands";
import { freeRuleId, type LineDocument, nameOf, type Rule, ruleOf, rulesOf, stationOf, targetsOf } from "./document";

/** A rule that takes what passed, to the next station. It stands last, but above one that takes whatever is left, and asks
 * what that one asks, and what those ask that lead to the same station: it opens no way past a gate. */
export function addRule(line: LineDocument, key: string): Command & { id: string } {
  const station = stationOf(line, key);
  const id = freeRuleId(line, `${key}-rule`);
  const label = say("addedRule", station ? nameOf(station) : key);
  const apply = (now: LineDocument): LineDocument => {
    const stations = now.stations.map((each, index) => {
      if (each.key !== key) return each;
      const rules = rulesOf(each);
      const to = now.stations[index + 1]?.key ?? "completed";
      const takesAll = rules.findIndex((rule) => rule.when === undefined);
      const place = takesAll < 0 ? rules.length : takesAll;
      const siblings = rules.filter((rule, at) => at === takesAll || targetsOf(rule).includes(to));
      const gates = [...new Set(siblings.flatMap(gatesOf))];
      const rule: Rule = { id, when: { result: "success" }, to, ...(gates.length > 0 ? { gates } : {}) };
      return { ...each, rules: [...rules.slice(0, place), rule, ...rules.slice(place)] };
    });
    return { ...now, stations };
  };
  return { id, label, apply };
}

/** A new gate of the line, on this rule. */
export function newGate(line: LineDocument, id: string): Command & { key: string } {
  const keys = new Set((line.gates ?? []).map((gate) => gate.key));
  let number = 1;
  while (keys.has(number === 1 ? "review" : `review-${number}`)) number += 1;
  const key = number === 1 ? "review" : `review-${number}`;
  const name = number === 1 ? say("review") : `${say("review")} ${number}`;
  const apply = (now: LineDocument): LineDocument => {
    const ofRule = ruleOf(now, id);
    if (!ofRule) return now;
    const gated = (rule: Rule): Rule => (rule === ofRule.rule ? { ...rule, gates: [...gatesOf(rule), key] } : rule);
    const stations = now.stations.map((each) =>
      each === ofRule.station ? { ...each, rules: rulesOf(each).map(gated) } : each,
    );
    return { ...now, gates: [...(now.gates ?? []), { key, name, mode: "manual" }], stations };
  };
  return { key, label: say("added", name), apply };
}

const gatesOf = (rule: Rule): string[] => (Array.isArray(rule.gates) ? rule.gates : []);

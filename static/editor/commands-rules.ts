/** Commands about the rules of a station. */
import type { Command } from "./commands";
import { freeRuleId, type LineDocument, nameOf, type Rule, rulesOf, stationOf } from "./document";
import { say } from "./words";

/** A rule that takes what passed, to the next station. It stands last, but above one that takes whatever is left. */
export function addRule(line: LineDocument, key: string): Command & { id: string } {
  const station = stationOf(line, key);
  const id = freeRuleId(line, `${key}-rule`);
  const label = say("addedRule", station ? nameOf(station) : key);
  const apply = (now: LineDocument): LineDocument => {
    const stations = now.stations.map((each, index) => {
      if (each.key !== key) return each;
      const rules = rulesOf(each);
      const rule: Rule = { id, when: { result: "success" }, to: now.stations[index + 1]?.key ?? "completed" };
      const last = rules.at(-1);
      const place = last && last.when === undefined ? rules.length - 1 : rules.length;
      return { ...each, rules: [...rules.slice(0, place), rule, ...rules.slice(place)] };
    });
    return { ...now, stations };
  };
  return { id, label, apply };
}

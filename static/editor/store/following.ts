/** Keys and rule ids follow the name, until somebody sets them or somebody else has seen them: those of what was drawn since
 * this page was opened. What was stored before keeps its key, by which comments, tasks and others know it. */
import { say } from "../shell/words";
import { type Command, type Rename, renameStation } from "./commands";
import { freeKey, freeRuleId, type LineDocument, type Rule, rulesOf, slug, stationOf, targetsOf } from "./document";
import { renamedRule, renamedStation } from "./renaming";

const isMadeOf = (key: string, name: string): boolean => {
  const begin = slug(name);
  return key === begin || (key.startsWith(`${begin}-`) && /^\d+$/.test(key.slice(begin.length + 1)));
};

export const ruleIdOf = (from: string, to: readonly string[]): string =>
  slug(`${from}-to-${to.join("-and-").replaceAll("@", "")}`);

/** `before`: the line as it was when the page was opened. */
export function rename(line: LineDocument, before: LineDocument, key: string, name: string): Command & { key: string } {
  const station = stationOf(line, key);
  const fresh = stationOf(before, key) === undefined && isMadeOf(key, station?.name ?? key);
  const others = { ...line, stations: line.stations.filter((each) => each.key !== key) };
  const to = fresh ? freeKey(others, name) : key;
  if (to === key) return { ...renameStation(key, name), key };
  const renames: Rename[] = [{ kind: "station", from: key, to }];
  const own = (rule: Rule, from: string): boolean => isMadeOf(rule.id, ruleIdOf(from, targetsOf(rule)));
  const automatic = line.stations.flatMap((each) =>
    rulesOf(each).flatMap((rule) =>
      (each.key === key || targetsOf(rule).includes(key)) && own(rule, each.key) ? [rule.id] : [],
    ),
  );
  let next = renamedStation(renameStation(key, name).apply(line), key, to);
  next = {
    ...next,
    stations: next.stations.map((each) => (each.key === key ? { ...each, key: to } : each)),
  };
  for (const id of automatic) {
    const stationOfRule = next.stations.find((each) => rulesOf(each).some((rule) => rule.id === id));
    const rule = stationOfRule && rulesOf(stationOfRule).find((each) => each.id === id);
    if (!stationOfRule || !rule) continue;
    const rest = {
      ...next,
      stations: next.stations.map((each) => ({ ...each, rules: rulesOf(each).filter((one) => one.id !== id) })),
    };
    const now = freeRuleId(rest, ruleIdOf(stationOfRule.key, targetsOf(rule)));
    if (now === id) continue;
    renames.push({ kind: "rule", from: id, to: now });
    next = renamedRule(withId(next, id, now), id, now);
  }
  const after = next;
  // Computed for this line; on another one, which came from somebody else meanwhile, only the name is set.
  const apply = (now: LineDocument): LineDocument => (now === line ? after : renameStation(key, name).apply(now));
  return { label: say("renamed", name), apply, renames, key: to };
}

function withId(line: LineDocument, id: string, now: string): LineDocument {
  return {
    ...line,
    stations: line.stations.map((each) =>
      rulesOf(each).some((rule) => rule.id === id)
        ? { ...each, rules: rulesOf(each).map((rule) => (rule.id === id ? { ...rule, id: now } : rule)) }
        : each,
    ),
  };
}

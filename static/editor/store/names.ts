/** What the parts of a line are called where a person reads it. */
import { say } from "../shell/words";
import { BLOCKED, endOf, type LineDocument, nameOf, ORIGIN, ruleOf, stationOf } from "./document";

const BUILT_IN: Record<string, string> = {
  completed: say("end_completed"),
  failed: say("end_failed"),
  cancelled: say("end_cancelled"),
};

/** `ROLLED_BACK` as a person reads it, and the ends that every line has. */
export const endName = (label: string): string =>
  BUILT_IN[label] ??
  (label === label.toUpperCase() ? label.charAt(0) + label.slice(1).toLowerCase().replaceAll("_", " ") : label);

export function gateName(line: LineDocument, key: string): string {
  return line.gates?.find((gate) => gate.key === key)?.name || key;
}

/** What a target is called where a person reads it. */
export function targetName(line: LineDocument, key: string, words: { origin: string; blocked: string }): string {
  if (key === ORIGIN) return words.origin;
  if (key === BLOCKED) return words.blocked;
  const station = stationOf(line, key);
  if (station) return nameOf(station);
  return endName(endOf(line, key)?.label ?? key);
}

export const partName = (line: LineDocument, key: string): string =>
  targetName(line, key, { origin: say("origin"), blocked: say("blocked") });

/** A rule by what somebody called it, else by its place: its id is shown in Code only. */
export function ruleName(line: LineDocument, id: string): string {
  const ofRule = ruleOf(line, id);
  return ofRule
    ? ofRule.rule.label || say("ruleAt", String(ofRule.index + 1), nameOf(ofRule.station))
    : say("aRuleGone");
}

import type { Picture } from "../api/line";
import { type Findings, NOTHING, type RuleSays } from "../store/findings";

/** The canvas says a rule by its label, else by what the server says of it: here its condition. */
export function findingsOf({
  conditions,
  onward = {},
  rejected = {},
  otherwise = {},
  limits = {},
  taken,
  dead = [],
  endless = {},
  signs: stations = {},
}: Picture): Findings {
  const never = new Set(dead);
  const says = (id: string, words: string): RuleSays => {
    return { status: never.has(id) ? "dead" : "live", words, faulty: false, why: "", example: "" };
  };
  const rules = Object.fromEntries(Object.entries(conditions).map(([id, words]) => [id, says(id, words)]));
  const signs = { ...NOTHING.signs, stations, rules: limits };
  return { ...NOTHING, rules, onward, rejected, otherwise, taken, endless, signs };
}

import type { Picture } from "../api/line";
import { type Findings, NOTHING } from "../store/findings";

/** The canvas says a rule by its label, else by what the server says of it: here its condition. */
export function findingsOf({
  conditions,
  onward = {},
  rejected = {},
  otherwise = {},
  limits = {},
  taken,
}: Picture): Findings {
  const says = (words: string) => ({ status: "live" as const, words, faulty: false, why: "", example: "" });
  const rules = Object.fromEntries(Object.entries(conditions).map(([id, words]) => [id, says(words)]));
  return { ...NOTHING, rules, onward, rejected, otherwise, taken, signs: { ...NOTHING.signs, rules: limits } };
}

/** Plain values of a document: equality as JSON means it, and by what members of lists are known. */
import type { Json } from "../store/document";

export type Obj = { [key: string]: Json };

export const isObject = (value: unknown): value is Obj =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function same(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one))
    return Array.isArray(other) && one.length === other.length && one.every((each, i) => same(each, other[i]));
  if (!isObject(one) || !isObject(other)) return false;
  // A member that is undefined is not there: JSON does not know it.
  const keys = Object.keys(one).filter((key) => one[key] !== undefined);
  const others = Object.keys(other).filter((key) => other[key] !== undefined);
  return keys.length === others.length && keys.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]));
}

/** Stations, gates, ends and inputs have a key, rules an id. */
export function idOf(value: Json | undefined): string | undefined {
  if (!isObject(value)) return undefined;
  const identity = value.key ?? value.id ?? value.var;
  return typeof identity === "string" ? identity : undefined;
}

/** In which order keys are written where a text does not say. */
export const RANK: readonly string[] = (
  "gateline key id name description preset policy flags start type kind label help required choices default inputs " +
  "stations work mode argv prompt env cwd instructions form when to requires_approval checks approval output_keys " +
  "result_document limits idle_timeout max_timeout expected labels gate join wait_for aggregation rules gates " +
  "max_retries max_visits allow_revisit on_exhausted feedback compose role sla on_breach offers on_reject due notify " +
  "at_once trigger ends forbidden_parallel budgets escalations extra"
).split(" ");

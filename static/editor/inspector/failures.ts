/** Where the failures of a station go, type by type: its rules of one form, as the form `failures` gets and gives them. */
import { type Json, type LineDocument, nameOf, type Rule, rulesOf, type Station } from "../store/document";
import { type Fragment, same } from "../store/patch";
import type { Subject } from "./subjects";

const KNOWN = ["id", "label", "when", "to", "max_retries", "on_exhausted"];
const KNOWN_OF_BUDGET = ["key", "kind", "label", "failure_types", "stations", "most", "on_exhausted", "role"];

const isObject = (value: unknown): value is Fragment =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isOnly = (value: Fragment, known: readonly string[]): boolean =>
  Object.keys(value).every((key) => known.includes(key));
const words = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((each) => typeof each === "string");

/** `{failure_type: …}`, alone or after `result: failure`. */
function typesOf(rule: Rule): string[] | undefined {
  const both = isObject(rule.when) && isOnly(rule.when, ["all"]) ? rule.when.all : undefined;
  const when = Array.isArray(both) && both.length === 2 && same(both[0], { result: "failure" }) ? both[1] : rule.when;
  if (!isObject(when) || !isOnly(when, ["failure_type"])) return undefined;
  const types = words(when.failure_type);
  return types.length > 0 ? types : undefined;
}

export const isRoute = (rule: Rule): boolean =>
  isOnly(rule as Fragment, KNOWN) && typeof rule.to === "string" && typesOf(rule) !== undefined;

/** The named budgets of the line, whatever stands among them. */
const budgetsOf = (line: LineDocument): Json[] => (Array.isArray(line.budgets) ? (line.budgets as Json[]) : []);

/** The budget that says who is told when the limit of this rule is used up: the same types from the same station, as often. */
function tells(rule: Rule, own: string, budget: Json): boolean {
  if (rule.on_exhausted !== "escalate" || rule.max_retries === undefined) return false;
  if (!isObject(budget) || !isOnly(budget, KNOWN_OF_BUDGET) || typeof budget.role !== "string" || !budget.role)
    return false;
  const rowBudget = {
    kind: budget.kind,
    stations: budget.stations,
    most: budget.most,
    on_exhausted: budget.on_exhausted,
  };
  const ruleBudget = { kind: "failure_type", stations: [own], most: rule.max_retries, on_exhausted: "escalate" };
  return same(rowBudget, ruleBudget) && same(budget.failure_types, typesOf(rule));
}

function budgetOf(line: LineDocument, own: string, rule: Rule): Fragment | undefined {
  return budgetsOf(line).find((budget) => tells(rule, own, budget)) as Fragment | undefined;
}

function rowsOf(line: LineDocument, station: Station): Fragment[] {
  return rulesOf(station)
    .filter(isRoute)
    .map((rule) => {
      const role = budgetOf(line, station.key, rule)?.role;
      return (role === undefined ? rule : { ...rule, told: role }) as Fragment;
    });
}

/** Tells whether a condition takes failures of any type: rules for single types belong before it. */
function takesFailures(when: Json | undefined): boolean {
  if (when === undefined) return true;
  if (!isObject(when)) return false;
  return Object.entries(when).every(([name, value]) => {
    switch (name) {
      case "always":
        return value === true;
      case "result":
        return words(value).some((each) => each === "failure" || each === "any");
      case "verdict":
        return words(value).some((each) => each === "fail" || each === "any");
      case "any":
        return Array.isArray(value) && value.some(takesFailures);
      case "all":
        return Array.isArray(value) && value.every(takesFailures);
      default:
        return false;
    }
  });
}

/** What is known stays in its place, what is new comes before the first rule that takes every failure. */
function placed(rules: Rule[], next: Map<string, Rule>): Rule[] {
  const known = new Set(rules.map((rule) => rule.id));
  const left = rules.flatMap((rule) => (isRoute(rule) ? (next.get(rule.id) ?? []) : rule));
  const fresh = [...next.values()].filter((rule) => !known.has(rule.id));
  const index = left.findIndex((rule) => takesFailures(rule.when));
  const at = index < 0 ? left.length : index;
  return [...left.slice(0, at), ...fresh, ...left.slice(at)];
}

/** The budgets with those of the rows as they are now; the others stay as they are. */
function budgeted(line: LineDocument, station: Station, rows: Fragment[]): Json[] {
  const before = new Map(
    rulesOf(station)
      .filter(isRoute)
      .map((rule) => [rule.id, budgetOf(line, station.key, rule)]),
  );
  const ruleOfBudget = new Map([...before].flatMap(([id, budget]) => (budget ? [[budget, id] as const] : [])));
  const rowOfRule = new Map(
    rows.flatMap((row) => (row.told && row.max_retries !== undefined ? [[String(row.id), row] as const] : [])),
  );
  const keys = new Set(budgetsOf(line).map((budget) => (isObject(budget) ? budget.key : undefined)));
  const budgetFor = (row: Fragment): Fragment => ({
    failure_types: typesOf(row as Rule),
    stations: [station.key],
    most: row.max_retries,
    on_exhausted: "escalate",
    role: row.told,
  });
  const budgets = budgetsOf(line).flatMap((budget) => {
    const id = ruleOfBudget.get(budget as Fragment);
    if (id === undefined) return [budget];
    const row = rowOfRule.get(id);
    rowOfRule.delete(id);
    return row ? [{ ...(budget as Fragment), ...budgetFor(row) } as Json] : [];
  });
  for (const [id, row] of rowOfRule) {
    let key = id.slice(0, 60);
    for (let number = 2; keys.has(key); number += 1) key = `${id.slice(0, 60)}-${number}`;
    keys.add(key);
    budgets.push({ key, kind: "failure_type", ...budgetFor(row) } as Json);
  }
  return budgets;
}

export function failuresSubject(own: string): Subject {
  const find = (line: LineDocument): Station | undefined => line.stations.find((each) => each.key === own);
  return {
    what: "failures",
    own,
    title: (line) => nameOf(find(line) ?? { key: own }),
    fragment: (line) => {
      const station = find(line);
      const rows = station ? rowsOf(line, station) : [];
      return station && (rows.length > 0 ? { rules: rows as Json } : {});
    },
    put: (line, change) => {
      const station = find(line);
      if (!station) return line;
      const now = rowsOf(line, station);
      const answer = change(now.length > 0 ? { rules: now as Json } : {}).rules;
      const rows = Array.isArray(answer) ? (answer as unknown[]).filter(isObject) : [];
      const next = new Map(rows.map(({ told: _, ...rule }) => [String(rule.id), rule as unknown as Rule]));
      const rules = placed(rulesOf(station), next);
      const stations = line.stations.map((each) => (each === station ? { ...each, rules } : each));
      const budgets = budgeted(line, station, rows);
      if (same(budgets, budgetsOf(line))) return { ...line, stations };
      const { budgets: _, ...rest } = line;
      return { ...rest, stations, ...(budgets.length > 0 ? { budgets } : {}) } as LineDocument;
    },
  };
}

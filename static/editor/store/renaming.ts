/** A key is renamed everywhere at once: whoever names the station, gate or input by its old key names it by the new. */
import type { Budget } from "../../generated/line";
import {
  type Gate,
  type Json,
  kindOf,
  type LineDocument,
  positionsOf,
  type Rule,
  rulesOf,
  type Station,
} from "./document";
import { kindNamed } from "./kinds";
import { notesOf, withNotes } from "./notes";

type Swap = (value: Json | undefined) => Json | undefined;

const isObject = (value: unknown): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function swapping(from: string, to: string): Swap {
  return (value) =>
    value === from ? to : Array.isArray(value) ? value.map((each) => (each === from ? to : each)) : value;
}

/** `{…here}` with these members put through `change`, where they are there. */
function changed<T extends object>(here: T, keys: readonly string[], change: Swap): T {
  const next = { ...here } as Record<string, Json | undefined>;
  for (const key of keys) if (next[key] !== undefined) next[key] = change(next[key]);
  return next as T;
}

/** Rules, start, joins, stages, edge conditions, budgets, policy, gates' routes and reviewers, pairs, places on the canvas. */
export function renamedStation(line: LineDocument, from: string, to: string): LineDocument {
  const key = swapping(from, to);
  const route: Swap = (value) =>
    value === `route:${from}` ? `route:${to}` : value === `station:${from}` ? `station:${to}` : value;
  const next = changed(line, ["start"], key);
  next.stations = line.stations.map((station) => stationNaming(station, key));
  if (isObject(line.policy)) next.policy = changed(line.policy, ["on_failure", "on_reject"], route);
  if (line.gates) next.gates = line.gates.map((gate) => askedNaming(changed(gate, ["on_reject"], route), key));
  if (Array.isArray(line.forbidden_parallel))
    next.forbidden_parallel = (line.forbidden_parallel as Json[]).map(key) as string[][];
  if (Array.isArray(line.budgets))
    next.budgets = (line.budgets as Json[]).map((each) =>
      isObject(each) ? budgetNaming(each, key) : each,
    ) as Budget[];
  return withPlace(next, from, to);
}

/** Owners of stations are asked by the key of the station. */
function askedNaming(gate: Gate, key: Swap): Gate {
  const approval = gate.approval as Json | undefined;
  if (!isObject(approval) || !Array.isArray(approval.who)) return gate;
  const who = approval.who.map((each) => (isObject(each) ? changed(each, ["owner"], key) : each));
  return { ...gate, approval: { ...approval, who } as Gate["approval"] };
}

function budgetNaming(budget: { [key: string]: Json }, key: Swap): Json {
  const next = changed(budget, ["stations"], key);
  const way = (edge: Json): Json => (typeof edge === "string" ? edge.split("->").map(key).join("->") : edge);
  if (isObject(budget.on_exhausted)) next.on_exhausted = changed(budget.on_exhausted, ["to"], key);
  return changed(next, ["edges"], (edges) => (Array.isArray(edges) ? edges.map(way) : edges));
}

function stationNaming(station: Station, key: Swap): Station {
  const next = changed(station, ["stage"], key);
  const naming = kindNamed(kindOf(station))?.stations;
  if (isObject(station.work) && naming?.length) next.work = changed(station.work, naming, key);
  if (isObject(station.join)) next.join = changed(station.join, ["wait_for"], key);
  if (station.rules) next.rules = rulesOf(station).map((rule) => ruleNaming(rule, key));
  return next;
}

function ruleNaming(rule: Rule, key: Swap): Rule {
  const next = changed(rule, ["to"], key);
  if (isObject(rule.on_exhausted)) next.on_exhausted = changed(rule.on_exhausted, ["to"], key);
  if (rule.when !== undefined) next.when = edgesNaming(rule.when, key);
  return next;
}

function edgesNaming(when: Json, key: Swap): Json {
  if (Array.isArray(when)) return when.map((each) => edgesNaming(each, key));
  if (!isObject(when)) return when;
  const next = { ...when };
  for (const word of ["all", "any", "not"]) if (next[word] !== undefined) next[word] = edgesNaming(next[word], key);
  if (isObject(next.edge)) next.edge = changed(next.edge, ["from", "to"], key);
  return next;
}

function withPlace(before: LineDocument, from: string, to: string): LineDocument {
  const line = underHeadings(before, from, to);
  const { [from]: place, ...others } = positionsOf(line);
  if (!place) return line;
  return {
    ...line,
    extra: { ...line.extra, editor: { ...line.extra?.editor, positions: { ...others, [to]: place } } },
  };
}

function underHeadings(line: LineDocument, from: string, to: string): LineDocument {
  const notes = notesOf(line);
  if (!notes.some((note) => note.over?.includes(from))) return line;
  const key = swapping(from, to);
  return withNotes(
    line,
    notes.map((note) => changed(note, ["over"], key)),
  );
}

/** Ends have their names in the same places as stations. */
export const renamedEnd = renamedStation;

/** Stations' gates, rules' gates, and checks of what another gate said. */
export function renamedGate(line: LineDocument, from: string, to: string): LineDocument {
  const key = swapping(from, to);
  const stations = line.stations.map((station) => {
    const next = changed(station, ["gate"], key);
    if (station.rules) next.rules = rulesOf(station).map((rule) => changed(rule, ["gates"], key));
    return next;
  });
  return { ...withChecks(line, `gates.${from}`, `gates.${to}`), stations };
}

function withChecks(line: LineDocument, from: string, to: string): LineDocument {
  if (!line.gates) return line;
  const gates = line.gates.map((gate) =>
    gate.checks === undefined
      ? gate
      : { ...gate, checks: checksNaming(gate.checks as Json, from, to) as Gate["checks"] },
  );
  return { ...line, gates };
}

function checksNaming(checks: Json, from: string, to: string): Json {
  if (Array.isArray(checks)) return checks.map((each) => checksNaming(each, from, to));
  if (!isObject(checks)) return checks;
  const next = { ...checks };
  for (const word of ["all", "any"]) if (next[word] !== undefined) next[word] = checksNaming(next[word], from, to);
  return next.field === from ? { ...next, field: to } : next;
}

/** `{{input.key}}` in the work of stations, and checks of inputs. */
export function renamedInput(line: LineDocument, from: string, to: string): LineDocument {
  const found = new RegExp(`(\\{\\{\\s*input\\.)${from.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?=\\s*[}|])`, "g");
  const text = (value: Json): Json => {
    if (typeof value === "string") return value.replace(found, `$1${to}`);
    if (Array.isArray(value)) return value.map(text);
    if (isObject(value) && value.secret === `input:${from}`) return { ...value, secret: `input:${to}` };
    return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, text(each)])) : value;
  };
  const stations = line.stations.map((station) =>
    station.work ? { ...station, work: text(station.work as Json) as Station["work"] } : station,
  ) as Station[];
  return { ...withChecks(line, `input.${from}`, `input.${to}`), stations };
}

/** Budgets that speak of the rule. */
export function renamedRule(line: LineDocument, from: string, to: string): LineDocument {
  if (!Array.isArray(line.budgets)) return line;
  const budgets = (line.budgets as Json[]).map((each) =>
    isObject(each) ? changed(each, ["rule", "rules"], swapping(from, to)) : each,
  );
  return { ...line, budgets: budgets as Budget[] };
}

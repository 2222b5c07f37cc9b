/** A key is renamed everywhere at once: whoever names the station, gate or input by its old key names it by the new. */
import type { Budget, Guarantee } from "../../generated/line";
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
import {
  inField,
  inPath,
  inputInPlaces,
  inTexts,
  isObject,
  stationInPlaces,
  type Wording,
  waitsFor,
} from "./references";

type Swap = (value: Json | undefined) => Json | undefined;

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

/** Rules, start, joins, stages, conditions, budgets, policy, gates' routes, checks and reviewers, pairs, guarantees, jumps,
 * templates, places on the canvas. What cannot be kept: `leftBehind`. */
export function renamedStation(line: LineDocument, from: string, to: string): LineDocument {
  const key = swapping(from, to);
  const route: Swap = (value) =>
    value === `route:${from}` ? `route:${to}` : value === `station:${from}` ? `station:${to}` : value;
  const next = withTemplates(changed(line, ["start"], key), stationInPlaces(line, from, to));
  next.stations = next.stations.map((station) => stationNaming(station, from, to));
  if (isObject(line.policy)) next.policy = changed(line.policy, ["on_failure", "on_reject"], route);
  if (Array.isArray(line.jumps)) next.jumps = key(line.jumps) as string[];
  if (line.gates) next.gates = line.gates.map((gate) => askedNaming(changed(gate, ["on_reject"], route), key));
  if (Array.isArray(line.forbidden_parallel))
    next.forbidden_parallel = (line.forbidden_parallel as Json[]).map(key) as string[][];
  if (Array.isArray(line.budgets))
    next.budgets = (line.budgets as Json[]).map((each) =>
      isObject(each) ? budgetNaming(each, key) : each,
    ) as Budget[];
  return withPlace(
    guaranteesNaming(
      withChecks(next, (field) => inField(field, from, to)),
      key,
    ),
    from,
    to,
  );
}

/** Prompts, arguments and the like of stations, and the branches of the repository. */
function withTemplates(line: LineDocument, wording: Wording): LineDocument {
  const next = changed(line, ["workspace"], (value) => inTexts(value ?? null, wording));
  next.stations = line.stations.map((station) => changed(station, ["work"], (work) => inTexts(work ?? null, wording)));
  return next;
}

function guaranteesNaming(line: LineDocument, key: Swap): LineDocument {
  if (!Array.isArray(line.guarantees)) return line;
  const guarantees = (line.guarantees as Json[]).map((promise) => {
    if (!isObject(promise)) return promise;
    const next = { ...promise };
    for (const form of ["never", "at_most", "after"])
      if (isObject(next[form])) next[form] = changed(next[form], ["reach", "without", "visit", "gate"], key);
    return next;
  });
  return { ...line, guarantees: guarantees as unknown as Guarantee[] };
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

function stationNaming(station: Station, from: string, to: string): Station {
  const key = swapping(from, to);
  const next = changed(station, ["stage"], key);
  const naming = kindNamed(kindOf(station))?.stations;
  if (isObject(station.work) && naming?.length) next.work = changed(station.work, naming, key);
  if (isObject(station.join)) next.join = changed(station.join, ["wait_for"], key);
  if (station.rules) next.rules = rulesOf(station).map((rule) => ruleNaming(rule, from, to, waitsFor(station, from)));
  return next;
}

/** `joins`: whether the output may be that of a join that waits for the station. */
function ruleNaming(rule: Rule, from: string, to: string, joins: boolean): Rule {
  const key = swapping(from, to);
  const branch: Swap = (path) => (joins && typeof path === "string" ? inPath(path, "branches", from, to) : path);
  const next = changed(rule, ["to"], key);
  if (isObject(rule.on_exhausted)) next.on_exhausted = changed(rule.on_exhausted, ["to"], key);
  if (Array.isArray(rule.compose))
    next.compose = rule.compose.map((set) => (isObject(set) ? changed(set, ["path"], branch) : set));
  if (rule.when !== undefined)
    next.when = leavesNaming(rule.when, (leaf) => {
      const then = { ...leaf };
      if (isObject(then.edge)) then.edge = changed(then.edge, ["from", "to"], key);
      if (isObject(then.fact))
        then.fact = changed(then.fact, ["path"], (path) => inPath(String(path), "stations", from, to));
      if (isObject(then.output)) {
        const isNever = joins && /^(\$\.)?never\b/.test(String(then.output.path));
        then.output = changed(changed(then.output, ["path"], branch), isNever ? ["value"] : [], key);
      }
      return then;
    });
  return next;
}

type Leaf = { [key: string]: Json };

function leavesNaming(when: Json, naming: (leaf: Leaf) => Leaf): Json {
  if (Array.isArray(when)) return when.map((member) => leavesNaming(member, naming));
  if (!isObject(when)) return when;
  const next = naming(when);
  for (const word of ["all", "any", "not"]) if (next[word] !== undefined) next[word] = leavesNaming(next[word], naming);
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

/** Stations' gates, rules' gates, work that names a gate, checks of what another gate said, guarantees. */
export function renamedGate(line: LineDocument, from: string, to: string): LineDocument {
  const key = swapping(from, to);
  const stations = line.stations.map((station) => {
    const next = changed(station, ["gate"], key);
    const naming = kindNamed(kindOf(station))?.gates;
    if (isObject(station.work) && naming?.length) next.work = changed(station.work, naming, key);
    if (station.rules) next.rules = rulesOf(station).map((rule) => changed(rule, ["gates"], key));
    return next;
  });
  const next = { ...withChecks(line, fieldNaming(`gates.${from}`, `gates.${to}`)), stations };
  // A guarantee that names a station or an end of the same key means that one.
  const places = [...line.stations, ...(line.ends ?? [])].map((place) => place.key);
  return places.includes(from) ? next : guaranteesNaming(next, key);
}

const fieldNaming =
  (from: string, to: string): Wording =>
  (field) =>
    field === from ? to : field;

function withChecks(line: LineDocument, field: Wording): LineDocument {
  if (!line.gates) return line;
  const checks: Swap = (value) => checksNaming(value ?? null, field);
  const gates = line.gates.map((gate) => {
    const next = changed(gate, ["checks"], checks);
    if (isObject(gate.sample)) next.sample = changed(gate.sample, ["always"], checks);
    return next;
  });
  return { ...line, gates };
}

function checksNaming(checks: Json, field: Wording): Json {
  if (Array.isArray(checks)) return checks.map((member) => checksNaming(member, field));
  if (!isObject(checks)) return checks;
  const next = { ...checks };
  for (const word of ["all", "any"]) if (next[word] !== undefined) next[word] = checksNaming(next[word], field);
  return typeof next.field === "string" ? { ...next, field: field(next.field) } : next;
}

/** Templates, secrets, hosts and the repository that an input chooses, and checks of inputs. */
export function renamedInput(line: LineDocument, from: string, to: string): LineDocument {
  const next = withTemplates(line, inputInPlaces(line, from, to));
  const chosen: Swap = (value) => swapping(`input:${from}`, `input:${to}`)(value);
  next.stations = next.stations.map((station) => {
    if (!isObject(station.work)) return station;
    const work: { [key: string]: Json } = { ...station.work };
    for (const [name, value] of Object.entries(work)) if (isObject(value)) work[name] = secretsNaming(value, chosen);
    if (isObject(work.network)) work.network = changed(work.network, ["egress"], chosen);
    return { ...station, work };
  });
  const workspace = next.workspace as Json | undefined;
  if (isObject(workspace) && isObject(workspace.git))
    next.workspace = {
      ...workspace,
      git: changed(workspace.git, ["repository"], swapping(`input.${from}`, `input.${to}`)),
    };
  return withChecks(next, fieldNaming(`input.${from}`, `input.${to}`));
}

/** Values of headers and of an environment that are secrets. */
function secretsNaming(values: { [name: string]: Json }, chosen: Swap): Json {
  const next = { ...values };
  for (const [name, value] of Object.entries(values))
    if (isObject(value)) next[name] = changed(value, ["secret"], chosen);
  return next;
}

/** Budgets that speak of the rule. */
export function renamedRule(line: LineDocument, from: string, to: string): LineDocument {
  if (!Array.isArray(line.budgets)) return line;
  const budgets = (line.budgets as Json[]).map((each) =>
    isObject(each) ? changed(each, ["rule", "rules"], swapping(from, to)) : each,
  );
  return { ...line, budgets: budgets as Budget[] };
}

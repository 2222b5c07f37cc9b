/** Subjects of server forms: which part of the line one gets, and where its answer goes. */

import type { Rename } from "../store/commands";
import {
  type End,
  endOf,
  type Gate,
  type Json,
  type LineDocument,
  nameOf,
  type Rule,
  ruleOf,
  rulesOf,
  type Station,
} from "../store/document";
import { endName } from "../store/names";
import type { Fragment } from "../store/patch";
import { renamedEnd, renamedGate, renamedInput, renamedRule, renamedStation } from "../store/renaming";
import type { Selection } from "../store/selection";

type Change = (now: Fragment) => Fragment;

export interface Subject {
  /** The form, by its name in the address. */
  what: string;
  /** The key of the part in the line; "" for the line itself. */
  own: string;
  /** Key of the station that the part belongs to, where it is a part of one. */
  within?: string;
  /** In words, for what undo says. */
  title(line: LineDocument): string;
  /** The part, without what other forms have; undefined once it is gone. */
  fragment(line: LineDocument): Fragment | undefined;
  put(line: LineDocument, change: Change): LineDocument;
  /** Parts of the part that have another key in the answer. */
  rekeyed?(sent: Fragment, answered: Fragment): Rename[];
  /** Where the answer has another key: every name of it follows. */
  renamed?: {
    /** What the part is known by. */
    by?: "key" | "id";
    everywhere(line: LineDocument, from: string, to: string): LineDocument;
    subject(own: string): Subject;
    selection(own: string): Selection;
  };
}

/** What is chosen where its form is shown. */
export function selectionOf({ what, own, within }: Subject): Selection {
  if (what === "rule") return { keys: [within ?? ""], rule: own };
  if (what === "gate") return { keys: [], gate: own };
  if (what === "inputs") return { keys: [], part: "inputs" };
  return { keys: own === "" ? [] : own.split(" ") };
}

const without = (value: object, ...keys: string[]): Fragment =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key))) as Fragment;

/** The first of this key, changed; what the fragment left out stays. */
function first<T extends { key: string }>(
  members: readonly T[],
  own: string,
  left: readonly string[],
  change: Change,
): T[] {
  const index = members.findIndex((each) => each.key === own);
  return members.map((each, at) => {
    if (at !== index) return each;
    const ownFields = Object.fromEntries(
      left.flatMap((key) => (key in each ? [[key, (each as Record<string, unknown>)[key]]] : [])),
    );
    return { ...change(without(each, ...left)), ...ownFields } as unknown as T;
  });
}

export function stationSubject(own: string): Subject {
  const find = (line: LineDocument): Station | undefined => line.stations.find((each) => each.key === own);
  return {
    what: "station",
    own,
    title: (line) => nameOf(find(line) ?? { key: own }),
    fragment: (line) => {
      const station = find(line);
      return station && without(station, "rules");
    },
    put: (line, change) => ({ ...line, stations: first(line.stations, own, ["rules"], change) }),
    renamed: {
      everywhere: renamedStation,
      subject: stationSubject,
      selection: (key) => ({ keys: [key] }),
    },
  };
}

export function gateSubject(own: string): Subject {
  const find = (line: LineDocument): Gate | undefined => line.gates?.find((each) => each.key === own);
  return {
    what: "gate",
    own,
    title: (line) => find(line)?.name || own,
    fragment: (line) => find(line) as Fragment | undefined,
    put: (line, change) => ({ ...line, gates: first(line.gates ?? [], own, [], change) }),
    renamed: {
      everywhere: renamedGate,
      subject: gateSubject,
      selection: (key) => ({ keys: [], gate: key }),
    },
  };
}

/** An end that always exists is declared by what is said of it. */
export function endSubject(own: string): Subject {
  const find = (line: LineDocument): End | undefined => endOf(line, own);
  return {
    what: "end",
    own,
    title: (line) => endName(find(line)?.label || own),
    fragment: (line) => find(line) as Fragment | undefined,
    put: (line, change) => {
      const declared = line.ends?.some((each) => each.key === own);
      const ends = declared
        ? (line.ends ?? [])
        : [...(line.ends ?? []), endOf(line, own) ?? { key: own, kind: "completed" }];
      return { ...line, ends: first(ends, own, [], change) };
    },
    renamed: { everywhere: renamedEnd, subject: endSubject, selection: (key) => ({ keys: [key] }) },
  };
}

const ELSEWHERE = ["gateline", "key", "stations", "gates", "ends", "inputs"];

/** Name, description and policy; stations, gates, ends and inputs have forms of their own. */
export function lineSubject(): Subject {
  return {
    what: "line",
    own: "",
    title: (line) => String(line.name || line.key || ""),
    fragment: (line) => {
      const { editor: _, ...extra } = line.extra ?? {};
      const rest = without(line, ...ELSEWHERE, "extra");
      return Object.keys(extra).length > 0 ? { ...rest, extra: extra as Json } : rest;
    },
    put: (line, change) => {
      const now = lineSubject().fragment(line) ?? {};
      const { extra, ...changed } = change(now);
      const rest = Object.fromEntries(Object.entries(line).filter(([key]) => ELSEWHERE.includes(key)));
      const editor = line.extra?.editor;
      const next = { ...rest, ...changed } as unknown as LineDocument;
      if (extra !== undefined || editor)
        next.extra = { ...(extra as object | undefined), ...(editor ? { editor } : {}) };
      return next;
    },
  };
}

export function inputsSubject(): Subject {
  return {
    what: "inputs",
    own: "",
    title: (line) => String(line.name || line.key || ""),
    fragment: (line) => (line.inputs === undefined ? {} : { inputs: line.inputs as Json }),
    put: (line, change) => {
      const { inputs: _, ...rest } = line;
      const next = change(line.inputs === undefined ? {} : { inputs: line.inputs as Json });
      const put = (next.inputs === undefined ? rest : { ...rest, inputs: next.inputs }) as LineDocument;
      const [from, to] = rekeyed(line.inputs as Json, next.inputs) ?? [];
      return from && to ? renamedInput(put, from, to) : put;
    },
    rekeyed: (sent, answered) => {
      const [from, to] = rekeyed(sent.inputs, answered.inputs) ?? [];
      return from && to ? [{ kind: "input", from, to }] : [];
    },
  };
}

/** The old and the new key, where one field has another key than before, wherever it stands now: a key that is typed
 * and a move right after it can come in one answer. */
function rekeyed(before: Json | undefined, after: Json | undefined): [string, string] | undefined {
  if (!Array.isArray(before) || !Array.isArray(after) || before.length !== after.length) return undefined;
  const key = (field: Json): string =>
    typeof field === "object" && field !== null && !Array.isArray(field) ? String(field.key ?? "") : "";
  const had = before.map(key);
  const has = after.map(key);
  const gone = had.filter((each) => !has.includes(each));
  const come = has.filter((each) => !had.includes(each));
  const [from, to] = [gone[0], come[0]];
  return gone.length === 1 && come.length === 1 && from !== undefined && to !== undefined ? [from, to] : undefined;
}

export function ruleSubject(own: string, within: string): Subject {
  const find = (line: LineDocument): Rule | undefined => ruleOf(line, own)?.rule;
  return {
    what: "rule",
    own,
    within,
    title: (line) => find(line)?.label || own,
    fragment: (line) => find(line) as Fragment | undefined,
    put: (line, change) => {
      const ofRule = ruleOf(line, own);
      if (!ofRule) return line;
      const rules = rulesOf(ofRule.station).map((rule) =>
        rule === ofRule.rule ? (change(rule as Fragment) as unknown as Rule) : rule,
      );
      return { ...line, stations: line.stations.map((each) => (each === ofRule.station ? { ...each, rules } : each)) };
    },
    renamed: {
      by: "id",
      everywhere: renamedRule,
      subject: (id) => ruleSubject(id, within),
      selection: (id) => ({ keys: [within], rule: id }),
    },
  };
}

const outlines = new WeakMap<LineDocument, Json>();

/** What a form needs to know of the rest of the line. */
export function outlineOf(line: LineDocument): Json {
  const known = outlines.get(line);
  if (known) return known;
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const made = {
    preset: (line.preset as Json) ?? null,
    policy: (line.policy as Json) ?? null,
    flags: (line.flags as Json) ?? null,
    stations: line.stations.map((each) => ({ key: each.key, name: text(each.name), kind: text(each.work?.kind) })),
    gates: (line.gates ?? []).map((each) => ({ key: each.key, name: text(each.name) })),
    ends: (line.ends ?? []).map((each) => ({ key: each.key, name: text(each.label), kind: text(each.kind) })),
    rules: line.stations.flatMap((each) => rulesOf(each).map((rule) => rule.id)),
    inputs: Array.isArray(line.inputs)
      ? line.inputs.flatMap((each) => (typeof each?.key === "string" ? [each.key] : []))
      : [],
    input_names: Object.fromEntries(
      (Array.isArray(line.inputs) ? line.inputs : []).flatMap((each) =>
        typeof each?.key === "string" && text(each.label) ? [[each.key, text(each.label)]] : [],
      ),
    ),
  };
  outlines.set(line, made);
  return made;
}

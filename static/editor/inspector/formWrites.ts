/** What a form makes of the part that it shows, told before the server says it, so that one request asks and saves: what
 * a control writes, where, and what a button does to a list. The server knows for sure, and it compares. */

import { own, parse, put as set } from "../../ts/json";
import type { Deed } from "../api/line";
import type { Json } from "../store/document";
import { same } from "../store/patch";

/** undefined: the key goes. */
export type Value = Json | undefined;

/** What the server will refuse, and say why. */
export const UNSURE = Symbol("unsure");

const lined = (text: string): string => text.replace(/\r\n/g, "\n");
const filled = (found: Json[]): Value => (found.length > 0 ? found : undefined);
const split = (text: string, between: string): string[] =>
  lined(text)
    .split(between)
    .map((each) => each.trim())
    .filter(Boolean);
const single = (found: Value): Value => (Array.isArray(found) && found.length === 1 ? found[0] : found);

/** JSON, where the text begins as it does. */
function read(text: string, begins = ""): Value | typeof UNSURE {
  if (!text.trimStart().startsWith(begins)) return UNSURE;
  try {
    return parse(text) as Value;
  } catch {
    return UNSURE;
  }
}

function listed(text: string, between: string): Value {
  const found = read(text, "[");
  return filled(Array.isArray(found) ? found : split(text, between));
}

/** A piece of a word as a shell takes it: a template, what is quoted, what a backslash keeps, anything else. */
const TEMPLATE = /\{\{[^{}\n]*\}\}/.source;
const PIECE = new RegExp(
  `(${TEMPLATE})|'((?:${TEMPLATE}|[^'])*)'|"((?:${TEMPLATE}|\\\\[\\s\\S]|[^"\\\\])*)"|\\\\([\\s\\S])|([ \\t\\r\\n]+)|([^'"\\\\])`,
  "gy",
);

/** Words as a shell would take them. */
function argumentsOf(text: string): Value | typeof UNSURE {
  const found = read(text, "[");
  if (Array.isArray(found)) return filled(found);
  const words: string[] = [];
  let word: string | undefined;
  let end = 0;
  for (const [all, template, single, double, kept, space, plain] of text.matchAll(PIECE)) {
    end += all.length;
    if (space === undefined) word = (word ?? "") + (template ?? single ?? unescaped(double) ?? kept ?? plain);
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return end < text.length ? UNSURE : filled(word === undefined ? words : [...words, word]);
}

const unescaped = (text: string | undefined): string | undefined => text?.replace(/\\(["\\])/g, "$1");

function pairs(text: string): Value | typeof UNSURE {
  const found: Record<string, Json> = {};
  if (text.trimStart().startsWith("{")) return emptied(read(text));
  for (const line of lined(text).split("\n")) {
    const at = line.indexOf("=");
    if (!line.trim()) continue;
    if (at < 0) return UNSURE;
    set(found, line.slice(0, at).trim(), line.slice(at + 1));
  }
  return emptied(found);
}

const emptied = <T>(found: T): T | undefined => (JSON.stringify(found) === "{}" ? undefined : found);

/** JSON, or a text that is none. */
function meant(text: string): Json {
  const found = read(text);
  return found === UNSURE || found === undefined ? text : found;
}

function valuesIn(text: string): Json {
  const found = read(text, "[");
  return Array.isArray(found) ? found : split(text, ",").map(meant);
}

const isObject = (value: Value): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `value` without what `left` holds of it. */
function minus(value: Value, left: Value): Value {
  if (!isObject(value) || !isObject(left)) return left === undefined ? value : {};
  const found: Record<string, Json> = {};
  for (const [key, member] of Object.entries(value)) {
    const other = own(left, key);
    if (other === undefined) set(found, key, member);
    else if (isObject(member) && isObject(other) && !same(member, other)) set(found, key, minus(member, other) as Json);
  }
  return found;
}

/** `added` over `value`, object by object. */
function overlaid(value: Value, added: Json): Json {
  if (!isObject(value) || !isObject(added)) return added;
  const over = Object.entries(added).map(([key, member]) => [key, overlaid(own(value, key), member)]);
  return { ...value, ...Object.fromEntries(over) };
}

/** What has no field of its own. `left`: as it stood. */
function rest([typed = ""]: readonly string[], before: Value, left: Value): Value | typeof UNSURE {
  const found = typed.trim() ? read(typed) : {};
  return found === UNSURE || !isObject(found) ? UNSURE : overlaid(minus(before, left), found);
}

function number(text: string): Value {
  const typed = text.trim();
  return /^-?\d{1,15}(\.\d{1,6})?$/.test(typed) ? Number(typed) : typed || undefined;
}

/** In the order in which they stood, what is new behind them; what is usual is left out. */
function ticked(values: readonly string[], before: Value, usual: Value): Value {
  const shown = Array.isArray(before) ? before : Array.isArray(usual) ? usual : [];
  const kept = shown.filter((each) => values.includes(String(each)));
  const found = [...kept, ...values.filter((each) => !kept.includes(each))];
  const isUsual = Array.isArray(usual) && same([...found].sort(), [...usual].sort());
  return isUsual ? undefined : filled(found);
}

/** `given`: what the server says besides. */
type Writes = (values: readonly string[], before: Value, given: Value) => Value | typeof UNSURE;
const text =
  (write: (text: string) => Value | typeof UNSURE): Writes =>
  ([typed = ""]) =>
    write(typed);

/** By the word of the field (`writes` in pipelines/web/editor/forms/fields). */
const WRITES: Record<string, Writes> = {
  text: text((typed) => typed.trim() || undefined),
  choice: text((typed) => (typed.trim() ? lined(typed) : undefined)),
  lines: text((typed) => (typed.trim() ? lined(typed) : undefined)),
  number: text(number),
  on: (values) => values.length > 0 || undefined,
  off: (values) => (values.length > 0 ? undefined : false),
  ticks: ticked,
  words: (values) => single(filled([...values])),
  list: text((typed) => listed(typed, "\n")),
  hosts: text((typed) => listed(typed, "\n") ?? []),
  commas: text((typed) => listed(typed, ",")),
  commas_or_none: text((typed) => (typed.trim() === "[]" ? [] : listed(typed, ","))),
  types: text((typed) => single(listed(typed, ","))),
  arguments: text(argumentsOf),
  pairs: text(pairs),
  json: text((typed) => (typed.trim() ? read(typed) : undefined)),
  meant: text((typed) => (typed.trim() ? meant(typed.trim()) : undefined)),
  meant_lines: text((typed) => (typed.trim() ? meant(lined(typed)) : undefined)),
  values: text(valuesIn),
  verbatim: text(lined),
  rest,
};

/** What a control says of itself, in the attributes of its block. */
export interface Field {
  writes: string;
  at: string;
  /** What is empty is written, too. */
  needed?: boolean;
  given?: Value;
  /** What goes where nothing is left. */
  whole?: string;
  /** What is written as well, by place. */
  also?: Readonly<Record<string, Json>>;
}

/** The fragment with what was typed. */
export function written(fragment: Value, field: Field, values: readonly string[]): Value | typeof UNSURE {
  const { writes, at, given } = field;
  const chosen = writes === "choice" ? inside(given, [values[0] ?? ""]) : undefined;
  if (isObject(chosen)) return put(fragment, stepsOf(String(chosen.at)), chosen.value);
  const found = WRITES[writes]?.(values, inside(fragment, stepsOf(at)), given);
  if (found === UNSURE) return UNSURE;
  const value = found === undefined && field.needed ? EMPTY[writes] : found;
  if (value === undefined) return put(fragment, stepsOf(field.whole ?? at), undefined);
  const also = Object.entries(field.also ?? {});
  return put(
    also.reduce((made, [place, other]) => put(made, stepsOf(place), other), fragment),
    stepsOf(at),
    value,
  );
}

const EMPTY: Record<string, Json> = { text: "", lines: "", choice: "", list: [], commas: [] };

type Steps = readonly string[];

/** `limits.expected`, `inputs[2].key`: as places of pipelines/web/editor/forms name it. */
export const stepsOf = (place: string): Steps => place.match(/[^.[\]]+/g) ?? [];

export function inside(value: Value, steps: Steps): Value {
  return steps.reduce<Value>(
    (found, step) =>
      typeof found === "object" && found !== null ? own(found as Record<string, Value>, step) : undefined,
    value,
  );
}

/** A copy with the value there; objects on the way are made, and go where they are left empty. */
export function put(value: Value, [step, ...rest]: Steps, last: Value): Value {
  if (step === undefined) return last;
  if (Array.isArray(value))
    return value.map((each, at) => (String(at) === step ? (put(each, rest, last) ?? null) : each));
  const object = typeof value === "object" && value !== null ? value : {};
  const below = put(own(object as Record<string, Value>, step), rest, last);
  const { [step]: _, ...others } = object;
  const empty = below === undefined || (last === undefined && rest.length > 0 && JSON.stringify(below) === "{}");
  if (empty) return others;
  return Object.hasOwn(object, step) ? { ...object, [step]: below } : { ...others, [step]: below };
}

/** The rows after a button of their list. `made`: what it adds. */
export function pressed(rows: Value, { do: what, index }: Deed, made: Value): Json[] {
  const left = Array.isArray(rows) ? [...rows] : [];
  if (what === "add") return made === undefined ? left : [...left, made];
  const taken = left.splice(index, 1);
  if (what !== "remove") left.splice(Math.max(0, what === "up" ? index - 1 : index + 1), 0, ...taken);
  return left;
}

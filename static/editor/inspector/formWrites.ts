/** What a form makes of the part that it shows, as far as the browser can tell before the server says it: what a control
 * writes, where, and what a button does to a list. Only the server knows for sure, and it compares. */
import type { Deed } from "../api/line";
import type { Json } from "../store/document";

/** undefined: the key goes. */
export type Value = Json | undefined;

/** Only the server can say. */
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
    return JSON.parse(text);
  } catch {
    return UNSURE;
  }
}

function listed(text: string, between: string): Value {
  const found = read(text, "[");
  return filled(Array.isArray(found) ? found : split(text, between));
}

/** Words as a shell would take them; what is quoted is for the server. */
function argumentsOf(text: string): Value | typeof UNSURE {
  const found = read(text, "[");
  if (Array.isArray(found)) return filled(found);
  if (/['"\\]/.test(text.replace(TEMPLATES, ""))) return UNSURE;
  return filled(text.match(/(?:\{\{[^{}\n]*\}\}|[^ \t\r\n])+/g) ?? []);
}

const TEMPLATES = /\{\{[^{}\n]*\}\}/g;

function pairs(text: string): Value | typeof UNSURE {
  if (text.trimStart().startsWith("{")) return read(text);
  const found: Record<string, Json> = {};
  for (const line of lined(text).split("\n")) {
    const at = line.indexOf("=");
    if (!line.trim()) continue;
    if (at < 0) return UNSURE;
    found[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

function number(text: string): Value {
  const typed = text.trim();
  return /^-?\d{1,15}(\.\d{1,6})?$/.test(typed) ? Number(typed) : typed || undefined;
}

/** In the order in which they stood, what is new behind them. */
function ticked(values: readonly string[], before: Value): Value {
  const kept = (Array.isArray(before) ? before : []).filter((each) => values.includes(String(each)));
  return filled([...kept, ...values.filter((each) => !kept.includes(each))]);
}

type Writes = (values: readonly string[], before: Value) => Value | typeof UNSURE;
const text =
  (write: (text: string) => Value | typeof UNSURE): Writes =>
  ([typed = ""]) =>
    write(typed);

/** By the word of the field (`writes` in pipelines/web/editor/forms/fields.py). */
const WRITES: Record<string, Writes> = {
  text: text((typed) => typed.trim() || undefined),
  choice: text((typed) => typed.trim() || undefined),
  lines: text((typed) => (typed.trim() ? lined(typed) : undefined)),
  number: text(number),
  on: (values) => values.length > 0 || undefined,
  off: (values) => (values.length > 0 ? undefined : false),
  ticks: ticked,
  words: (values) => single(filled([...values])),
  list: text((typed) => listed(typed, "\n")),
  commas: text((typed) => listed(typed, ",")),
  types: text((typed) => single(listed(typed, ","))),
  arguments: text(argumentsOf),
  pairs: text(pairs),
  json: text((typed) => (typed.trim() ? read(typed) : undefined)),
};

export function writtenBy(writes: string, values: readonly string[], before: Value): Value | typeof UNSURE {
  return WRITES[writes]?.(values, before) ?? (WRITES[writes] ? undefined : UNSURE);
}

type Steps = readonly string[];

/** `limits.expected`, `inputs[2].key`: as places of pipelines/web/editor/forms name it. */
export const stepsOf = (place: string): Steps => place.match(/[^.[\]]+/g) ?? [];

export function inside(value: Value, steps: Steps): Value {
  return steps.reduce<Value>(
    (found, step) => (typeof found === "object" && found !== null ? (found as Record<string, Value>)[step] : undefined),
    value,
  );
}

/** A copy with the value there; objects on the way are made, and go where they are left empty. */
export function put(value: Value, [step, ...rest]: Steps, last: Value): Value {
  if (step === undefined) return last;
  if (Array.isArray(value))
    return value.map((each, at) => (String(at) === step ? (put(each, rest, last) ?? null) : each));
  const object = typeof value === "object" && value !== null ? value : {};
  const below = put(object[step], rest, last);
  const { [step]: _, ...others } = object;
  const empty = below === undefined || (last === undefined && rest.length > 0 && JSON.stringify(below) === "{}");
  if (empty) return others;
  return step in object ? { ...object, [step]: below } : { ...others, [step]: below };
}

/** The rows after a button of their list. `made`: what it adds. */
export function pressed(rows: Value, { do: what, index }: Deed, made: Value): Json[] {
  const left = Array.isArray(rows) ? [...rows] : [];
  if (what === "add") return made === undefined ? left : [...left, made];
  const taken = left.splice(index, 1);
  if (what !== "remove") left.splice(Math.max(0, what === "up" ? index - 1 : index + 1), 0, ...taken);
  return left;
}

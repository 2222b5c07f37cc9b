/** What a form makes of the part that it shows, told before the server says it, so that one request asks and saves: what
 * a control writes, where, and what a button does to a list. The server knows for sure, and it compares. */

import { own, put as set } from "../../ts/json";
import type { Deed } from "../api/line";
import type { Json } from "../store/document";
import { same } from "../store/patch";
import { json, type Reading, read, UNSURE, type Value } from "./reading";

/** What a control says of what it writes (`FormField.describe_change`): where, and one way of writing it. */
export interface Field {
  at: string;
  text?: Reading;
  /** A tick: what counts without one. */
  flag?: boolean;
  /** Ticks: what counts where none is said. */
  ticks?: readonly Json[];
  /** Ticks, as a list of words or the only one. */
  words?: true;
  /** What no other field covers, as it stands. */
  rest?: Json;
  /** What is chosen and changes something else, too. */
  options?: { [value: string]: { at: string; value?: Json } };
  /** What goes where nothing is left. */
  whole?: string;
  /** What is written as well, by place. */
  also?: { [place: string]: Json };
}

/** The fragment with what was typed. */
export function written(fragment: Value, field: Field, values: readonly string[]): Value | typeof UNSURE {
  const option = own(field.options ?? {}, values[0] ?? "");
  if (option) return put(fragment, stepsOf(option.at), option.value);
  const value = typedValue(field, values, inside(fragment, stepsOf(field.at)));
  if (value === UNSURE) return UNSURE;
  if (value === undefined) return put(fragment, stepsOf(field.whole ?? field.at), undefined);
  const also = Object.entries(field.also ?? {});
  return put(
    also.reduce((made, [place, other]) => put(made, stepsOf(place), other), fragment),
    stepsOf(field.at),
    value,
  );
}

function typedValue(field: Field, values: readonly string[], before: Value): Value | typeof UNSURE {
  const { text, flag, ticks, rest } = field;
  const [typed = ""] = values;
  if (text) return read(typed, text);
  if (flag !== undefined) return values.length > 0 === flag ? undefined : !flag;
  if (ticks) return ticked(values, before, ticks);
  if (rest !== undefined) return overRest(typed, before, rest);
  return values.length > 1 ? [...values] : values[0];
}

const isObject = (value: Value): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `value` without what `left` holds of it. */
function minus(value: Value, left: Value): Value {
  if (!isObject(value) || !isObject(left)) return left === undefined ? value : {};
  const fragment: Record<string, Json> = {};
  for (const [key, member] of Object.entries(value)) {
    const other = own(left, key);
    if (other === undefined) set(fragment, key, member);
    else if (isObject(member) && isObject(other) && !same(member, other))
      set(fragment, key, minus(member, other) as Json);
  }
  return fragment;
}

/** `added` over `value`, object by object. */
function overlaid(value: Value, added: Json): Json {
  if (!isObject(value) || !isObject(added)) return added;
  const over = Object.entries(added).map(([key, member]) => [key, overlaid(own(value, key), member)]);
  return { ...value, ...Object.fromEntries(over) };
}

function overRest(typed: string, before: Value, left: Json): Value | typeof UNSURE {
  const parsedJson = typed.trim() ? json(typed) : {};
  return parsedJson === UNSURE || !isObject(parsedJson) ? UNSURE : overlaid(minus(before, left), parsedJson);
}

/** In the order in which they stood, what is new behind them; what is usual is left out. */
function ticked(values: readonly string[], before: Value, usual: readonly Json[]): Value {
  const listed = Array.isArray(before) ? before : usual;
  const remaining = listed.filter((each) => values.includes(String(each)));
  const ordered = [...remaining, ...values.filter((each) => !remaining.includes(each))];
  return ordered.length === 0 || same([...ordered].sort(), [...usual].sort()) ? undefined : ordered;
}

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
  const removed = left.splice(index, 1);
  if (what !== "remove") left.splice(Math.max(0, what === "up" ? index - 1 : index + 1), 0, ...removed);
  return left;
}

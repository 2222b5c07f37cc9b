/** What a text that was typed into a field means: its `Reading`, which comes with the field, followed as the server follows
 * it (`pipelines/web/editor/forms/fields/reading.py`, where each part is explained). */

import { exactNumber, own, parse, put as set } from "../../ts/json";
import type { Json } from "../store/document";

/** undefined: there is to be nothing. */
export type Value = Json | undefined;

/** What the server will refuse, and say why. */
export const UNSURE = Symbol("unsure");

export interface Reading {
  verbatim?: boolean;
  words?: { [word: string]: Json };
  blank?: Json;
  under?: string;
  numbers?: string;
  json_from?: string;
  strict?: boolean;
  none?: Json;
  form?: "parts" | "arguments" | "pairs";
  between?: string;
  values?: boolean;
  kept?: boolean;
  single?: boolean;
}

export function read(typed: string, reading: Reading): Value | typeof UNSURE {
  const { words = {}, under, numbers, json_from: from } = reading;
  const text = typed.replace(/\r\n/g, "\n");
  const trimmed = text.trim();
  if (reading.verbatim) return text;
  const word = own(words, trimmed);
  if (word !== undefined) return word;
  if (!trimmed) return reading.blank;
  if (under && trimmed.startsWith(`${under}:`)) return { [under]: trimmed.slice(under.length + 1) };
  if (numbers && new RegExp(`^(?:${numbers})$`).test(trimmed))
    return trimmed.includes(".") ? Number(trimmed) : exactNumber(trimmed);
  if (from !== undefined && trimmed.startsWith(from)) {
    const parsedJson = json(text);
    if (parsedJson !== UNSURE || reading.strict) return from ? filled(parsedJson, reading.none, reading) : parsedJson;
  }
  return filled(FORMS[reading.form ?? "text"](text, reading), reading.blank, reading);
}

const FORMS: Record<
  "text" | "parts" | "arguments" | "pairs",
  (text: string, reading: Reading) => Json | typeof UNSURE
> = {
  text: (text, { kept }) => (kept ? text : text.trim()),
  parts: (text, { between = "\n", values }) =>
    text
      .split(between)
      .map((part) => part.trim())
      .filter(Boolean)
      .map((part) => (values ? (read(part, { json_from: "" }) as Json) : part)),
  arguments: argumentsOf,
  pairs,
};

function filled(found: Value | typeof UNSURE, empty: Value, { single }: Reading): Value | typeof UNSURE {
  if (typeof found !== "object" || found === null) return found;
  if (Object.keys(found).length === 0) return empty;
  return single && Array.isArray(found) && found.length === 1 ? found[0] : found;
}

export function json(text: string): Value | typeof UNSURE {
  try {
    return parse(text) as Value;
  } catch {
    return UNSURE;
  }
}

/** A piece of a word as a shell takes it: a template, what is quoted, what a backslash keeps, anything else. */
const TEMPLATE = /\{\{[^{}\n]*\}\}/.source;
const PIECE = new RegExp(
  `(${TEMPLATE})|'((?:${TEMPLATE}|[^'])*)'|"((?:${TEMPLATE}|\\\\[\\s\\S]|[^"\\\\])*)"|\\\\([\\s\\S])|([ \\t\\r\\n]+)|([^'"\\\\])`,
  "gy",
);

function argumentsOf(text: string): Json | typeof UNSURE {
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
  return end < text.length ? UNSURE : word === undefined ? words : [...words, word];
}

const unescaped = (text: string | undefined): string | undefined => text?.replace(/\\(["\\])/g, "$1");

function pairs(text: string): Json | typeof UNSURE {
  const entries: { [key: string]: Json } = {};
  for (const line of text.split("\n").filter((each) => each.trim())) {
    const at = line.indexOf("=");
    const name = line.slice(0, at).trim();
    if (at < 0 || !name || Object.hasOwn(entries, name)) return UNSURE;
    set(entries, name, line.slice(at + 1));
  }
  return entries;
}

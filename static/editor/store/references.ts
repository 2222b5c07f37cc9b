/** References that stand inside texts: in templates, and in paths of conditions and checks. */
import { type Json, type LineDocument, rulesOf, type Station } from "./document";

/** Maps a text to what it becomes. */
export type Wording = (text: string) => string;

const PLACE = /\{\{(.*?)\}\}/gs;
const SHORT = /^\.([^\s{}|()"']+)$/;
const EDGE = /^edge_count:(\S+?)->(\S+)$/;
/** Fields of the task, and what earlier stations left: neither is a station of the line. */
export const FIXED = ["name", "number", "title", "description", "requester", "priority", "labels", "due_at"];
const EARLIER = ["previous_output", "last_error"];
const STEP = /^(?:\.([A-Za-z_\u0080-\u{10ffff}][\w\u0080-\u{10ffff}]*)|\[\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\])/u;

export const isObject = (value: unknown): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Texts of a value, and of what is in it. */
export function inTexts(value: Json, wording: Wording): Json {
  if (typeof value === "string") return wording(value);
  if (Array.isArray(value)) return value.map((member) => inTexts(member, wording));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inTexts(member, wording)]));
}

/** Texts between braces, each by itself. */
export const inPlaces =
  (wording: Wording): Wording =>
  (text) =>
    text.replace(PLACE, (place, inner: string) => {
      const bare = inner.trim();
      const next = wording(bare);
      return next === bare ? place : place.replace(bare, () => next);
    });

const objects = (value: unknown): { [key: string]: Json }[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Variables that rules and gates set. */
export function variablesOf(line: LineDocument): string[] {
  const composed = line.stations.flatMap((station) =>
    rulesOf(station).flatMap((rule) => objects(rule.compose).map(({ var: name }) => String(name))),
  );
  return [...composed, ...(line.gates ?? []).flatMap((gate) => objects(gate.fields).map(({ key }) => String(key)))];
}

export const inputsOf = (line: LineDocument): string[] => objects(line.inputs).map(({ key }) => String(key));
export const firstOf = (name: string): string => name.split(".")[0] ?? "";

/** `{{.key}}`, `{{.key_error}}` and `{{edge_count:a->b}}`. A name that is a variable, an input or a field of the task is
 * no station's, and none is given that would be one. */
export function stationInPlaces(line: LineDocument, from: string, to: string): Wording {
  const others = line.stations.map(({ key }) => key).filter((key) => key !== from && key !== to);
  const known = new Set([...variablesOf(line), ...inputsOf(line), ...FIXED]);
  const isKnown = (name: string): boolean => known.has(name) || known.has(firstOf(name));
  const isFree = (name: string): boolean => !isKnown(name) && ![...others, ...EARLIER].includes(name);
  const isStation = line.stations.some(({ key }) => key === from || key === to);
  return inPlaces((inner) => {
    const edge = EDGE.exec(inner);
    if (edge) return `edge_count:${edge[1] === from ? to : edge[1]}->${edge[2] === from ? to : edge[2]}`;
    const name = SHORT.exec(inner)?.[1];
    if (name === undefined || !isStation || isKnown(name) || others.includes(name)) return inner;
    for (const end of ["", "_error"]) {
      const rest = name === from + end ? "" : name.slice((from + end).length);
      const names = name === from + end || (name.startsWith(`${from}${end}.`) && !from.includes("."));
      if (names && isFree(to + end) && !(rest && to.includes("."))) return `.${to}${end}${rest}`;
    }
    return inner;
  });
}

/** `{{input.key}}`, `{{.key}}` and `{{var:key}}`, where no variable has the name. */
export function inputInPlaces(line: LineDocument, from: string, to: string): Wording {
  const variables = variablesOf(line);
  const isShort = !variables.includes(from) && !variables.includes(to);
  const macro = new RegExp(`(^|\\|\\s*)var:${escaped(from)}(?=\\s*$|\\|)`, "g");
  const rekeyed = (name: string): string | undefined =>
    name === from ? to : name.startsWith(`${from}.`) && !to.includes(".") ? to + name.slice(from.length) : undefined;
  return inPlaces((inner) => {
    const [, family = "", name = ""] = /^(input)?\.([^\s{}|()"']+)$/.exec(inner) ?? [];
    const next = name && (family || isShort) ? rekeyed(name) : undefined;
    if (next !== undefined) return `${family}.${next}`;
    const piped = /^input\.(\S+?)(\s*\|.*)$/s.exec(inner);
    if (piped?.[1] === from) return `input.${to}${piped[2]}`;
    return isShort ? inner.replace(macro, `$1var:${to}`) : inner;
  });
}

export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const step = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `['${name}']`);

/** The second step of a path whose first is `root`. */
export function inPath(text: string, root: string, from: string, to: string): string {
  if (!text.startsWith("$")) {
    const [first, second, ...rest] = text.split(".");
    if (first !== root || second !== from) return text;
    return to.includes(".") ? `$${[root, to, ...rest].map(step).join("")}` : [root, to, ...rest].join(".");
  }
  const nameOf = (parts: RegExpExecArray | null): string | undefined => parts?.[1] ?? parts?.[2] ?? parts?.[3];
  const first = STEP.exec(text.slice(1));
  const after = first ? 1 + first[0].length : 0;
  const second = STEP.exec(text.slice(after));
  if (!second || nameOf(first) !== root || nameOf(second) !== from) return text;
  return text.slice(0, after) + step(to) + text.slice(after + second[0].length);
}

/** Fields of checks: what was observed at a station, and how a branch arrived. They are dotted, so that a key with a dot
 * has no place in them. */
export function inField(text: string, from: string, to: string): string {
  const field = /^(facts\.stations|(?:output|meta)\.branches)\.([^.]+)(\..*)?$/.exec(text);
  return field?.[2] === from && !to.includes(".") ? `${field[1]}.${to}${field[3] ?? ""}` : text;
}

export const waitsFor = (station: Station, key: string): boolean =>
  Array.isArray(station.join?.wait_for) && station.join.wait_for.includes(key);

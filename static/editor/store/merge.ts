/** Two edits of one document put together, as `pipelines/formats/line_merge.py` does it on the server: what is disjoint is
 * merged, and of what is not somebody chooses. Here it keeps an undo, and a choice between two drafts, from dropping what
 * somebody else did. Members of lists are known by key or id, never by their place.
 *
 * What is the same in both stays the very same object, so that nothing is drawn, or typed, anew that did not change. */
import { own, put } from "../../ts/json";
import type { Json, LineDocument } from "./document";

export type Side = "mine" | "theirs";

export interface Place {
  path: string;
  base: Json;
  mine: Json;
  theirs: Json;
}

/** Whose word counts at a place that both changed; undefined: nobody has said yet. */
type Settle = (place: Place) => Side | undefined;

interface Merged {
  document: LineDocument;
  /** Where both changed and nobody has settled; the document has theirs there. */
  open: Place[];
}

type Value = Json | undefined;
type Members = Map<string, Value>;

const IDENTITY: Record<string, string> = { stations: "key", gates: "key", ends: "key", inputs: "key", rules: "id" };
const ORDER = "(order)";
const PLAIN = /^[A-Za-z_@][A-Za-z0-9_-]*$/;

export function merge(base: LineDocument, mine: LineDocument, theirs: LineDocument, settle: Settle): Merged {
  const merger = new Merger(settle);
  const document = merger.merged("", "", base as Json, mine as Json, theirs as Json);
  return { document: grafted(mine as Json, document) as LineDocument, open: merger.open };
}

/** `fresh`, with the parts of `old` that are equal in it: only what changed is another object. */
export function grafted(old: Value, fresh: Value): Value {
  if (old === fresh || same(old, fresh)) return old;
  if (Array.isArray(old) && Array.isArray(fresh)) {
    const known = new Map(old.map((each, index) => [nameOf(each) ?? index, each]));
    return fresh.map((each, index) => grafted(known.get(nameOf(each) ?? index), each) as Json);
  }
  if (isObject(old) && isObject(fresh)) {
    return Object.fromEntries(Object.entries(fresh).map(([key, each]) => [key, grafted(own(old, key), each) as Json]));
  }
  return fresh;
}

const nameOf = (value: Json): string | undefined => {
  const identity = isObject(value) ? (value.key ?? value.id) : undefined;
  return typeof identity === "string" ? identity : undefined;
};

class Merger {
  readonly open: Place[] = [];

  constructor(private readonly settle: Settle) {}

  merged(path: string, step: string, base: Value, mine: Value, theirs: Value): Value {
    if (same(mine, theirs) || same(base, mine)) return theirs;
    if (same(base, theirs)) return mine;
    if (isObject(mine) && isObject(theirs) && isObject(base)) return this.#object(path, base, mine, theirs);
    const identity = IDENTITY[step];
    const lists = [base, mine, theirs].map((each) => byIdentity(each, identity));
    const [before, here, there] = lists;
    if (before && here && there) return this.#list(path, step, before, here, there);
    return this.#settled(path, base, mine, theirs) === "mine" ? mine : theirs;
  }

  #settled(path: string, base: Value, mine: Value, theirs: Value): Side {
    const place = { path, base: base ?? null, mine: mine ?? null, theirs: theirs ?? null };
    const side = this.settle(place);
    if (!side) this.open.push(place);
    return side ?? "theirs";
  }

  #object(path: string, base: Fields, mine: Fields, theirs: Fields): Json {
    const fields: Fields = {};
    for (const key of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
      const value = this.merged(joined(path, key), key, own(base, key), own(mine, key), own(theirs, key));
      if (value !== undefined) put(fields, key, value);
    }
    return fields;
  }

  #list(path: string, step: string, base: Members, mine: Members, theirs: Members): Json {
    const keys = [base, mine, theirs].map((each) => [...each.keys()]) as [string[], string[], string[]];
    let order = ordered(...keys, step === "rules");
    if (!order) {
      const side = this.#settled(joined(path, ORDER), ...keys);
      const [first, second] = side === "mine" ? [keys[1], keys[2]] : [keys[2], keys[1]];
      order = [...first, ...second.filter((key) => !first.includes(key))];
    }
    const members: Json[] = [];
    for (const key of order) {
      const value = this.merged(`${path}[${key}]`, "", base.get(key), mine.get(key), theirs.get(key));
      if (value !== undefined) members.push(value);
    }
    return members;
  }
}

type Fields = { [key: string]: Json };

const isObject = (value: Value): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** As `join` of pipelines/routing/basics/problems.py. */
function joined(path: string, key: string): string {
  if (!PLAIN.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path ? `${path}.${key}` : key;
}

export function same(one: Value, other: Value): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, index) => same(each, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]))
  );
}

/** undefined: no list of objects with different identities, which can only be taken as a whole. */
function byIdentity(members: Value, identity: string | undefined): Members | undefined {
  if (!identity) return undefined;
  if (members === undefined) return new Map();
  if (!Array.isArray(members) || !members.every(isObject)) return undefined;
  const keys = members.map((each) => each[identity]);
  if (!keys.every((key) => typeof key === "string") || new Set(keys).size < keys.length) return undefined;
  return new Map(members.map((each, index) => [keys[index] as string, each]));
}

/** All keys of both, in an order that keeps both; undefined where there is none. */
function ordered(base: string[], mine: string[], theirs: string[], strict: boolean): string[] | undefined {
  const there = new Set(theirs);
  const common = new Set(mine.filter((key) => there.has(key)));
  const commonKeys = (keys: string[]): string => JSON.stringify(keys.filter((key) => common.has(key)));
  let [first, second] = [theirs, mine];
  if (commonKeys(mine) !== commonKeys(theirs)) {
    const byMe = commonKeys(mine) !== commonKeys(base);
    if (byMe && commonKeys(theirs) !== commonKeys(base)) return undefined;
    if (byMe) [first, second] = [mine, theirs];
  }
  if (strict) {
    const places = new Set(added(first, base, common));
    if (added(second, base, common).some((place) => places.has(place))) return undefined;
  }
  return inserted(first, second);
}

/** Behind which of what both have this side alone added something. */
function added(keys: string[], base: string[], common: Set<string>): (string | undefined)[] {
  const known = new Set(base);
  const predecessors: (string | undefined)[] = [];
  let before: string | undefined;
  for (const key of keys) {
    if (common.has(key)) before = key;
    else if (!known.has(key)) predecessors.push(before);
  }
  return predecessors;
}

/** `first`, with what only `second` has behind what it stands behind there. */
function inserted(first: string[], second: string[]): string[] {
  const keys = [...first];
  second.forEach((key, index) => {
    if (keys.includes(key)) return;
    const before = second
      .slice(0, index)
      .reverse()
      .find((each) => keys.includes(each));
    keys.splice(before === undefined ? 0 : keys.indexOf(before) + 1, 0, key);
  });
  return keys;
}

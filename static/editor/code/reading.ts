/** The text of a line document as plain values, read as the server reads it (`pipelines/formats/yamltext.py`), with the
 * place of every value. YAML 1.2 core schema: `on`, `no` and `12:30` stay text. A test reads both ways and compares. */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  type Node,
  type Pair,
  parseAllDocuments,
  Scalar,
  visit,
  type YAMLError,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

import { exactNumber, parse } from "../../ts/json";
import type { Json } from "../store/document";
import { join, type Places } from "./paths";

const MAX_TEXT = 4 * 1024 * 1024;
const MAX_NODES = 200_000;
const MAX_DEPTH = 100;

const NULL = /^(?:null|Null|NULL|~|)$/;
const BOOL = /^(?:true|True|TRUE|false|False|FALSE)$/;
const INT = /^[-+]?[0-9]+$/;
const BASED = /^(?:0o[0-7]+|0x[0-9a-fA-F]+)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const NOT_FINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const HALF_ESCAPED = /\\u[dD][89a-fA-F]/;
const TEXT_TAG = "tag:yaml.org,2002:str";

interface Unread {
  ok: false;
  message: string;
  at: number;
}
export interface Read {
  ok: true;
  value: { [key: string]: Json };
  places: Places;
  tree: Document.Parsed | undefined;
}

class TextError extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

export const resolvesToText = (plain: string): boolean =>
  ![NULL, BOOL, INT, BASED, FLOAT, NOT_FINITE].some((pattern) => pattern.test(plain));

export function read(text: string): Read | Unread {
  if (text.length > MAX_TEXT) return { ok: false, message: `the text is longer than ${MAX_TEXT} characters`, at: 0 };
  try {
    return new Reader(text).read();
  } catch (fault) {
    if (fault instanceof TextError) return { ok: false, message: fault.message, at: fault.at };
    throw fault;
  }
}

interface Built {
  value: Json;
  size: number;
  height: number;
}

class Reader {
  private readonly places: Places = Object.create(null);
  private readonly anchors = new Map<string, Built>();
  private readonly isJson: boolean;
  private nodes = 0;

  constructor(private readonly text: string) {
    this.isJson = text.trimStart().startsWith("{") && parsesAsJson(text);
  }

  /** What is JSON but for such a word is no YAML either: there it would be a text. */
  private refuseNotFinite(): void {
    if (this.isJson || !this.text.trimStart().startsWith("{")) return;
    let constant: { word: string; at: number } | undefined;
    const without = this.text.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (part, at: number) => {
      if (part.startsWith('"')) return part;
      constant ??= { word: part, at };
      return "0";
    });
    if (constant && parsesAsJson(without)) throw new TextError(`${constant.word} is not JSON`, constant.at);
  }

  read(): Read {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    const forbidden = this.isJson ? -1 : this.text.search(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]/);
    if (forbidden >= 0) throw new TextError("special characters are not allowed", forbidden);
    this.refuseNotFinite();
    const documents = parseAllDocuments(this.text, {
      version: "1.2",
      schema: "failsafe",
      merge: false,
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "silent",
    });
    const [tree, second] = documents;
    if (!tree) throw new TextError("the document is empty", 0);
    const fault = tree.errors[0] ?? second?.errors[0];
    if (fault) throw new TextError(fault.message, beginningOf(fault, tree, this.text));
    if (second) throw new TextError("a second document begins here; a file holds one", second.range[0]);
    if (!tree.contents) throw new TextError("the document is empty", 0);
    const { value } = this.node(tree.contents as Node, "", 0);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new TextError("a line document is one object", 0);
    }
    return { ok: true, value, places: this.places, tree: this.isJson ? undefined : tree };
  }

  private node(node: Node | null, path: string, depth: number, at = 0): Built {
    const range = node?.range ?? [at, at, at];
    this.places[path] ??= [range[0], range[1]];
    const built = this.built(node, path, depth, range[0]);
    this.nodes += node && isAlias(node) ? built.size : 1;
    if (this.nodes > MAX_NODES) throw new TextError(`the document holds more than ${MAX_NODES} values`, range[0]);
    if (depth + built.height > MAX_DEPTH) throw new TextError(`nested deeper than ${MAX_DEPTH}`, range[0]);
    if (node && !isAlias(node) && "anchor" in node && node.anchor) this.anchors.set(node.anchor, built);
    return built;
  }

  private built(node: Node | null, path: string, depth: number, at: number): Built {
    if (!node) return leaf(null);
    if (isAlias(node)) {
      const known = this.anchors.get(node.source);
      if (!known) throw new TextError(`nothing is anchored as ${node.source}`, at);
      return known;
    }
    if (isScalar(node)) return leaf(this.scalar(node as Scalar, at));
    if (node.tag && !this.isPlainTag(node)) throw new TextError(`tags are not supported: ${node.tag}`, at);
    if (depth >= MAX_DEPTH) throw new TextError(`nested deeper than ${MAX_DEPTH}`, at);
    return isMap(node) ? this.mapping(node as YAMLMap, path, depth) : this.sequence(node as YAMLSeq, path, depth);
  }

  /** Without a tag in the text the library gives lists and objects none. */
  private isPlainTag(node: Node): boolean {
    return node.tag === undefined || node.tag === "";
  }

  private mapping(node: YAMLMap, path: string, depth: number): Built {
    const value: { [key: string]: Json } = {};
    const members: Built[] = [];
    for (const pair of node.items as Pair<Node, Node | null>[]) {
      const key = this.key(pair.key, node.range?.[0] ?? 0);
      const from = pair.key.range?.[0] ?? 0;
      if (Object.hasOwn(value, key)) {
        throw new TextError(`the key ${JSON.stringify(key)} appears twice in one object`, from);
      }
      const below = join(path, key);
      this.places[below] = [from, pair.value?.range?.[1] ?? pair.key.range?.[1] ?? from];
      const built = this.node(pair.value, below, depth + 1, pair.key.range?.[1] ?? from);
      // A key of this name would set what the object is made from, not a member of it.
      Object.defineProperty(value, key, { value: built.value, enumerable: true, writable: true, configurable: true });
      members.push(built);
    }
    return holder(value, members);
  }

  private sequence(node: YAMLSeq, path: string, depth: number): Built {
    const members = (node.items as (Node | null)[]).map((each, index) => {
      if (each && !("range" in each) && "key" in each) {
        throw new TextError("a list of pairs is not read: put braces around them", node.range?.[0] ?? 0);
      }
      return this.node(each, join(path, index), depth + 1, node.range?.[0]);
    });
    return holder(
      members.map((each) => each.value),
      members,
    );
  }

  private key(key: Node | null, at: number): string {
    const where = key?.range?.[0] ?? at;
    if (!key || !isScalar(key)) throw new TextError("keys are text: put it in quotes", where);
    const value = this.scalar(key as Scalar, where);
    if (typeof value !== "string") throw new TextError("keys are text: put it in quotes", where);
    return value;
  }

  private scalar(node: Scalar, at: number): Json {
    const source = String(node.source ?? node.value ?? "");
    const unstorable = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(source);
    if (unstorable) {
      const what = unstorable[0] === "\0" ? "a NUL character" : "half of a surrogate pair";
      throw new TextError(`the text holds ${what} at position ${unstorable.index}`, at);
    }
    if (node.type === Scalar.QUOTE_DOUBLE && !this.isJson && this.hasHalf(node)) {
      throw new TextError("the text holds half of a surrogate pair: write the character itself", at);
    }
    const tag = node.tag;
    if (tag && tag !== "!" && tag !== TEXT_TAG) throw new TextError(`tags are not supported: ${tag}`, at);
    if (tag || node.type !== Scalar.PLAIN) return source;
    return this.plain(source, at);
  }

  private hasHalf(node: Scalar): boolean {
    const range = node.range;
    return range ? HALF_ESCAPED.test(this.text.slice(range[0], range[1]).replace(/\\\\/g, "")) : false;
  }

  private plain(said: string, at: number): Json {
    if (NULL.test(said)) return null;
    if (BOOL.test(said)) return said[0] === "t" || said[0] === "T";
    if (NOT_FINITE.test(said)) throw new TextError(`${said} is not a number that JSON knows`, at);
    const isWhole = INT.test(said) || BASED.test(said);
    if (!isWhole && !FLOAT.test(said)) return said;
    const value = INT.test(said)
      ? exactNumber(said.replace(/^\+/, ""))
      : BASED.test(said)
        ? exactNumber(said)
        : Number(said);
    if (!isWhole && !Number.isFinite(value))
      throw new TextError(`${said.slice(0, 40)} is larger than a number can be here`, at);
    if (!isWhole && !sameDecimal(said, value)) {
      throw new TextError("more digits than a number keeps here; write it as a text, in quotes", at);
    }
    return value;
  }
}

/** Where the fault was made: what is not closed is found out at its end, and a key over two lines at its first. */
function beginningOf({ code, pos }: YAMLError, tree: Document.Parsed, text: string): number {
  if (code === "BLOCK_AS_IMPLICIT_KEY")
    return Math.max(pos[0], text.slice(pos[0], text.indexOf(":", pos[0])).trimEnd().lastIndexOf("\n") + pos[0] + 1);
  const isOpen = (node: Node): boolean => {
    const [from, to] = node.range ?? [0, 0];
    const first = text[from] ?? "";
    const last = { "[": "]", "{": "}", '"': '"', "'": "'" }[first];
    return last !== undefined && from < pos[0] && pos[0] <= to + 1 && (to - from < 2 || text[to - 1] !== last);
  };
  let place = pos[0];
  if (code === "MISSING_CHAR" || code === "BAD_INDENT") {
    visit(tree, {
      Node: (_, node) => {
        if (isOpen(node as Node)) place = (node as Node).range?.[0] ?? place;
      },
    });
  }
  return place;
}

const leaf = (value: Json): Built => ({ value, size: 1, height: 0 });

function holder(value: Json, members: Built[]): Built {
  let size = 1;
  let height = 0;
  for (const member of members) {
    size += member.size;
    height = Math.max(height, member.height);
  }
  return { value, size, height: height + 1 };
}

function parsesAsJson(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Tells whether the shortest text of a double says the very number that was written. */
function sameDecimal(said: string, value: number): boolean {
  const [digits, exponent] = decimal(said);
  const [shortest, power] = decimal(String(value));
  return digits === shortest && (digits === "0" || exponent === power);
}

/** Digits without zeros at either end, with the sign, and the power of ten behind them. */
function decimal(text: string): [string, number] {
  const [mantissa = "", power = "0"] = text.toLowerCase().split("e");
  const sign = mantissa.startsWith("-") ? "-" : "";
  const [whole = "", fraction = ""] = mantissa.replace(/^[-+]/, "").split(".");
  const all = (whole + fraction).replace(/^0+/, "");
  const digits = all.replace(/0+$/, "");
  if (!digits) return ["0", 0];
  return [sign + digits, Number(power) - fraction.length + (all.length - digits.length)];
}

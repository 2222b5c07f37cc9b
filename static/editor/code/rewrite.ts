/** A text that says another document, with everything else of it as it was: comments, order of keys, quotes, spacing.
 * Only the parts that changed are written anew. What comes of it is read again: should it not say the wanted document
 * (a changed part stood behind an alias, say), larger parts are written anew until it does. */
import { isMap, isScalar, isSeq, type Node, type Pair, parseDocument, Scalar, type YAMLMap, type YAMLSeq } from "yaml";

import { own, write } from "../../ts/json";
import type { Json } from "../store/document";
import { below, inline, inQuotes, member, whole } from "./emit";
import { read } from "./reading";
import { idOf, isObject, type Obj, RANK, same } from "./values";

export function rewrite(text: string, wanted: Obj): string {
  const before = read(text);
  if (!before.ok) return whole(wanted);
  if (same(before.value, wanted)) return text;
  if (!before.tree) return `${write(wanted, /\n( +|\t)/.exec(text)?.[1] ?? 2)}\n`;
  const ways = [
    () => new Rewriter(text).document(before.tree?.contents as YAMLMap, before.value, wanted),
    () => byMembers(text, before.value, wanted),
    () => (/^(?:[ \t]*#.*\n|[ \t]*\n)*/.exec(text)?.[0] ?? "") + whole(wanted),
  ];
  for (const way of ways) {
    const tried = way();
    const answer = tried === undefined ? undefined : read(tried);
    if (tried !== undefined && answer?.ok && same(answer.value, wanted)) return tried;
  }
  return `${write(wanted, 2)}\n`;
}

/** Whole members of the document are replaced; comments outside of them stay. */
function byMembers(text: string, before: Obj, wanted: Obj): string | undefined {
  const tree = parseDocument(text, { version: "1.2", schema: "core", merge: false });
  if (tree.errors.length > 0) return undefined;
  for (const key of Object.keys(before)) if (!Object.hasOwn(wanted, key)) tree.delete(key);
  for (const [key, value] of Object.entries(wanted)) {
    if (!Object.hasOwn(before, key) || !same(before[key], value)) tree.set(key, tree.createNode(value));
  }
  return tree.toString({ lineWidth: 0, flowCollectionPadding: false });
}

type Range = [number, number];
type Entry = Pair<Node, Node | null>;

interface Part {
  from: number;
  to: number;
  /** What stands between this part and the next: empty lines, comments that belong to neither. */
  gap: string;
}

class Rewriter {
  constructor(private readonly text: string) {}

  document(root: YAMLMap, before: Obj, after: Obj): string | undefined {
    if (root.flow || Object.keys(after).length === 0) return undefined;
    const [, to] = this.body(root);
    const from = root.range?.[0] ?? 0;
    const ended = this.text.endsWith("\n") || to < this.text.length ? "" : "\n";
    return this.text.slice(0, from) + this.blockMap(root, before, after, from) + ended + this.text.slice(to);
  }

  /** The lines of a list or an object in block style, with the comment directly above its first member. */
  private body(node: YAMLMap | YAMLSeq): Range {
    const parts = this.parts(node);
    return [parts[0]?.from ?? 0, parts.at(-1)?.to ?? 0];
  }

  private parts(node: YAMLMap | YAMLSeq): Part[] {
    const indent = this.column(node.range?.[0] ?? 0);
    const parts = node.items.map((item, index): Part => {
      const [start, end] = isMap(node) ? this.ofPair(item as Entry) : this.ofItem(node as YAMLSeq, index);
      const to = this.lineEnd(end);
      return { from: this.withComment(start, indent), to, gap: "" };
    });
    parts.forEach((part, index) => {
      const next = parts[index + 1];
      if (next) part.gap = this.text.slice(part.to, Math.max(next.from, part.to));
    });
    return parts;
  }

  private ofPair(pair: Entry): Range {
    const from = pair.key.range?.[0] ?? 0;
    return [from, Math.max(pair.key.range?.[1] ?? from, pair.value ? this.end(pair.value) : 0)];
  }

  private ofItem(node: YAMLSeq, index: number): Range {
    const first = node.range?.[0] ?? 0;
    const item = node.items[index] as Node | null;
    const end = item ? this.end(item) : first;
    if (index === 0) return [first, Math.max(end, first + 1)];
    const column = this.column(first);
    let at = this.lineStart(item?.range?.[0] ?? first);
    while (at > first && !/^[ ]*-(\s|$)/.test(this.line(at).slice(column))) at = this.lineStart(at - 1);
    return [at + column, Math.max(end, at + column + 1)];
  }

  private end(node: Node): number {
    const range = node.range;
    if ((isMap(node) || isSeq(node)) && !node.flow && node.items.length > 0) {
      const last = node.items.at(-1);
      return isMap(node) ? this.ofPair(last as Entry)[1] : this.ofItem(node as YAMLSeq, node.items.length - 1)[1];
    }
    const end = range?.[1] ?? 0;
    // A text in block style ends with its line break.
    return range && end > range[0] && this.text[end - 1] === "\n" ? end - 1 : end;
  }

  /** From where a member begins on a line of its own, with the comment lines directly above it. */
  private withComment(start: number, indent: number): number {
    let from = this.lineStart(start);
    if (this.text.slice(from, start).trim() !== "") return start;
    while (from > 0) {
      const above = this.lineStart(from - 1);
      const line = this.text.slice(above, from);
      if (!line.trimStart().startsWith("#") || line.length - line.trimStart().length !== indent) break;
      from = above;
    }
    return from;
  }

  private blockMap(node: YAMLMap, before: Obj, after: Obj, start?: number): string {
    const indent = this.column(node.range?.[0] ?? 0);
    const parts = this.parts(node);
    const first = parts[0];
    if (first && start !== undefined) first.from = start;
    const members: { key: string; text: string; gap: string }[] = [];
    (node.items as Entry[]).forEach((pair, index) => {
      const part = parts[index] as Part;
      const key = keyOf(pair);
      if (Object.hasOwn(after, key)) {
        const unchanged = same(own(before, key), own(after, key));
        const text = unchanged
          ? this.text.slice(part.from, part.to)
          : this.pair(pair, part, own(before, key), after[key] as Json, indent);
        members.push({ key, text, gap: part.gap });
      } else if (part.gap.includes("#")) {
        const above = members.at(-1);
        if (above) above.gap += part.gap;
      }
    });
    for (const key of Object.keys(after)) {
      if (Object.hasOwn(before, key)) continue;
      const at = members.findIndex((each) => rank(each.key) > rank(key));
      const index = at < 0 ? members.length : at === 0 && this.isMidLine(parts[0]) ? 1 : at;
      members.splice(index, 0, { key, text: member(key, after[key] as Json, indent), gap: "" });
    }
    return this.assembled(members, this.isMidLine(first));
  }

  private pair(pair: Entry, part: Part, before: Json | undefined, after: Json, indent: number): string {
    const value = pair.value;
    const slice = value ? this.slice(value) : undefined;
    const into = value ? this.into(value, before, after) : undefined;
    if (slice && into !== undefined)
      return this.text.slice(part.from, slice[0]) + into + this.text.slice(slice[1], part.to);
    const keyEnd = pair.key.range?.[1] ?? part.from;
    const colon = this.text.indexOf(":", keyEnd);
    const around =
      this.text.slice(colon + 1, slice?.[0] ?? colon + 1) + this.text.slice(slice?.[1] ?? colon + 1, part.to);
    return this.said(this.text.slice(part.from, colon + 1), below(after, indent), /#.*/.exec(around)?.[0], indent);
  }

  /** A member written anew, with the comment that stood behind it. */
  private said(head: string, value: string, comment: string | undefined, indent: number): string {
    if (!comment) return `${head}${value}\n`;
    if (!value.includes("\n")) return `${head}${value} ${comment}\n`;
    return `${" ".repeat(indent)}${comment}\n${head}${value}\n`;
  }

  private blockList(node: YAMLSeq, before: Json[], after: Json[]): string {
    const indent = this.column(node.range?.[0] ?? 0);
    const parts = this.parts(node);
    const left = new Set(parts.keys());
    const usual =
      parts.length > 1 && parts.slice(0, -1).every((each) => each.gap === parts[0]?.gap) ? (parts[0]?.gap ?? "") : "";
    const items = after.map((value, place) => {
      const index = matching(before, value, left, place);
      const part = index === undefined ? undefined : parts[index];
      if (index === undefined || !part) {
        return { text: `${" ".repeat(indent)}-${below(value, indent, true)}\n`, gap: usual };
      }
      left.delete(index);
      const gap = index === parts.length - 1 ? usual : part.gap;
      if (same(before[index], value)) return { text: this.text.slice(part.from, part.to), gap };
      return { text: this.item(node.items[index] as Node | null, part, before[index], value, indent), gap };
    });
    for (const index of left) {
      const comment = parts[index]?.gap ?? "";
      const above = items[Math.min(index, items.length) - 1];
      if (comment.includes("#") && above) above.gap += comment;
    }
    return this.assembled(items, this.isMidLine(parts[0]));
  }

  private item(item: Node | null, part: Part, before: Json | undefined, after: Json, indent: number): string {
    const slice = item ? this.slice(item) : undefined;
    const into = item ? this.into(item, before, after) : undefined;
    if (slice && into !== undefined)
      return this.text.slice(part.from, slice[0]) + into + this.text.slice(slice[1], part.to);
    const dash = this.text.indexOf("-", this.text.slice(part.from, part.to).search(/^[ ]*-/m) + part.from);
    const behind = slice ? this.text.slice(slice[1], part.to) : "";
    return this.said(this.text.slice(part.from, dash + 1), below(after, indent, true), /#.*/.exec(behind)?.[0], indent);
  }

  private assembled(kept: { text: string; gap: string }[], midLine: boolean): string {
    return kept
      .map(({ text, gap }, index) => {
        const lined = text.endsWith("\n") ? text : `${text}\n`;
        return (
          (index === 0 && midLine ? lined.trimStart() : lined) +
          (index < kept.length - 1 || gap.includes("#") ? gap : "")
        );
      })
      .join("");
  }

  /** Tells whether the first member begins behind something else on its line: `- key: build`. */
  private isMidLine(part: Part | undefined): boolean {
    return part !== undefined && this.text.slice(this.lineStart(part.from), part.from).trim() !== "";
  }

  /** What a rewritten value takes the place of. */
  private slice(node: Node): Range {
    const range = node.range ?? [0, 0, 0];
    if ((isMap(node) || isSeq(node)) && !node.flow && node.items.length > 0) return this.body(node as YAMLMap);
    return [range[0], Math.max(this.end(node), range[0])];
  }

  /** The slice of a value with only its changed parts written anew, or nothing: then it is written anew as a whole. */
  private into(node: Node, before: Json | undefined, after: Json): string | undefined {
    if (isMap(node) && isObject(before) && isObject(after) && Object.keys(after).length > 0) {
      return node.flow ? this.flowMap(node as YAMLMap, before, after) : this.blockMap(node as YAMLMap, before, after);
    }
    if (isSeq(node) && Array.isArray(before) && Array.isArray(after) && after.length > 0 && node.items.length > 0) {
      return node.flow ? this.flowList(node as YAMLSeq, before, after) : this.blockList(node as YAMLSeq, before, after);
    }
    if (isScalar(node) && typeof after === "string" && !after.includes("\n")) return this.quoted(node as Scalar, after);
    return undefined;
  }

  private quoted(node: Scalar, after: string): string | undefined {
    if (node.type === Scalar.QUOTE_DOUBLE) return inQuotes(after);
    if (node.type === Scalar.QUOTE_SINGLE && /^[^\p{C}\u2028\u2029]*$/u.test(after))
      return `'${after.replaceAll("'", "''")}'`;
    return undefined;
  }

  private flowMap(node: YAMLMap, before: Obj, after: Obj): string {
    const pairs = (node.items as Entry[])
      .filter((pair) => Object.hasOwn(after, keyOf(pair)))
      .map((pair) => ({ key: keyOf(pair), text: this.flowPair(pair, before, after) }));
    for (const key of Object.keys(after)) {
      if (Object.hasOwn(before, key)) continue;
      const at = pairs.findIndex((each) => rank(each.key) > rank(key));
      pairs.splice(at < 0 ? pairs.length : at, 0, { key, text: `${inline(key)}: ${inline(after[key] as Json)}` });
    }
    return this.braced(
      node,
      pairs.map((each) => each.text),
    );
  }

  private flowPair(pair: Entry, before: Obj, after: Obj): string {
    const key = keyOf(pair);
    const from = pair.key.range?.[0] ?? 0;
    const keyEnd = pair.key.range?.[1] ?? from;
    const value = pair.value;
    if (same(own(before, key), own(after, key)))
      return this.text.slice(from, Math.max(keyEnd, value?.range?.[1] ?? 0)).trimEnd();
    return `${this.text.slice(from, keyEnd)}: ${this.flowValue(value, own(before, key), after[key] as Json)}`;
  }

  private flowValue(node: Node | null, before: Json | undefined, after: Json): string {
    return (node ? this.into(node, before, after) : undefined) ?? inline(after);
  }

  private flowList(node: YAMLSeq, before: Json[], after: Json[]): string {
    const left = new Set(before.keys());
    const members = after.map((value, place) => {
      const index = matching(before, value, left, place);
      if (index === undefined) return inline(value);
      left.delete(index);
      const item = node.items[index] as Node | null;
      if (!same(before[index], value)) return this.flowValue(item, before[index], value);
      return item?.range ? this.text.slice(item.range[0], item.range[1]) : inline(value);
    });
    return this.braced(node, members);
  }

  private braced(node: YAMLMap | YAMLSeq, members: string[]): string {
    const [from] = node.range ?? [0];
    const [open, close] = isMap(node) ? ["{", "}"] : ["[", "]"];
    const space = this.text[from + 1] === " " ? " " : "";
    return `${open}${space}${members.join(", ")}${space}${close}`;
  }

  private lineStart(at: number): number {
    return at <= 0 ? 0 : this.text.lastIndexOf("\n", at - 1) + 1;
  }

  private lineEnd(at: number): number {
    const lineBreak = this.text.indexOf("\n", at);
    return lineBreak < 0 ? this.text.length : lineBreak + 1;
  }

  private line(at: number): string {
    return this.text.slice(at, this.lineEnd(at));
  }

  private column(at: number): number {
    return at - this.lineStart(at);
  }
}

const keyOf = (pair: Entry): string => (isScalar(pair.key) ? String(pair.key.source ?? pair.key.value ?? "") : "");

const rank = (key: string): number => {
  const place = RANK.indexOf(key);
  return place < 0 ? RANK.length : place;
};

/** The member that a value was before: by its identity, else by being the same, else by its place. */
function matching(before: readonly Json[], value: Json, left: ReadonlySet<number>, place: number): number | undefined {
  const identity = idOf(value);
  for (const index of left) {
    const member = before[index];
    if (identity === undefined ? same(member, value) : idOf(member) === identity) return index;
  }
  if (
    identity === undefined &&
    left.has(place) &&
    idOf(before[place]) === undefined &&
    isObject(value) &&
    isObject(before[place])
  ) {
    return place;
  }
  return undefined;
}

/** Values as YAML in the way of our documents: short things on one line in braces, longer ones below each other. */
import { write } from "../../ts/json";
import type { Json } from "../store/document";
import { resolvesToText } from "./reading";
import { idOf } from "./values";

const WIDTH = 110;
const SAFE = /^[\p{L}\p{N}_$./(][\p{L}\p{N}\p{Sc} _$./()+*=<>^~%'’“”…–-]*$/u;
const PRINTABLE = /^[^\p{Cc}\p{Cs}\u2028\u2029\ufeff]*$/u;

/** Writes a text in double quotes. What YAML takes for a line break, or does not allow, is escaped. */
export const inQuotes = (text: string): string =>
  write(text).replace(
    /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** On one line, as it may stand in braces too. */
export function inline(value: Json): string {
  if (typeof value === "string") return isPlain(value) ? value : inQuotes(value);
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const members = Object.entries(value).map(([key, each]) => `${inline(key)}: ${inline(each)}`);
    return `{${members.join(", ")}}`;
  }
  return write(value);
}

/** What stands behind `key:` or `-` at this indentation: ` value`, or lines of its own. Ends without a line break. */
export function below(value: Json, indent: number, afterDash = false): string {
  if (typeof value === "string" && isBlock(value)) return literal(value, indent);
  if (fits(value, indent)) return ` ${inline(value)}`;
  const pad = " ".repeat(indent + 2);
  if (Array.isArray(value)) {
    return value.map((each) => `\n${pad}-${below(each, indent + 2, true)}`).join("");
  }
  const members = Object.entries(value as { [key: string]: Json });
  const lines = members.map(([key, each]) => `${inline(key)}:${below(each, indent + 2)}`);
  return afterDash ? ` ${lines.join(`\n${pad}`)}` : lines.map((each) => `\n${pad}${each}`).join("");
}

/** The members of an object as lines at this indentation. */
export function member(key: string, value: Json, indent: number): string {
  return `${" ".repeat(indent)}${inline(key)}:${below(value, indent)}\n`;
}

/** A whole document. */
export function whole(document: { [key: string]: Json }): string {
  return Object.entries(document)
    .map(([key, value]) => member(key, value, 0))
    .join("");
}

function isPlain(text: string): boolean {
  return (
    SAFE.test(text) &&
    !text.endsWith(" ") &&
    !text.includes(" #") &&
    resolvesToText(text) &&
    text !== "---" &&
    text !== "..."
  );
}

function fits(value: Json, indent: number): boolean {
  if (value === null || typeof value !== "object") return true;
  const members = Object.values(value);
  if (members.length === 0) return true;
  if (members.some((each) => typeof each === "string" && isBlock(each))) return false;
  if (Array.isArray(value) && value.some((each) => idOf(each) !== undefined)) return false;
  return depth(value) <= 3 && inline(value).length + indent <= WIDTH && !looksLikeStation(value);
}

/** What has parts of its own with names reads best with a line for each. */
function looksLikeStation(value: object): boolean {
  return !Array.isArray(value) && ("work" in value || "rules" in value || "editor" in value || "positions" in value);
}

function depth(value: Json): number {
  if (value === null || typeof value !== "object") return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depth));
}

function isBlock(text: string): boolean {
  const lines = text.split("\n");
  return (
    lines.length > 1 &&
    lines.every((line) => PRINTABLE.test(line) && line === line.trimEnd()) &&
    !/^[ \n]/.test(text) &&
    text.trim() !== ""
  );
}

function literal(text: string, indent: number): string {
  const ends = /\n*$/.exec(text)?.[0].length ?? 0;
  const mark = ends === 0 ? "-" : ends === 1 ? "" : "+";
  const body = ends === 0 ? text : text.slice(0, -1);
  const pad = " ".repeat(indent + 2);
  return ` |${mark}${body
    .split("\n")
    .map((line) => (line ? `\n${pad}${line}` : "\n"))
    .join("")}`;
}

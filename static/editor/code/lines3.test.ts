import { describe, expect, it } from "vitest";

import { merge3 } from "./lines3";

const text = (...lines: string[]): string => lines.join("\n");
const BASE = text("one", "two", "three", "four", "five", "");

describe("two edits of one text", () => {
  it("takes the only one that was made", () => {
    const other = text("one", "2", "three", "four", "five", "");
    expect(merge3(BASE, BASE, other)).toBe(other);
    expect(merge3(BASE, other, BASE)).toBe(other);
    expect(merge3(BASE, other, other)).toBe(other);
  });

  it("keeps both where they are apart", () => {
    const edited = text("# mine", "one", "two", "three", "four", "five", "");
    const theirs = text("one", "two", "three", "four", "5", "six", "");
    expect(merge3(BASE, edited, theirs)).toBe(text("# mine", "one", "two", "three", "four", "5", "six", ""));
  });

  it("keeps a line that one took out and the other did not touch out", () => {
    const edited = text("one", "three", "four", "five", "");
    const theirs = text("one", "two", "three", "four", "5", "");
    expect(merge3(BASE, edited, theirs)).toBe(text("one", "three", "four", "5", ""));
  });

  it("keeps mine where both changed the same lines, and theirs elsewhere", () => {
    const edited = text("one", "mine", "three", "four", "five", "");
    const theirs = text("one", "theirs", "three", "four", "5", "");
    expect(merge3(BASE, edited, theirs)).toBe(text("one", "mine", "three", "four", "5", ""));
  });

  it("takes what both did alike once", () => {
    const edited = text("one", "two", "2b", "three", "four", "five", "");
    const theirs = text("one", "two", "2b", "three", "four", "5", "");
    expect(merge3(BASE, edited, theirs)).toBe(text("one", "two", "2b", "three", "four", "5", ""));
  });

  it("puts together long texts that have little in common", () => {
    const many = (name: string): string => Array.from({ length: 5_000 }, (_, at) => `${name} ${at}`).join("\n");
    const base = text("head", many("base"), "tail");
    const edited = text("head", many("mine"), "tail");
    expect(merge3(base, edited, text("head", many("base"), "tail", "end"))).toBe(text(edited, "end"));
  });

  it("puts together long texts whose lines repeat", () => {
    const line = (name: (at: number) => string): string =>
      Array.from({ length: 600 }, (_, at) => text(`  - key: s${at}`, `    name: ${name(at)}`, "    rules: []")).join(
        "\n",
      );
    const [base, mine, theirs] = [
      line(() => "x"),
      line((at) => (at % 5 ? "x" : "mine")),
      line((at) => (at % 7 === 1 ? "theirs" : "x")),
    ];
    const both = line((at) => (at % 5 === 0 ? "mine" : at % 7 === 1 ? "theirs" : "x"));
    expect(merge3(base, mine, theirs)).toBe(both);
  });
});

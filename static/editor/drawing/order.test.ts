import { expect, it } from "vitest";
import type { LineDocument, Rule } from "../store/document";
import { NOTHING } from "../store/findings";
import { graphOf } from "./graph";

const SHARE = { output: { path: "$.share" } };
const OK = { result: "success" };

/** From Look there are several ways; each leads on to Ship. */
function way(rules: readonly Rule[], taken?: Record<string, number>): readonly string[] {
  const on = (key: string) => [{ id: `${key}-on`, to: "ship", when: OK }];
  const line: LineDocument = {
    stations: [
      { key: "look", rules: [...rules] },
      { key: "long", rules: [{ id: "long-on", to: "longer", when: OK }] },
      { key: "longer", rules: on("longer") },
      { key: "short", rules: on("short") },
      { key: "repair", rules: on("repair") },
      { key: "ship", rules: [{ id: "shipped", to: "completed", when: OK }] },
    ],
    gates: [],
  };
  return graphOf(line, { ...NOTHING, taken }, [0, 0]).main.filter((key) => key !== "@start");
}

const LONG = { id: "long", to: "long", when: SHARE };
const SHORT = { id: "short", to: "short", when: SHARE };
const REPAIR = { id: "repair", to: "repair", when: { result: "failure" } };

it("goes the way that tasks took more often, where several go equally well", () => {
  const first = { id: "first", to: "repair", when: SHARE };
  expect(way([first, SHORT])).toEqual(["look", "repair", "ship", "completed"]);
  expect(way([first, SHORT], { short: 0, first: 1 })).toEqual(["look", "short", "ship", "completed"]);
  expect(way([first, SHORT], { short: 0, first: 0 })).toEqual(["look", "repair", "ship", "completed"]);
});

it("goes it even where another is longer, and over a rule that nobody could take yet", () => {
  expect(way([LONG, SHORT])).toEqual(["look", "long", "longer", "ship", "completed"]);
  expect(way([LONG, SHORT], { short: 0, long: 1 })).toEqual(["look", "short", "ship", "completed"]);
  expect(way([LONG, SHORT], { short: 0 })).toEqual(["look", "short", "ship", "completed"]);
});

it("goes by a failure only where most tasks did", () => {
  const well = { ...SHORT, when: OK };
  expect(way([REPAIR, well])).toEqual(["look", "short", "ship", "completed"]);
  expect(way([REPAIR, SHORT])).toEqual(["look", "short", "ship", "completed"]);
  expect(way([REPAIR, well], { repair: 1, short: 0 })).toEqual(["look", "short", "ship", "completed"]);
  expect(way([REPAIR, well], { repair: 0, short: 1 })).toEqual(["look", "repair", "ship", "completed"]);
});

it("goes before any task ran by the usual facts: tests ran and passed, nothing was found", () => {
  const fact = (path: string, op: string, value: number) => ({ fact: { path, op, value } });
  const none = { ...REPAIR, when: { all: [OK, fact("tests.suites", "equals", 0)] } };
  const many = { ...REPAIR, when: { all: [OK, fact("findings.high", "gt", 0)] } };
  for (const unusual of [none, many])
    expect(way([unusual, { ...SHORT, when: OK }])).toEqual(["look", "short", "ship", "completed"]);
});

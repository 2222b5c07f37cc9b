import { expect, it } from "vitest";

import { inside, pressed, put, stepsOf, UNSURE, writtenBy } from "./formWrites";

it.each([
  ["text", [" src "], "src"],
  ["text", [" "], undefined],
  ["lines", [" one\r\ntwo "], " one\ntwo "],
  ["number", [" 90 "], 90],
  ["number", ["1.5"], 1.5],
  ["number", ["5m"], "5m"],
  ["number", [""], undefined],
  ["on", ["on"], true],
  ["off", [], false],
  ["off", ["on"], undefined],
  ["words", ["success"], "success"],
  ["words", ["success", "failure"], ["success", "failure"]],
  ["list", ["a, b\n\n c "], ["a, b", "c"]],
  ["list", ['["a\\nb"]'], ["a\nb"]],
  ["list", ["[]"], undefined],
  ["commas", [" a,b , "], ["a", "b"]],
  ["types", ["flaky"], "flaky"],
  ["types", ["flaky, timeout"], ["flaky", "timeout"]],
  ["arguments", ["make  {{ input.who }}.c all"], ["make", "{{ input.who }}.c", "all"]],
  ["arguments", ["make 'all of it'"], UNSURE],
  ["arguments", ['["make", "all of it"]'], ["make", "all of it"]],
  ["pairs", ["LEVEL=debug\n\nPATH=a=b"], { LEVEL: "debug", PATH: "a=b" }],
  ["pairs", ["LEVEL"], UNSURE],
  ["json", ['{"a": [1]}'], { a: [1] }],
  ["json", ["{"], UNSURE],
  ["", ["anything"], UNSURE],
] as const)("%s writes %j as %j", (writes, values, expected) => {
  expect(writtenBy(writes, values, undefined)).toEqual(expected);
});

it("keeps ticks in the order in which they stood", () => {
  expect(writtenBy("ticks", ["a", "b", "c"], ["c", "gone", "a"])).toEqual(["c", "a", "b"]);
  expect(writtenBy("ticks", [], ["a"])).toBeUndefined();
});

it("puts a value where its field says, and takes what it leaves empty away", () => {
  const steps = stepsOf("inputs[1].limits.most");
  const made = put({ inputs: [{}, { key: "b" }] }, steps, 3);
  expect(made).toEqual({ inputs: [{}, { key: "b", limits: { most: 3 } }] });
  expect(inside(made, steps)).toBe(3);
  expect(put(made, steps, undefined)).toEqual({ inputs: [{}, { key: "b" }] });
});

it("moves, takes out and adds rows", () => {
  const after = (what: string, index = 0) =>
    pressed(["a", "b", "c"], { do: what, rows: "rows", index, kind: "" }, "new");
  expect(after("add")).toEqual(["a", "b", "c", "new"]);
  expect(after("remove", 1)).toEqual(["a", "c"]);
  expect([after("up", 2), after("up", 0)]).toEqual([
    ["a", "c", "b"],
    ["a", "b", "c"],
  ]);
  expect([after("down", 0), after("down", 2)]).toEqual([
    ["b", "a", "c"],
    ["a", "b", "c"],
  ]);
  expect(pressed(undefined, { do: "add", rows: "rows", index: 0, kind: "" }, { key: "x" })).toEqual([{ key: "x" }]);
});

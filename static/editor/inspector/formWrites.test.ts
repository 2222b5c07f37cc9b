import { expect, it } from "vitest";

import { inside, pressed, put, stepsOf, UNSURE, written } from "./formWrites";

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
  [
    "arguments",
    ["make 'all of it' \"a \\\"b\\\" {{ input.who }}\"c d\\ e ''"],
    ["make", "all of it", 'a "b" {{ input.who }}c', "d e", ""],
  ],
  [
    "arguments",
    ["{{ input.who | default: 'x y' }} '{{ a 'b' }}'"],
    ["{{ input.who | default: 'x y' }}", "{{ a 'b' }}"],
  ],
  ["arguments", ["make 'all"], UNSURE],
  ["arguments", ["make all\\"], UNSURE],
  ["arguments", ['["make", "all of it"]'], ["make", "all of it"]],
  ["pairs", ["LEVEL=debug\n\nPATH=a=b"], { LEVEL: "debug", PATH: "a=b" }],
  ["pairs", ["LEVEL"], UNSURE],
  ["json", ['{"a": [1]}'], { a: [1] }],
  ["json", ["{"], UNSURE],
  ["commas_or_none", ["[]"], []],
  ["commas_or_none", ["a"], ["a"]],
  ["meant", [" high "], "high"],
  ["meant", ["3"], 3],
  ["meant", [" "], undefined],
  ["meant_lines", ["one\r\n two"], "one\n two"],
  ["values", ["1, two,"], [1, "two"]],
  ["values", ['["a,b"]'], ["a,b"]],
  ["verbatim", [" 3 "], " 3 "],
] as const)("%s writes %j as %j", (writes, values, expected) => {
  expect(written({}, { writes, at: "x" }, values)).toEqual(
    expected === UNSURE ? UNSURE : expected === undefined ? {} : { x: expected },
  );
});

it("keeps ticks in the order in which they stood", () => {
  const field = { writes: "ticks", at: "x" };
  expect(written({ x: ["c", "gone", "a"] }, field, ["a", "b", "c"])).toEqual({ x: ["c", "a", "b"] });
  expect(written({ x: ["a"] }, field, [])).toEqual({});
});

it("leaves ticks out that are usual", () => {
  const field = { writes: "ticks", at: "x", given: ["b", "a"] };
  expect(written({ x: ["a"] }, field, ["a", "b"])).toEqual({});
  expect(written({}, field, ["a"])).toEqual({ x: ["a"] });
});

it("writes an option as the server says it, where that is not the option itself", () => {
  const given = { not: { at: "when.all[1]", value: { not: {} } }, none: { at: "when" } };
  const field = { writes: "choice", at: "when", given };
  const when = { all: [1, 2] };
  expect(written({ when }, field, ["not"])).toEqual({ when: { all: [1, { not: {} }] } });
  expect(written({ when }, field, ["none"])).toEqual({});
  expect(written({ when }, field, ["else"])).toEqual({ when: "else" });
});

it("writes what has no field of its own over what has", () => {
  const field = { writes: "rest", at: "", given: { extra: { a: 1 }, work: { own: 2 } } };
  const before = { key: "build", extra: { a: 1 }, work: { kind: "noop", own: 2 } };
  expect(written(before, field, ['{"extra": {"b": [1]}}'])).toEqual({
    key: "build",
    extra: { b: [1] },
    work: { kind: "noop" },
  });
  expect(written(before, field, [" "])).toEqual({ key: "build", work: { kind: "noop" } });
  expect(written(before, field, ["[]"])).toBe(UNSURE);
});

it("takes away and adds what a field carries along", () => {
  const whole = { writes: "number", at: "due.after", whole: "due" };
  expect(written({ due: { after: 1, after_that: "escalate" } }, whole, [""])).toEqual({});
  const also = { writes: "text", at: "told", also: { after_that: "escalate" } };
  expect([written({}, also, ["Owner"]), written({ told: "x" }, also, [""])]).toEqual([
    { after_that: "escalate", told: "Owner" },
    {},
  ]);
  expect(written({ x: "a" }, { writes: "text", at: "x", needed: true }, [""])).toEqual({ x: "" });
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

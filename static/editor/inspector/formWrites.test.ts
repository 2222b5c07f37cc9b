import { expect, it } from "vitest";

import { inside, pressed, put, stepsOf, written } from "./formWrites";
import { UNSURE } from "./reading";

// What is typed is read as on the server: tests/design/test_reading_twice.py.

it("keeps ticks in the order in which they stood", () => {
  const field = { at: "x", ticks: [] };
  expect(written({ x: ["c", "gone", "a"] }, field, ["a", "b", "c"])).toEqual({ x: ["c", "a", "b"] });
  expect(written({ x: ["a"] }, field, [])).toEqual({});
});

it("leaves ticks out that are usual", () => {
  const field = { at: "x", ticks: ["b", "a"] };
  expect(written({ x: ["a"] }, field, ["a", "b"])).toEqual({});
  expect(written({}, field, ["a"])).toEqual({ x: ["a"] });
});

it("writes an option as the server says it, where that is not the option itself", () => {
  const options = { not: { at: "when.all[1]", value: { not: {} } }, none: { at: "when" } };
  const field = { at: "when", text: {}, options };
  const when = { all: [1, 2] };
  expect(written({ when }, field, ["not"])).toEqual({ when: { all: [1, { not: {} }] } });
  expect(written({ when }, field, ["none"])).toEqual({});
  expect(written({ when }, field, ["else"])).toEqual({ when: "else" });
});

it("writes what has no field of its own over what has", () => {
  const field = { at: "", rest: { extra: { a: 1 }, work: { own: 2 } } };
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
  const change = { at: "due.after", text: {}, whole: "due" };
  expect(written({ due: { after: 1, after_that: "escalate" } }, change, [""])).toEqual({});
  const also = { at: "told", text: {}, also: { after_that: "escalate" } };
  expect([written({}, also, ["Owner"]), written({ told: "x" }, also, [""])]).toEqual([
    { after_that: "escalate", told: "Owner" },
    {},
  ]);
  expect(written({ x: "a" }, { at: "x", text: { blank: "" } }, [""])).toEqual({ x: "" });
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

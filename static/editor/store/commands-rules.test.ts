import { expect, it } from "vitest";
import { addStation, connect } from "./commands";
import { connectTo } from "./commands-connect";
import { addRule } from "./commands-rules";
import { type LineDocument, type Rule, rulesOf } from "./document";
import { takeKinds } from "./kinds";

const added = (...rules: Rule[]): Rule[] => {
  const line: LineDocument = { stations: [{ key: "tests", rules }, { key: "deliver" }] };
  const [tests] = addRule(line, "tests").apply(line).stations;
  return tests ? rulesOf(tests) : [];
};
const made = { id: "tests-rule", when: { result: "success" }, to: "deliver" };

it("adds a rule as the last of its station", () => {
  const failed: Rule = { id: "failed", when: { result: "failure" }, to: "failed" };
  expect(added(failed)).toEqual([failed, made]);
});

it("adds a rule above one that takes everything, with the gates of that one", () => {
  const all: Rule = { id: "all", gates: ["person"], to: "deliver" };
  expect(added(all)).toEqual([{ ...made, gates: ["person"] }, all]);
  const away: Rule = { id: "away", gates: ["person"], to: "elsewhere" };
  expect(added(away)).toEqual([{ ...made, gates: ["person"] }, away]);
});

it("adds a rule that opens no way past a gate of another to the same station", () => {
  const some: Rule = { id: "some", when: { "output.ok": true }, gates: ["person"], to: ["deliver", "scan"] };
  const more: Rule = { id: "more", when: { "output.ok": false }, gates: ["checks", "person"], to: "deliver" };
  expect(added(some, more)).toEqual([some, more, { ...made, gates: ["person", "checks"] }]);
});

it("draws the first rule of what runs a program for what succeeded, the next for whatever is left", () => {
  const kind = { name: "", about: "", fresh: {}, stations: [], gates: [] };
  takeKinds([
    { ...kind, key: "command", alone: true },
    { ...kind, key: "noop", alone: true },
    { ...kind, key: "manual", alone: false },
  ]);
  const line: LineDocument = {
    stations: ["command", "noop", "manual"].map((key) => ({ key, work: { kind: key } })),
  };
  const whens = (made: LineDocument, at: number): unknown[] =>
    rulesOf(made.stations[at] ?? { key: "" }).map(({ when }) => when);
  const once = connect("command", "manual").apply(line);
  expect(whens(once, 0)).toEqual([{ result: "success" }]);
  expect(whens(connectTo("", "command", ["failed"]).apply(once), 0)).toEqual([{ result: "success" }, undefined]);
  expect(whens(connect("noop", "manual").apply(line), 1)).toEqual([undefined]);
  expect(whens(connectTo("", "manual", ["noop"]).apply(line), 2)).toEqual([undefined]);
  expect(whens(addStation("noop", "More", undefined, "command").apply(line), 0)).toEqual([{ result: "success" }]);
  takeKinds([]);
});

import { expect, it } from "vitest";
import { causesOf } from "./causes";
import type { LineDocument } from "./document";
import type { Finding } from "./findings";

const line: LineDocument = {
  stations: [
    {
      key: "lint",
      rules: [
        { id: "all", to: "tests" },
        { id: "high", to: "fix" },
      ],
    },
    { key: "tests", rules: [{ id: "passed", to: ["a", "b"] }] },
    { key: "fix", rules: [{ id: "fixed", to: "again" }] },
    { key: "again", rules: [] },
    { key: "lost", rules: [] },
  ],
};

const finding = (check: string, station: string | null, rule: string | null = null, message = ""): Finding => ({
  check,
  station,
  rule,
  message: message || `${check} ${station} ${rule}`,
  cause: check,
  short: message,
  why: "",
  severity: "warning",
  path: "",
  hint: "",
  gate: null,
  rules: [],
  witness: "",
  help: "",
  remedies: [],
});

it("puts what follows from a dead rule under it, however far on", () => {
  const dead = finding("dead-rule", "lint", "high");
  const follow = [
    finding("unreachable-station", "fix"),
    finding("unreachable-station", "again"),
    finding("no-way-to-an-end", "again"),
  ];
  expect(causesOf([follow[0] as Finding, dead, ...follow.slice(1)], line)).toEqual([{ first: dead, others: follow }]);
});

it("says once what is said of one place several times, and keeps apart what is not one cause", () => {
  const pairs = ["a ∥ b", "a ∥ c"].map((words) => finding("forbidden-parallel", "tests", "passed", words));
  const [lost, gap, other] = [
    finding("unreachable-station", "lost"),
    finding("no-rule-takes", "tests"),
    finding("unused-gate-key", null),
  ];
  expect(causesOf([...pairs, lost, gap, other], line)).toEqual([
    { first: pairs[0], others: [pairs[1]] },
    { first: lost, others: [] },
    { first: gap, others: [] },
    { first: other, others: [] },
  ]);
});

it("is quick where stations that nothing reaches all lead to one another", () => {
  const keys = Array.from({ length: 24 }, (_, index) => `s${index}`);
  const tangled: LineDocument = {
    stations: keys.map((key) => ({ key, rules: [{ id: `of-${key}`, to: keys.filter((each) => each !== key) }] })),
  };
  const lost = keys.map((key) => finding("unreachable-station", key));
  expect(causesOf(lost, tangled)).toEqual(lost.map((first) => ({ first, others: [] })));
});

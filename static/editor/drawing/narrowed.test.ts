import ELK from "elkjs/lib/elk.bundled.js";
import { expect, it } from "vitest";
import type { LineDocument, Rule } from "../store/document";
import { NOTHING } from "../store/findings";
import { best } from "./best";
import { answered, asked, type Engine } from "./elk";
import { generated, said } from "./generated";
import { bent, crossings, faults } from "./geometry";
import { graphOf } from "./graph";
import { narrowed } from "./narrowed";
import { shownOf } from "./quiet";
import { frameOf } from "./shapes";
import type { Placed } from "./types";

const elk = new ELK() as unknown as Engine;
const OK = { result: "success" };
const rule = (id: string, label: string, to: string | string[], more: Partial<Rule> = {}): Rule => ({
  id,
  label,
  to,
  when: { result: "failure" },
  ...more,
});

/** A plan, a gate, two checks side by side, a join that does nothing else, a gate, and ways back from everywhere. */
const FORKED: LineDocument = {
  stations: [
    { key: "plan", name: "Plan", rules: [rule("ready", "Ready", "implement", { when: OK, gates: ["plan-approval"] })] },
    {
      key: "implement",
      name: "Implement",
      rules: [rule("done", "Success", ["security", "tests"], { when: OK }), rule("blocked", "Blocked", "triage")],
    },
    { key: "security", name: "Security", rules: [rule("secure", "Success", "join", { when: OK })] },
    {
      key: "tests",
      name: "Tests",
      rules: [
        rule("passed", "Success", "join", { when: OK }),
        rule("failed", "Failure", "implement"),
        rule("low", "Coverage below 80", "implement"),
      ],
    },
    {
      key: "join",
      name: "Join",
      work: { kind: "noop" },
      join: { wait_for: ["tests", "security"], aggregation: "all-pass" },
      rules: [
        rule("both", "Both pass", "merge", { when: OK, gates: ["code-review"] }),
        rule("back", "Sent back", "implement"),
      ],
    },
    { key: "triage", name: "Triage", rules: [rule("stop", "Give up", "dropped"), rule("go", "Answered", "implement")] },
    { key: "merge", name: "Merge", rules: [rule("merged", "Merged", "done", { when: OK })] },
  ],
  gates: [
    { key: "plan-approval", name: "Plan approval" },
    { key: "code-review", name: "Code review" },
  ],
  ends: [
    { key: "done", kind: "completed", label: "Merged" },
    { key: "dropped", kind: "cancelled", label: "Dropped" },
  ],
};
const LIMITED = {
  ...NOTHING,
  rules: { low: { status: "dead" as const, words: "", faulty: false, why: "", example: "" } },
  signs: { ...NOTHING.signs, rules: { failed: { most: 3, words: [] }, back: { most: 3, words: [] } } },
};
const WINDOW = [825, 470] as const;

const zoomOf = (placed: Placed): number => {
  const { width, height } = frameOf(shownOf(graphOf(FORKED, LIMITED, WINDOW), placed), placed);
  return Math.min(WINDOW[0] / width, WINDOW[1] / height);
};

it("draws a fork with its join, gates and ways back in one row that can be read", async () => {
  const graph = graphOf(FORKED, LIMITED, WINDOW);
  const placed = await best(graph, elk);
  expect(placed.rows).toEqual([]);
  expect(zoomOf(placed)).toBeGreaterThanOrEqual(0.78);
  const visible = shownOf(graph, placed);
  expect([...faults(visible, placed), ...bent(visible, placed)]).toEqual([]);
  const at = (key: string): number => placed.parts.find((each) => each.key === key)?.x ?? Number.NaN;
  expect(at("security")).toBe(at("tests"));
  expect(graph.parts.filter((part) => part.bar > 0).map((part) => part.key)).toEqual(["join"]);
});

it("leads ways back to one station in as one, but not what never matches", async () => {
  const placed = await best(graphOf(FORKED, LIMITED, WINDOW), elk);
  const ends = (rules: readonly string[]): Set<string> =>
    new Set(placed.ways.filter((way) => rules.includes(way.rule)).map((way) => String(way.points.at(-1))));
  expect(ends(["failed", "back", "go"]).size).toBe(1);
  expect(ends(["failed", "low"]).size).toBe(2);
});

it("makes a drawing narrower, with no more crossings and each rule where it was", async () => {
  for (const seed of [3, 8, 14, 21, 33]) {
    const line = generated(seed);
    const graph = graphOf(line, said(line, seed), [0, 0]);
    const wide = answered(graph, await elk.layout(asked(graph)));
    const narrow = narrowed(graph, wide);
    expect(frameOf(graph, narrow).width).toBeLessThanOrEqual(frameOf(graph, wide).width);
    expect(crossings(narrow.ways)).toBeLessThanOrEqual(crossings(wide.ways));
    expect(narrow.parts.map(({ key, y }) => [key, y])).toEqual(wide.parts.map(({ key, y }) => [key, y]));
    expect(faults(graph, narrow)).toEqual(faults(graph, wide));
  }
});

import { readFileSync } from "node:fs";
import ELK from "elkjs/lib/elk.bundled.js";
import { expect, it } from "vitest";
import { parse } from "yaml";
import type { LineDocument, Rule } from "../store/document";
import { NOTHING } from "../store/findings";
import { best } from "./best";
import type { Engine } from "./elk";
import { crossings, faults } from "./geometry";
import { graphOf, onwardId, pillKey } from "./graph";
import { shownOf } from "./rows";
import type { Graph } from "./types";
import { CARD } from "./zones";

const elk = new ELK() as unknown as Engine;
const FAILURE = { result: "failure" };
const OK = { result: "success" };

const ALP = parse(readFileSync("pipelines/lines/demo/lines/alp-code-review.yaml", "utf8")) as LineDocument;
const ALP_ONWARD = { intake: "architecture", architecture: "security", deliver: "completed" };

const outletsOf = (graph: Graph, key: string) => graph.parts.find((part) => part.key === key)?.outlets ?? [];

it("draws what the policy leads on in one row with what goes well before and after it", async () => {
  const graph = graphOf(ALP, { ...NOTHING, onward: ALP_ONWARD }, [0, 0]);
  expect(graph.main).toEqual(["@start", "intake", "architecture", "security", "synthesis", "deliver"]);
  const placed = await best(graph, elk);
  expect(faults(shownOf(graph, placed), placed)).toEqual([]);
  const way = (rule: string) => placed.ways.find((each) => each.rule === rule)?.points ?? [];
  const level = way(onwardId("architecture"))[0]?.[1];
  expect(way(onwardId("architecture")).map(([, y]) => y)).toEqual([level, level]);
  expect(way(onwardId("intake")).map(([, y]) => y)).toEqual([level, level]);
  // The failure leaves elsewhere and goes round what it skips.
  const skip = way("architecture-skip");
  expect(skip[0]?.[1]).not.toBe(level);
  const security = placed.parts.find((each) => each.key === "security");
  const height = graph.parts.find((each) => each.key === "security")?.height ?? 0;
  const isNear = ([, y]: readonly [number, number]): boolean =>
    security !== undefined && (y < security.y || y > security.y + height);
  expect(skip.slice(1, -2).some(isNear)).toBe(true);
  expect(crossings(placed.ways)).toBe(0);
});

it("leaves in a place of its own, on the main way above the rules", () => {
  const graph = graphOf(ALP, { ...NOTHING, onward: ALP_ONWARD }, [0, 0]);
  const [skip, onward] = outletsOf(graph, "architecture");
  expect([skip?.id, onward?.id]).toEqual(["architecture-skip", onwardId("architecture")]);
  expect(onward?.port).toBe(CARD.port);
  expect(skip?.port).toBe(CARD.port + CARD.step);
  const without = graphOf(ALP, NOTHING, [0, 0]);
  expect(outletsOf(without, "architecture").map((each) => each.id)).toEqual(["architecture-skip"]);
  expect(without.main).not.toContain("security");
});

/** Look leads to Repair by its rules, and the policy on to Ship. */
function mainOf(rules: readonly Rule[], taken?: Record<string, number>): readonly string[] {
  const line: LineDocument = {
    stations: [
      { key: "look", rules: [...rules] },
      { key: "ship", rules: [{ id: "shipped", to: "completed", when: OK }] },
      { key: "repair", rules: [{ id: "repaired", to: "completed", when: OK }] },
    ],
    gates: [],
  };
  return graphOf(line, { ...NOTHING, onward: { look: "ship" }, taken }, [0, 0]).main;
}

it("is the main way past a failure, and not past a live rule that takes a success", () => {
  expect(mainOf([{ id: "bad", to: "repair", when: FAILURE }])).toContain("ship");
  expect(mainOf([{ id: "good", to: "repair", when: OK }])).toContain("repair");
  expect(mainOf([{ id: "any", to: "repair", when: { output: { path: "$.a" } } }])).toContain("repair");
});

it("ends the main way where the policy completes the task, and not by a failure from there", () => {
  const line: LineDocument = {
    stations: [
      { key: "look", rules: [{ id: "good", to: "ship", when: OK }] },
      { key: "ship", rules: [{ id: "lost", to: "failed", when: FAILURE }] },
    ],
  };
  const graph = graphOf(line, { ...NOTHING, onward: { ship: "completed" } }, [0, 0]);
  expect(graph.main).toEqual(["@start", "look", "ship", pillKey(onwardId("ship"), "completed")]);
  const ship = graph.parts.find((part) => part.key === "ship");
  expect(ship?.port).toBe(ship?.outlets.at(-1)?.port);
  expect(graphOf(line, NOTHING, [0, 0]).main).toContain("failed");
});

it("names an end that is not drawn, and says the only rule that stands before it", () => {
  const line: LineDocument = { stations: [{ key: "look", rules: [{ id: "bad", to: "failed", when: FAILURE }] }] };
  const words = { status: "live" as const, words: "Failed", faulty: false, why: "", example: "" };
  const labels = { ...NOTHING, rules: { bad: words } };
  const [bad, onward] = outletsOf(graphOf(line, { ...labels, onward: { look: "completed" } }, [0, 0]), "look");
  expect(onward?.targets).toEqual([pillKey(onwardId("look"), "completed")]);
  expect(bad?.label).toBe("Failed");
  expect(outletsOf(graphOf(line, labels, [0, 0]), "look")[0]?.label).toBe("");
});

import ELK from "elkjs/lib/elk.bundled.js";
import { expect, it } from "vitest";
import type { LineDocument, Rule, Station } from "../store/document";
import { NOTHING } from "../store/findings";
import { best } from "./best";
import type { Engine } from "./elk";
import { faults, misled } from "./geometry";
import { graphOf, pillKey } from "./graph";
import { shownOf } from "./rows";

const elk = new ELK() as unknown as Engine;
const WINDOW = [1080, 480] as const;

function station(key: string, name: string, ...rules: Omit<Rule, "id">[]): Station {
  return { key, name, rules: rules.map((rule, index) => ({ id: `${key}-${index}`, label: "Passed", ...rule })) };
}
const on = (result: "success" | "failure", to: string, ...gates: string[]): Omit<Rule, "id"> => ({
  when: { result },
  to,
  ...(gates.length > 0 ? { gates } : {}),
});
const gates = [{ key: "look", name: "A look" }];

it("puts what nothing leads to below the main way, so that it crosses nothing", async () => {
  const line: LineDocument = {
    stations: [
      station("a", "Build", on("success", "b"), on("failure", "failed")),
      station("b", "Ship", on("success", "completed"), on("failure", "failed")),
      station("lost", "Lost", on("success", "b"), on("failure", "failed")),
    ],
    gates,
  };
  const graph = graphOf(line, NOTHING, WINDOW);
  const placed = await best(graph, elk);
  const top = (key: string): number => placed.parts.find((part) => part.key === key)?.y ?? Number.NaN;
  expect(top("lost")).toBeGreaterThan(top("a"));
  expect(misled(graph, placed)).toEqual([]);
});

const OTHER = /layering\.strategy|crossingMinimization\.strategy|NodeInfluence/;
/** Gives up, as ELK does on some graphs, where it is told to search otherwise. */
const givesUp: Engine = {
  layout: (graph) =>
    Object.keys(graph.layoutOptions ?? {}).some((key) => OTHER.test(key))
      ? Promise.reject(new Error("Invalid hitboxes"))
      : elk.layout(graph),
};

it("names in a pill where an edge leads that would cross the main way, and nothing else", async () => {
  const line: LineDocument = {
    stations: [
      station(
        "s0",
        "Security review",
        on("success", "s4"),
        on("failure", "s4"),
        on("failure", "failed", "look"),
        on("failure", "@blocked"),
      ),
      station("s1", "Lint", on("failure", "s3"), on("success", "@blocked")),
      station("s2", "Lint", on("failure", "s3"), on("success", "s0"), on("success", "s3"), on("failure", "completed")),
      station(
        "s3",
        "Implement what was planned",
        on("success", "failed"),
        on("success", "s1"),
        on("success", "s2"),
        on("failure", "failed", "look"),
      ),
      station(
        "s4",
        "Implement what was planned",
        on("success", "s4"),
        on("success", "s0"),
        on("success", "s2"),
        on("failure", "@origin"),
      ),
    ],
    gates,
  };
  const graph = graphOf(line, NOTHING, WINDOW);
  const uncrossed = await best(graph, elk);
  expect([uncrossed.stubs, misled(graph, uncrossed)]).toEqual([undefined, []]);
  const placed = await best(graph, givesUp);
  expect(placed.stubs).toEqual(["s0-2>failed"]);
  const visible = shownOf(graph, placed);
  expect(visible.parts.length).toBe(graph.parts.length + 1);
  expect(placed.parts.map(({ key }) => key)).toContain(pillKey("s0-2", "failed"));
  expect(misled(visible, placed)).toEqual([]);
  expect(faults(visible, placed)).toEqual([]);
});

import { readFileSync } from "node:fs";
import ELK from "elkjs/lib/elk.bundled.js";
import { expect, it } from "vitest";
import { parse } from "yaml";
import type { LineDocument } from "../store/document";
import { NOTHING } from "../store/findings";
import { best } from "./best";
import type { Engine } from "./elk";
import { crossings } from "./geometry";
import { graphOf } from "./graph";
import { rowsFor, shownOf } from "./rows";

const elk = new ELK() as unknown as Engine;
const on = (key: string, ...to: string[]) => ({
  key,
  name: key,
  rules: to.map((each, index) => ({
    id: `${key}-${index}`,
    label: index === 0 ? "All went well here" : "Given up",
    to: each,
    when: { result: index === 0 ? "success" : "failure" },
  })),
});
const row: LineDocument = {
  stations: [on("a", "b", "dropped"), on("b", "c"), on("c", "d"), on("d", "e"), on("e", "done")],
  ends: [
    { key: "done", kind: "completed", label: "Done" },
    { key: "dropped", kind: "cancelled", label: "Dropped" },
  ],
};

it("puts an end into the row of what leads there, and the end of the main way into the last", () => {
  const { rowOf } = rowsFor(graphOf(row, NOTHING, [400, 800]), 3);
  expect(rowOf.get("dropped")).toBe(rowOf.get("a"));
  expect(rowOf.get("done")).toBe(2);
});

it("says nothing on the main way, and in one line what leaves it", async () => {
  for (const width of [720, 2000]) {
    const placed = await best(graphOf(row, NOTHING, [width, 500]), elk);
    expect(placed.rows).toEqual([]);
    expect(placed.ways.filter((way) => way.wordsAt).map((way) => way.rule)).toEqual(["a-1"]);
  }
});

it("goes on in another row by the main way alone, and names in pills what else leads there", async () => {
  const graph = graphOf(row, NOTHING, [400, 800]);
  const placed = await best(graph, elk);
  expect(placed.rows.length).toBeGreaterThan(1);
  const { parts } = shownOf(graph, placed);
  const rowOf = new Map(placed.rows.flatMap((keys, at) => keys.map((key) => [key, at] as const)));
  const others = parts.flatMap(({ key, outlets }) =>
    outlets
      .filter(({ id }) => !graph.mainRules.includes(id))
      .flatMap(({ targets }) => targets.filter((to) => rowOf.has(to) && rowOf.get(to) !== rowOf.get(key))),
  );
  expect(others).toEqual([]);
});

it("looks for few crossings in rows, too", async () => {
  const text = readFileSync("pipelines/lines/starters/lines/request-to-merged-change.yaml", "utf8");
  const placed = await best(graphOf(parse(text) as LineDocument, NOTHING, [560, 520]), elk);
  expect(placed.rows.length).toBe(2);
  expect(crossings(placed.ways)).toBeLessThanOrEqual(3);
});

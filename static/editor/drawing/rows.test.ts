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
import { quietOf, shownOf } from "./quiet";
import { rowsFor } from "./rows";

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

it("leaves the words of the main way out where one row is read so, and keeps all others", async () => {
  const graph = graphOf(row, NOTHING, [720, 500]);
  const placed = await best(graph, elk);
  expect(placed.quiet).toBe(true);
  expect(placed.rows).toEqual([]);
  const labelled = shownOf(graph, placed).parts.flatMap(({ outlets }) => outlets.filter((each) => each.lines > 0));
  expect(labelled.map((each) => each.id)).toEqual(["a-1"]);
  expect((await best(graphOf(row, NOTHING, [2000, 500]), elk)).quiet).toBeUndefined();
  expect(quietOf(graph).mainRules).toEqual(graph.mainRules);
});

it("looks for few crossings in rows, too", async () => {
  const text = readFileSync("pipelines/lines/starters/lines/request-to-merged-change.yaml", "utf8");
  const placed = await best(graphOf(parse(text) as LineDocument, NOTHING, [560, 520]), elk);
  expect(placed.rows.length).toBe(3);
  expect(crossings(placed.ways)).toBeLessThanOrEqual(3);
});

import { expect, it } from "vitest";
import type { LineDocument } from "../store/document";
import { NOTHING } from "../store/findings";
import { WINDOWS } from "./frames";
import { graphOf } from "./graph";
import { moved } from "./moved";

const line: LineDocument = {
  stations: [
    { key: "tests", rules: [{ id: "on", to: "deliver" }] },
    { key: "deliver", rules: [{ id: "done", to: "completed" }] },
  ],
};
const gated: LineDocument = {
  stations: [{ key: "tests", rules: [{ id: "on", to: "deliver", gates: ["person"] }] }, ...line.stations.slice(1)],
  gates: [{ key: "person", name: "Person" }],
};

it("gives a gate that is new on an edge a place on it while the layout of that is under way", () => {
  const graph = graphOf(line, NOTHING, WINDOWS.wide);
  const placed = moved(graph, { parts: [], gates: [], ways: [], rows: [] }, new Map());
  expect(moved(graph, placed, new Map())).toBe(placed);
  const now = moved(graphOf(gated, NOTHING, WINDOWS.wide), placed, new Map());
  expect(now.parts).toEqual(placed.parts);
  expect(now.gates.map(({ key }) => key)).toEqual(["on"]);
  const [gate] = now.gates;
  const points = now.ways.find(({ rule }) => rule === "on")?.points ?? [];
  expect(points[0]?.[1]).toBe(gate?.y);
  expect(now.ways.find(({ rule }) => rule === "done")).toBe(placed.ways.find(({ rule }) => rule === "done"));
});

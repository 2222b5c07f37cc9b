import { describe, expect, it } from "vitest";

import type { LineDocument } from "../store/document";
import { NOTHING } from "../store/findings";
import { edgesOf } from "./flow";
import { type Direction, type Map as Drawn, next, step } from "./walking";

const MAP: Drawn = {
  nodes: ["start", "build", "check", "done", "failed"].map((id) => ({ id })),
  edges: [
    { id: "s", source: "start", target: "build" },
    { id: "broken", source: "build", target: "failed" },
    { id: "built", source: "build", target: "check" },
    { id: "again", source: "check", target: "build" },
    { id: "shipped", source: "check", target: "done" },
  ],
};
const from = (id: string, to: Direction, came?: string): string | undefined =>
  next(MAP, { kind: "node", id }, to, came)?.id;
const over = (id: string, to: Direction): string | undefined => next(MAP, { kind: "edge", id }, to)?.id;

describe("the arrow keys", () => {
  it("go on along the line: what ends a task comes after what goes on", () => {
    expect(["start", "build", "check"].map((id) => from(id, "Right"))).toEqual(["build", "check", "build"]);
  });

  it("go back the way that one came", () => {
    expect(from("build", "Left", "check")).toBe("check");
    expect(from("build", "Left", "start")).toBe("start");
    expect(from("build", "Left")).toBe("start");
  });

  it("go to the neighbour where no edge leads", () => {
    expect(from("done", "Right")).toBe("failed");
    expect(from("start", "Left")).toBeUndefined();
  });

  it("step through the rules of a station, so that every edge is reached", () => {
    expect([from("build", "Down"), over("broken", "Down"), over("built", "Down")]).toEqual([
      "broken",
      "built",
      undefined,
    ]);
    expect([from("build", "Up"), over("built", "Up"), over("broken", "Up")]).toEqual(["built", "broken", "build"]);
    expect([over("built", "Right"), over("built", "Left")]).toEqual(["check", "build"]);
  });
});

it("reaches everything in the order of the line", () => {
  expect([step(MAP, undefined, 1), step(MAP, undefined, -1), step(MAP, "build", 1)].map((spot) => spot?.id)).toEqual([
    "start",
    "failed",
    "check",
  ]);
  expect(step(MAP, "failed", 1)).toBeUndefined();
});

describe("the edges that are walked", () => {
  it("are those of the rules in their order, then where the policy leads", () => {
    const line: LineDocument = {
      stations: [{ key: "build", rules: [{ id: "bad", to: "ship" }] }, { key: "check" }, { key: "ship" }],
    };
    const edges = edgesOf(line, { ...NOTHING, onward: { build: "check", check: "ship", ship: "completed" } });
    const of = (key: string): string[] => edges.filter(({ source }) => source === key).map(({ id }) => id);
    expect(of("build")).toEqual(["bad>ship", "build@onward>check"]);
    expect([of("check"), of("ship")]).toEqual([["check@onward>ship"], []]);
  });

  it("steps to where a gate leads what it rejects, after the rule that it stands on", () => {
    const line: LineDocument = {
      stations: [
        {
          key: "plan",
          rules: [
            { id: "ready", to: "build", gates: ["look"] },
            { id: "bad", to: "failed" },
          ],
        },
        { key: "build" },
        { key: "triage" },
      ],
      gates: [{ key: "look", name: "A look" }],
      ends: [{ key: "failed", kind: "failed", label: "Failed" }],
    };
    const edges = edgesOf(line, { ...NOTHING, rejected: { look: "triage" } });
    expect(edges.map(({ id }) => id)).toEqual(["@start>plan", "ready>build", "ready@rejected>triage", "bad>failed"]);
  });
});

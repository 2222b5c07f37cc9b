import { describe, expect, it } from "vitest";

import { found, isRead } from "./found";

const files = (...paths: string[]): { path: string; file: number }[] => paths.map((path, file) => ({ path, file }));
const names = (...paths: string[]): unknown =>
  found(files(...paths)).map(({ name, files }) => [name, files.map(({ path }) => path)]);

describe("documents among files", () => {
  it("takes each file for one", () => {
    expect(names("b/chain.json", "a.yaml", "b/picture.png", "b/readme.md")).toEqual([
      ["a.yaml", ["a.yaml"]],
      ["b/chain.json", ["chain.json"]],
    ]);
  });

  it("takes the folder of an assembly line for one, with everything in it", () => {
    const line = [
      "x/.agentics/assembly-line.json",
      "x/.agentics/stations/01-a/prompt.md",
      "x/.agentics/stations/01-a/station.json",
    ];
    expect(names(...line, "x/other.json")).toEqual([
      ["x/.agentics", ["assembly-line.json", "stations/01-a/prompt.md", "stations/01-a/station.json"]],
      ["x/other.json", ["other.json"]],
    ]);
  });

  it("finds the folder by its stations where it has no head", () => {
    expect(names("l/stations/01-a/station.json", "l/transitions.json")).toEqual([
      ["l", ["stations/01-a/station.json", "transitions.json"]],
    ]);
    expect(names("stations/01-a/station.json", "gates.json")).toEqual([
      ["", ["gates.json", "stations/01-a/station.json"]],
    ]);
  });

  it("leaves out what no document is", () => {
    expect(["a/.git/x.json", "node_modules/a.json", "a.exe", "a.JSON"].map(isRead)).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });
});

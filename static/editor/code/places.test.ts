import { describe, expect, it } from "vitest";

import type { Finding } from "../store/findings";
import { join, nearest, type Places } from "./paths";
import { chosenPlace, findingsIn, pathOf, selectionAt } from "./places";

const LINE = {
  stations: [
    {
      key: "build",
      rules: [
        { id: "built", to: "done" },
        { id: "broken", to: "failed" },
      ],
    },
    { key: "check" },
  ],
  gates: [{ key: "approval" }],
  ends: [{ key: "done" }],
};
const PLACES: Places = {
  "": [0, 100],
  stations: [0, 60],
  "stations[0]": [10, 40],
  "stations[0].rules[0]": [20, 30],
  "stations[0].rules[1]": [30, 38],
  "stations[1]": [45, 60],
  "gates[0]": [70, 80],
  "ends[0]": [85, 95],
};

describe("from the canvas to the text and back", () => {
  it.each([
    [{ keys: ["build"] }, "stations[0]"],
    [{ keys: ["build"], rule: "broken" }, "stations[0].rules[1]"],
    [{ keys: ["build"], gate: "approval" }, "gates[0]"],
    [{ keys: ["done"] }, "ends[0]"],
    [{ keys: [], part: "inputs" as const }, "inputs"],
    [{ keys: ["gone"] }, undefined],
  ])("%j stands at %s", (selection, path) => {
    expect(pathOf(LINE, selection)).toBe(path);
  });

  it.each([
    [25, { keys: ["build"], rule: "built" }],
    [12, { keys: ["build"] }],
    [75, { keys: [], gate: "approval" }],
    [90, { keys: ["done"] }],
    [98, undefined],
  ])("at %i stands %j", (at, selection) => {
    expect(selectionAt(LINE, PLACES, at)).toEqual(selection);
  });

  it("has no place for several", () => {
    expect(chosenPlace(LINE, { keys: ["build", "check"] }, PLACES)).toBeUndefined();
    expect(chosenPlace(LINE, { keys: ["build"] }, PLACES)).toEqual({ from: 10, to: 39 });
  });
});

describe("findings in the text", () => {
  const finding = { path: "stations[0].rules[1].when.all[0]", severity: "warning", message: "m", hint: "h" } as Finding;

  it("stand at the nearest part that the text has", () => {
    expect(nearest(finding.path, PLACES)).toBe("stations[0].rules[1]");
    expect(nearest('stations[0]["odd \\"key"].x', PLACES)).toBe("stations[0]");
    const [found] = findingsIn([finding], { text: "", fault: undefined, places: PLACES }, 100);
    expect(found).toMatchObject({ from: 30, to: 38, severity: "warning" });
  });

  it("give way to what keeps the text from being read, within the text", () => {
    const fault = { message: "not closed", at: 120, line: 3 };
    expect(findingsIn([finding], { text: "", fault, places: PLACES }, 100)).toEqual([
      { from: 100, to: 100, severity: "error", message: "not closed", hint: "" },
    ]);
  });
});

it("names members as findings do", () => {
  expect(join("stations", 0)).toBe("stations[0]");
  expect(join("stations[0]", "name")).toBe("stations[0].name");
  expect(join("", "odd key")).toBe('["odd key"]');
  expect(join("extra", "ü")).toBe('extra["\\u00fc"]');
});

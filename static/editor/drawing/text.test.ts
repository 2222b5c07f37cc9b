import { expect, it } from "vitest";

import { boldWidthOf, cut, fitted, inTwo } from "./text";

it("cuts what is too long for the canvas", () => {
  expect(cut("short")).toBe("short");
  expect(cut("a name that is far too long for it")).toBe("a name that is far too…");
});

it("breaks a name into two lines where that makes it narrowest", () => {
  expect(inTwo("passed")).toEqual(["passed"]);
  expect(inTwo("all tests passed")).toEqual(["all tests", "passed"]);
  expect(inTwo("unbreakableword")).toEqual(["unbreakableword"]);
});

it("keeps as much of a name as its card is wide", () => {
  expect(fitted("Fix", 80, 14)).toBe("Fix");
  for (const name of ["W".repeat(200), "i".repeat(200), "漢".repeat(200)]) {
    const cutName = fitted(name, 192, 14);
    expect(cutName.endsWith("…")).toBe(true);
    expect(boldWidthOf(cutName, 14)).toBeLessThanOrEqual(192);
    expect(boldWidthOf(cutName + name[0] + name[0], 14)).toBeGreaterThan(192);
  }
});

import { expect, it } from "vitest";

import { cut, inTwo } from "./text";

it("cuts what is too long for the canvas", () => {
  expect(cut("short")).toBe("short");
  expect(cut("a name that is far too long for it")).toBe("a name that is far too…");
});

it("breaks a name into two lines where that makes it narrowest", () => {
  expect(inTwo("passed")).toEqual(["passed"]);
  expect(inTwo("all tests passed")).toEqual(["all tests", "passed"]);
  expect(inTwo("unbreakableword")).toEqual(["unbreakableword"]);
});

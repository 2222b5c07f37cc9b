import { expect, it } from "vitest";

import { broken, brokenWidth, cut, widthOf } from "./text";

it("cuts what is too long for the canvas", () => {
  expect(cut("short")).toBe("short");
  expect(cut("a name that is far too long for it")).toBe("a name that is far too…");
});

it("breaks words where that makes them narrowest", () => {
  expect(broken("passed")).toEqual(["passed"]);
  expect(broken("all tests passed")).toEqual(["all tests", "passed"]);
  expect(broken("unbreakableword")).toEqual(["unbreakableword"]);
  expect(brokenWidth("all tests passed", 12)).toBe(widthOf("all tests", 12));
});

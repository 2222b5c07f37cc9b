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
  expect(broken("critical findings or more than 5 of high severity")).toEqual([
    "critical findings",
    "or more than 5",
    "of high severity",
  ]);
  expect(broken("a sentence that goes on and on until nobody wants to read any more of it")).toHaveLength(3);
  expect(brokenWidth("all tests passed", 12)).toBe(widthOf("all tests", 12));
});

import { expect, test } from "vitest";
import { titled } from "./counts";

test("the number stands in front of the title once, and none is shown for none", () => {
  expect(titled("Inbox · Gateline", "3")).toBe("(3) Inbox · Gateline");
  expect(titled("(3) Inbox · Gateline", "200+")).toBe("(200+) Inbox · Gateline");
  expect(titled("(200+) Inbox · Gateline", "")).toBe("Inbox · Gateline");
  expect(titled("(draft) Line · Gateline", "")).toBe("(draft) Line · Gateline");
});

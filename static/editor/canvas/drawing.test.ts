import { afterAll, expect, test, vi } from "vitest";
import type { LineDocument } from "../store/document";
import { type Findings, NOTHING } from "../store/findings";

// What was laid out last is remembered: of other tests here, and of these there.
vi.resetModules();
const { drawnOf } = await import("./drawing");
const { drawnIn, laidOut } = await import("./laid");
const { dragged } = await import("./layout");
afterAll(() => void vi.resetModules());

const COUNT = 90;

/** Stations in a row, each with a way on and one to the end of all that fails. */
const line = {
  gateline: 1,
  key: "long",
  name: "Long",
  stations: Array.from({ length: COUNT }, (_, at) => ({
    key: `s${at}`,
    name: `Station ${at}`,
    rules: [
      { id: `r${at}`, when: { result: "success" }, to: at < COUNT - 1 ? `s${at + 1}` : "completed" },
      { id: `f${at}`, when: { result: "failure" }, to: "failed" },
    ],
  })),
} as unknown as LineDocument;

test("while a station is dragged only the edges at it are made anew, and all others are the same", () => {
  let requests = 0;
  // An edge that is made asks what is said of its rule.
  const rules = new Proxy<Findings["rules"]>(
    {},
    {
      get: () => {
        requests += 1;
        return undefined;
      },
    },
  );
  const findings = { ...NOTHING, rules };
  drawnIn(820);
  const laid = laidOut(line, findings);
  const before = drawnOf(line, laid, findings);
  const box = laid.boxes.find((each) => each.key === "s40");
  if (!box) throw new Error("s40 stands nowhere");
  const there = dragged(laid, new Map([["s40", [box.x + 8, box.y + 8]]]));
  requests = 0;
  const after = drawnOf(line, there, findings, before);
  expect(requests).toBeGreaterThan(0);
  expect(requests).toBeLessThan(20);
  expect(after.filter((each, index) => each !== before[index]).map((each) => each.station)).toEqual(["s40", "s40"]);
  // Without the drawing of before there is nothing to leave as it was.
  requests = 0;
  drawnOf(line, dragged(laid, new Map()), findings);
  expect(requests).toBeGreaterThan(COUNT);
});

test("what is drawn already is not drawn again for the view of it", () => {
  drawnIn(820);
  const laid = laidOut(line, NOTHING);
  expect(drawnOf(line, laid, NOTHING)).toBe(drawnOf(line, laid, NOTHING, []));
});

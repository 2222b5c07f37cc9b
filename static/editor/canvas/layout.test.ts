import { expect, it } from "vitest";

import type { LineDocument } from "../store/document";
import { laidOut } from "./laid";
import { type Box, START_ID, STATION } from "./layout";

// Without a worker nothing is laid out: what is new stands beside what leads to it.
const rule = (id: string, to: string | string[]) => ({ id, to });
const LINE: LineDocument = {
  stations: [
    { key: "build", rules: [rule("built", "check"), rule("broken", "failed")] },
    { key: "check", rules: [rule("checked", "ship"), rule("again", "build")] },
    { key: "ship", rules: [rule("shipped", "completed")] },
  ],
};
const boxOf = (line: LineDocument, key: string): Box => {
  const boxOfKey = laidOut(line).boxes.find((box) => box.key === key);
  if (!boxOfKey) throw new Error(`${key} is not drawn`);
  return boxOfKey;
};

it("puts what is new beside what leads to it, over nothing else", () => {
  const { boxes, exact } = laidOut(LINE);
  expect(exact).toBe(false);
  expect(boxOf(LINE, "check").x).toBeGreaterThan(boxOf(LINE, "build").x);
  const covering = boxes.flatMap((one, index) =>
    boxes
      .slice(index + 1)
      .filter((other) => one.x < other.x + other.width && other.x < one.x + one.width)
      .filter((other) => one.y < other.y + other.height && other.y < one.y + one.height)
      .map((other) => `${one.key} ${other.key}`),
  );
  expect(covering).toEqual([]);
});

it("makes room for a long name and for every edge", () => {
  const long = { stations: [{ key: "x", name: "A name that is longer than most of them are", rules: [] }] };
  expect(boxOf(long, "x").width).toBe(STATION.widest);
  const heightWith = (...targets: string[]): number =>
    boxOf({ stations: [{ key: "x", rules: targets.map((to) => rule(to, to)) }] }, "x").height;
  const two = heightWith("completed", "failed");
  expect(heightWith("completed", "failed", "x", "@blocked")).toBe(two + STATION.step);
  expect(two).toBeGreaterThan(heightWith("completed"));
});

it("leaves where it is what a person put there", () => {
  const line = { ...LINE, extra: { editor: { positions: { check: [500, -300] as [number, number] } } } };
  expect(boxOf(line, "check")).toMatchObject({ x: 500, y: -300 });
});

it("takes what it finds of a draft that makes no sense", () => {
  const line = { start: "gone", stations: [{ key: "a", rules: [rule("r", ["a", "nowhere"]), { id: "none" }] }] };
  expect(laidOut(line).boxes.map((box) => box.key)).toEqual([START_ID, "a"]);
  expect(laidOut({ stations: [] }).boxes.map((box) => box.key)).toEqual([START_ID]);
});

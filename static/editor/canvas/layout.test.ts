import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

import type { LineDocument } from "../store/document";
import { type Box, laidOut, START_ID, STATION } from "./layout";

const rule = (id: string, to: string | string[]) => ({ id, to });
const LINE: LineDocument = {
  stations: [
    { key: "build", rules: [rule("built", "check"), rule("broken", "failed")] },
    { key: "check", rules: [rule("checked", "ship"), rule("again", "build")] },
    { key: "ship", rules: [rule("shipped", "completed")] },
  ],
};
const boxOf = (line: LineDocument, key: string): Box => {
  const found = laidOut(line).boxes.find((box) => box.key === key);
  if (!found) throw new Error(`${key} is not drawn`);
  return found;
};
const middle = (box: Box): number => box.y + box.port;

/** Pairs of boxes that cover each other. */
function covering(boxes: readonly Box[]): string[] {
  return boxes.flatMap((one, index) =>
    boxes
      .slice(index + 1)
      .filter((other) => one.x < other.x + other.width && other.x < one.x + one.width)
      .filter((other) => one.y < other.y + other.height && other.y < one.y + one.height)
      .map((other) => `${one.key} ${other.key}`),
  );
}

function chain(length: number): LineDocument {
  const key = (at: number): string => `s${at}`;
  const stations = Array.from({ length }, (_, at) => ({
    key: key(at),
    rules: [rule(`r${at}`, at + 1 < length ? key(at + 1) : "completed")],
  }));
  return { stations };
}

describe("what nobody has put anywhere", () => {
  it("goes from left to right, the way of the first rules in one straight line", () => {
    const main = [START_ID, "build", "check", "ship", "completed"].map((key) => boxOf(LINE, key));
    expect(new Set(main.map(middle))).toEqual(new Set([0]));
    expect(main.map((box) => box.x)).toEqual(main.map((box) => box.x).sort((a, b) => a - b));
    expect(middle(boxOf(LINE, "failed"))).toBeGreaterThan(0);
  });

  it("covers nothing else", () => {
    expect(covering(laidOut(LINE).boxes)).toEqual([]);
    expect(covering(laidOut(chain(80)).boxes)).toEqual([]);
  });

  it("is continued in rows below where the line is long", () => {
    const { rows, wraps, boxes } = laidOut(chain(40));
    expect(rows.length).toBeGreaterThan(1);
    expect(wraps.size).toBe(rows.length - 1);
    expect(boxes.filter((box) => box.kind === "station").map((box) => box.row)).toEqual(
      [...boxes.filter((box) => box.kind === "station").map((box) => box.row ?? 0)].sort((a, b) => a - b),
    );
    expect(laidOut(LINE).rows).toEqual([]);
  });

  it("makes room for a long name and for every rule", () => {
    const long = { stations: [{ key: "x", name: "A name that is longer than most of them are", rules: [] }] };
    expect(boxOf(long, "x").width).toBe(STATION.widest);
    const rules = ["a", "b", "c"].map((id) => rule(id, "completed"));
    expect(boxOf({ stations: [{ key: "x", rules }] }, "x").height).toBe(STATION.height + 2 * STATION.step);
  });

  it("is laid out the same whatever was laid out before", () => {
    const before = laidOut(LINE);
    laidOut(chain(5));
    expect(laidOut(structuredClone(LINE))).toEqual(before);
  });
});

it("stays where a person put it", () => {
  const line = { ...LINE, extra: { editor: { positions: { check: [500, -300] as [number, number] } } } };
  expect(boxOf(line, "check")).toMatchObject({ x: 500, y: -300, row: undefined });
  expect(boxOf(line, "build")).toEqual(boxOf(LINE, "build"));
});

it("takes what it finds of a draft that makes no sense", () => {
  const line = { start: "gone", stations: [{ key: "a", rules: [rule("r", ["a", "nowhere"]), { id: "none" }] }] };
  expect(laidOut(line).boxes.map((box) => box.key)).toEqual([START_ID, "a"]);
  expect(laidOut({ stations: [] }).boxes.map((box) => box.key)).toEqual([START_ID]);
});

describe("the lines that come with the product", () => {
  const folders = ["pipelines/lines/starters/lines", "pipelines/demo/lines"];
  const paths = folders.flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}`));

  it.each(paths.filter((path) => path.endsWith(".yaml")))("%s: nothing covers anything", (path) => {
    const { extra: _, ...line } = parse(readFileSync(path, "utf8")) as LineDocument;
    expect(laidOut(line as LineDocument).boxes.length).toBeGreaterThan(2);
    expect(covering(laidOut(line as LineDocument).boxes)).toEqual([]);
  });
});

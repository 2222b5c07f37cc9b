import { describe, expect, it } from "vitest";
import { leadingNowhere } from "../store/commands";
import { removeGate } from "../store/commands-gates";
import type { LineDocument, Note } from "../store/document";
import { align } from "./align";
import { fresh, isEmpty, partsOf, pasteParts, removeParts } from "./clips";
import { laidOut } from "./laid";

const note = (key: string, y = 0): Note => ({ key, text: key, tone: "ok", x: 10, y, width: 100, height: 80 });
const LINE: LineDocument = {
  stations: [
    { key: "a", rules: [{ id: "ab", to: "b" }] },
    { key: "b", rules: [] },
  ],
  extra: { editor: { notes: [note("note-1"), note("note-2", 300)], positions: { a: [0, 0] } } },
};

describe("what is copied and pasted", () => {
  it("is what was chosen, with the places that a person gave it", () => {
    const parts = partsOf(LINE, ["a", "@note:note-2"]);
    expect(parts.stations.map((each) => each.key)).toEqual(["a"]);
    expect([parts.notes, parts.positions]).toEqual([[note("note-2", 300)], { a: [0, 0] }]);
    expect(isEmpty(partsOf(LINE, ["gone"]))).toBe(true);
  });

  it("brings the gates that it asks to a line that lacks them, and names what leads nowhere there", () => {
    const rules = [
      { id: "ab", to: ["a", "b"], gates: ["look"] },
      { id: "ac", label: "On", to: "gone" },
    ];
    const look = { key: "look", name: "Look", extra: { theirs: 1 } };
    const from = { ...LINE, stations: [{ key: "a", rules }], gates: [look, { key: "other", name: "Other" }] };
    const parts = partsOf(from, ["a"]);
    expect(parts.gates).toEqual([look]);
    expect(pasteParts(parts).apply({ stations: [] }).gates).toEqual([look]);
    const own = [{ key: "look", name: "Mine" }];
    expect(pasteParts(parts).apply({ stations: [], gates: own }).gates).toBe(own);
    expect(leadingNowhere({ stations: [] }, parts)).toEqual(["ab → b", "On → gone"]);
    expect(leadingNowhere(LINE, parts)).toEqual(["On → gone"]);
  });

  it("comes under free keys, below all of where it was copied from", () => {
    const after = pasteParts(partsOf(LINE, ["a", "b", "@note:note-1"])).apply(LINE);
    expect(fresh(LINE, after)).toEqual(["a-2", "b-2", "@note:note-3"]);
    const { positions = {}, notes = [] } = after.extra?.editor ?? {};
    expect(positions["a-2"]?.[1]).toBeGreaterThanOrEqual(80);
    expect(positions["b-2"]).toBeUndefined();
    expect(notes.at(-1)?.y).toBe(positions["a-2"]?.[1]);
  });

  it("has a name of its own, stands behind what it was copied from, and its joins wait for copies", () => {
    const line: LineDocument = {
      stations: [
        { key: "a", name: "Alpha", rules: [{ id: "a-on", to: "j" }] },
        { key: "j", name: "Join", join: { wait_for: ["a"] }, rules: [] },
        { key: "z", name: "Last", rules: [] },
      ],
    };
    const after = pasteParts(partsOf(line, ["a", "j"])).apply(line);
    expect(after.stations.map(({ key, name }) => [key, name])).toEqual([
      ["a", "Alpha"],
      ["j", "Join"],
      ["a-2", "Alpha 2"],
      ["j-2", "Join 2"],
      ["z", "Last"],
    ]);
    expect(after.stations[3]?.join?.wait_for).toEqual(["a-2"]);
    expect(after.stations[1]?.join?.wait_for).toEqual(["a"]);
  });

  it("brings the ends that it leads to, with their words, to a line that lacks them", () => {
    const sent = { key: "sent", kind: "completed", label: "SENT" };
    const from: LineDocument = { stations: [{ key: "a", rules: [{ id: "on", to: "sent" }] }], ends: [sent] };
    const parts = partsOf(from, ["a"]);
    const after = pasteParts(parts).apply({ stations: [] });
    expect(after.ends).toEqual([sent]);
    expect(after.stations[0]?.rules?.[0]?.to).toBe("sent");
    expect(leadingNowhere({ stations: [] }, parts)).toEqual([]);
    expect(pasteParts(parts).apply(from).ends).toEqual([sent]);
  });

  it("has its headings over the copies, and none over what was not pasted", () => {
    const over = (...keys: string[]): unknown[] => {
      const heading = { ...note("note-1"), over: ["a", "b", "completed"] };
      const line: LineDocument = { ...LINE, extra: { editor: { notes: [heading] } } };
      const [was, copy] = pasteParts(partsOf(line, [...keys, "@note:note-1"])).apply(line).extra?.editor?.notes ?? [];
      expect(was).toEqual(heading);
      return [copy?.key, copy?.over];
    };
    expect(over("a", "b")).toEqual(["note-2", ["a-2", "b-2"]]);
    expect(over("b")).toEqual(["note-2", ["b-2"]]);
    expect(over()).toEqual(["note-2", undefined]);
  });

  it("takes of what somebody else wrote only the notes that can be drawn", () => {
    const parts = { gateline: "stations" as const, stations: [], notes: [{ key: 1 }, note("x")] as Note[] };
    expect(fresh(LINE, pasteParts(parts).apply(LINE))).toEqual(["@note:note-3"]);
  });

  it("is removed together", () => {
    const after = removeParts(["b", "@note:note-1"]).apply(LINE);
    expect(after.stations).toEqual([{ key: "a", rules: [] }]);
    expect(after.extra?.editor?.notes?.map((each) => each.key)).toEqual(["note-2"]);
  });
});

describe("what undo says of it", () => {
  it("has the names that the parts had, and no key", () => {
    const line: LineDocument = {
      ...LINE,
      stations: [{ key: "a", name: "Alpha", rules: [] }],
      gates: [{ key: "g", name: "A look" }],
    };
    const textOf = ({ label }: { label: string | ((before: LineDocument) => string) }): string =>
      typeof label === "string" ? label : label(line);
    expect(textOf(removeParts(["a", "@note:note-1"]))).toMatch(/^Deleted Alpha, /);
    expect(textOf(removeGate("g"))).toBe("Deleted A look");
  });
});

describe("what is set in line", () => {
  it("stands at one edge, notes as well", () => {
    const after = align(LINE, ["a", "b", "@note:note-1"], "left").apply(LINE);
    const { positions = {}, notes = [] } = after.extra?.editor ?? {};
    expect([positions.a?.[0], positions.b?.[0], notes[0]?.x]).toEqual([0, 0, 0]);
  });

  it("stands at equal distances, the outer ones where they were", () => {
    const wide: LineDocument = {
      stations: ["a", "b", "c"].map((key) => ({ key, rules: [] })),
      extra: { editor: { positions: { a: [0, 0], b: [150, 0], c: [1000, 0] } } },
    };
    const after = align(wide, ["a", "b", "c"], "across").apply(wide);
    const [a, b, c] = ["a", "b", "c"].map((key) => laidOut(after).boxes.find((box) => box.key === key));
    if (!a || !b || !c) throw new Error("not drawn");
    expect([a.x, c.x]).toEqual([0, 1000]);
    expect(Math.abs(b.x - (a.x + a.width) - (c.x - (b.x + b.width)))).toBeLessThanOrEqual(1);
  });
});

import { expect, it } from "vitest";

import type { LineDocument } from "./document";
import { addNote, changeNote, notesOf } from "./notes";

it("takes for a note only what can be drawn and dragged, with keys or nothing below it", () => {
  const drawn = (over?: unknown): number => {
    const note = { key: "n", text: "", tone: "ok", x: 0, y: 0, width: 9, height: 9, over };
    return notesOf({ stations: [], extra: { editor: { notes: [note] } } } as unknown as LineDocument).length;
  };
  expect([undefined, null, [], ["build"]].map(drawn)).toEqual([1, 1, 1, 1]);
  expect([5, "build", {}, [5], ["build", null]].map(drawn)).toEqual([0, 0, 0, 0, 0]);
});

it("keeps a note that cannot be drawn when another one is added or changed", () => {
  const note = { text: "Mind", tone: "ok", x: 0, y: 0, width: 9, height: 9 };
  const faulty = { ...note, key: "note-2", over: "build" };
  const notes = [faulty, { ...note, key: "note-1" }, null];
  const line = { stations: [], extra: { editor: { notes } } } as unknown as LineDocument;

  const changed = changeNote("note-1", { text: "Other" }).apply(line);
  expect(changed.extra?.editor?.notes).toEqual([{ ...note, key: "note-1", text: "Other" }, faulty, null]);
  expect(notesOf(changed)).toHaveLength(1);

  const keys = notesOf(addNote([0, 0]).apply(changed)).map(({ key }) => key);
  expect(keys).not.toContain("note-2");
  expect(new Set(keys).size).toBe(2);
});

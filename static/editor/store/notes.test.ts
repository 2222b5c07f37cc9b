import { expect, it } from "vitest";

import type { LineDocument } from "./document";
import { notesOf } from "./notes";

it("takes for a note only what can be drawn and dragged, with keys or nothing below it", () => {
  const drawn = (over?: unknown): number => {
    const note = { key: "n", text: "", tone: "ok", x: 0, y: 0, width: 9, height: 9, over };
    return notesOf({ stations: [], extra: { editor: { notes: [note] } } } as unknown as LineDocument).length;
  };
  expect([undefined, null, [], ["build"]].map(drawn)).toEqual([1, 1, 1, 1]);
  expect([5, "build", {}, [5], ["build", null]].map(drawn)).toEqual([0, 0, 0, 0, 0]);
});

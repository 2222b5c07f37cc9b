import { describe, expect, it } from "vitest";

import type { LineDocument } from "./document";
import { amend, begin, type History, redo, run, taken, touched, undo } from "./history";

const LINE: LineDocument = { name: "Line", stations: [{ key: "build", name: "Build" }] };
const set = (change: Partial<LineDocument>) => ({
  label: Object.keys(change).join(),
  apply: (line: LineDocument) => ({ ...line, ...change }) as LineDocument,
});
const renaming =
  (name: string): ((history: History) => History) =>
  (history) =>
    run(history, set({ name }));

describe("what was done", () => {
  it("is undone and done again", () => {
    const done = renaming("Two")(renaming("One")(begin(LINE)));
    const back = undo(undo(done));
    expect(back.line).toBe(LINE);
    expect(redo(redo(back)).line).toBe(done.line);
  });

  it("is no step where nothing changed", () => {
    const history = begin(LINE);
    expect(run(history, { label: "nothing", apply: (line) => line })).toBe(history);
    expect(undo(history)).toBe(history);
    expect(redo(history)).toBe(history);
  });

  it("drops what was undone when something else is done", () => {
    const history = renaming("Three")(undo(renaming("Two")(renaming("One")(begin(LINE)))));
    expect(history.undone).toEqual([]);
    expect(undo(history).line.name).toBe("One");
  });

  it("is kept for a few hundred steps", () => {
    let history = begin(LINE);
    for (let step = 0; step < 600; step += 1) history = renaming(String(step))(history);
    expect(history.done.length).toBe(500);
    expect(history.done[0]?.after.name).toBe("100");
  });

  it("takes back only what is one's own, where others changed something since", () => {
    const edited = renaming("Mine")(begin(LINE));
    const theirs = taken(edited, { ...edited.line, purpose: "Theirs" });
    expect(theirs.done).toEqual(edited.done);
    expect(undo(theirs).line).toEqual({ ...LINE, purpose: "Theirs" });
    expect(redo(undo(theirs)).line).toEqual({ ...LINE, name: "Mine", purpose: "Theirs" });
  });

  it("leaves theirs where they changed the same since", () => {
    const history = taken(renaming("Mine")(begin(LINE)), { ...LINE, name: "Theirs" });
    expect(undo(history).line.name).toBe("Theirs");
  });

  it("shares what did not change with the line before it", () => {
    const history = taken(renaming("Mine")(begin(LINE)), structuredClone({ ...LINE, name: "Mine", purpose: "x" }));
    expect(history.line.stations).toBe(LINE.stations);
  });
});

describe("a run of typing", () => {
  it("is one step with another outcome", () => {
    const history = amend(renaming("T")(begin(LINE)), { ...LINE, name: "Typed" }, false);
    expect(history.done.length).toBe(1);
    expect(undo(history).line).toBe(LINE);
    expect(redo(undo(history)).line.name).toBe("Typed");
  });

  it("is no step where nothing is left of it", () => {
    expect(amend(renaming("T")(begin(LINE)), LINE, true).done).toEqual([]);
  });
});

it("is the same document as another object, for what is stored beside it", () => {
  const history = touched(begin(LINE));
  expect(history.line).toEqual(LINE);
  expect(history.line).not.toBe(LINE);
});

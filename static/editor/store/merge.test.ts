import { describe, expect, it } from "vitest";

import type { LineDocument } from "./document";
import { grafted, merge } from "./merge";

// That the server finds the same of any three documents shows tests/design/test_merging_twice.py.

const BASE: LineDocument = {
  name: "Line",
  stations: [
    { key: "build", name: "Build", rules: [{ id: "r1", to: "check" }] },
    { key: "check", name: "Check" },
  ],
};
const edited: LineDocument = { ...BASE, name: "Mine" };
const nobody = (): undefined => undefined;

describe("two edits of one document", () => {
  it("keeps what is disjoint of both", () => {
    const theirs = { ...BASE, stations: [BASE.stations[0], { key: "check", name: "Theirs" }] } as LineDocument;
    const { document, open } = merge(BASE, edited, theirs, nobody);
    expect(open).toEqual([]);
    expect(document).toEqual({ ...theirs, name: "Mine" });
  });

  it("has theirs, and says so, where both changed and nobody settled it", () => {
    const theirs = { ...BASE, name: "Theirs" };
    const { document, open } = merge(BASE, edited, theirs, nobody);
    expect(document.name).toBe("Theirs");
    expect(open).toEqual([{ path: "name", base: "Line", mine: "Mine", theirs: "Theirs" }]);
  });

  it("has mine where it was settled so, and asks by the path", () => {
    const paths: string[] = [];
    const settled = merge(BASE, edited, { ...BASE, name: "Theirs" }, ({ path }) => {
      paths.push(path);
      return "mine";
    });
    expect([settled.document.name, settled.open, paths]).toEqual(["Mine", [], ["name"]]);
  });

  it("knows members of lists by their key, never by their place", () => {
    const [build, check] = BASE.stations as [LineDocument["stations"][0], LineDocument["stations"][0]];
    const moved = { ...BASE, stations: [check, build] };
    const renamed = { ...BASE, stations: [{ ...build, name: "Make" }, check] };
    const { document, open } = merge(BASE, moved, renamed, nobody);
    expect(open).toEqual([]);
    expect(document.stations).toEqual([check, { ...build, name: "Make" }]);
  });

  it("lets somebody choose between two orders of the same rules", () => {
    const rules = (...ids: string[]): LineDocument => ({
      stations: [{ key: "s", rules: ids.map((id) => ({ id, to: "done" })) }],
    });
    const { open } = merge(rules("a", "b", "c"), rules("b", "a", "c"), rules("a", "c", "b"), nobody);
    expect(open.map(({ path }) => path)).toEqual(
      ["stations[s].rules(order)"].map(() => expect.stringContaining("(order)")),
    );
  });

  it("leaves the very same objects where nothing changed, so that nothing is drawn anew", () => {
    const theirs = structuredClone({ ...BASE, ends: [{ key: "done" }] });
    const { document } = merge(BASE, edited, theirs, nobody);
    expect(document.stations).toBe(BASE.stations);
  });
});

it("grafts what is equal of an old value onto a new one, members by their key", () => {
  const old = [
    { key: "a", x: { y: 1 } },
    { key: "b", x: { y: 2 } },
  ];
  const fresh = structuredClone([
    { key: "b", x: { y: 3 } },
    { key: "a", x: { y: 1 } },
  ]);
  const result = grafted(old, fresh) as typeof old;
  expect(result).toEqual(fresh);
  expect(result[1]).toBe(old[0]);
});

import { describe, expect, it } from "vitest";

import { canBeDrawn, endsOf, freeKey, freeRuleId, targetsOf, undrawablePath } from "./document";
import { endName, targetName } from "./names";
import { patched } from "./patch";

describe("a draft may be anything", () => {
  it.each([
    [[], ""],
    [{}, "stations"],
    [{ stations: {} }, "stations"],
    [{ stations: [{ key: "a" }, { name: "b" }] }, "stations[1]"],
    [{ stations: [{ key: "a", rules: [{ to: "b" }] }] }, "stations[0].rules[0]"],
    [{ stations: [], gates: [{}] }, "gates[0]"],
    [{ stations: [], ends: "none" }, "ends"],
  ])("%j cannot be drawn for %j", (value, path) => {
    expect(undrawablePath(value)).toBe(path);
  });

  it("is drawn as soon as its parts have names", () => {
    expect(canBeDrawn({ stations: [{ key: "a", rules: [{ id: "r", to: 7 }] }], whatever: null })).toBe(true);
    expect(targetsOf({ id: "r", to: 7 as never })).toEqual([]);
    expect(targetsOf({ id: "r", to: ["a", 7 as never] })).toEqual(["a"]);
  });
});

describe("names", () => {
  const line = { stations: [{ key: "build", name: "Build it" }], ends: [{ key: "out", label: "ROLLED_BACK" }] };

  it.each([
    ["Build", "build-2"],
    ["Größe & Maß", "gro-e-ma"],
    ["  ", "item"],
    ["failed", "failed-2"],
    ["out", "out-2"],
  ])("of %j comes the free key %j", (wanted, key) => {
    expect(freeKey(line, wanted)).toBe(key);
  });

  it("of rules are free in the whole line", () => {
    const document = {
      stations: [
        { key: "a", rules: [{ id: "r" }] },
        { key: "b", rules: [{ id: "r-2" }] },
      ],
    };
    expect(freeRuleId(document, "r")).toBe("r-3");
  });

  it("are those that a person reads", () => {
    const words = { origin: "back", blocked: "stop" };
    expect(["build", "out", "@origin", "gone"].map((key) => targetName(line, key, words))).toEqual([
      "Build it",
      "Rolled back",
      "back",
      "gone",
    ]);
    expect(endName("Shipped")).toBe("Shipped");
  });
});

it("draws the ends of the line, and those of the standing ones that a rule leads to", () => {
  const stations = [{ key: "a", rules: [{ id: "r", to: ["out", "failed", "a"] }] }];
  expect(endsOf({ stations, ends: [{ key: "out" }] })).toEqual(["out", "failed"]);
});

describe("what a form changed", () => {
  it("goes into what others changed meanwhile, member by member", () => {
    const sent = { name: "a", work: { kind: "command", argv: ["x"] }, old: 1 };
    const answered = { name: "b", work: { kind: "command", argv: ["y"] } };
    const now = { name: "a", work: { kind: "command", argv: ["x"], mode: "fast" }, old: 1, more: true };
    expect(patched(now, sent, answered)).toEqual({
      name: "b",
      work: { kind: "command", argv: ["y"], mode: "fast" },
      more: true,
    });
  });

  it("leaves alone what it did not touch", () => {
    expect(patched({ name: "theirs" }, { name: "a" }, { name: "a" })).toEqual({ name: "theirs" });
  });
});

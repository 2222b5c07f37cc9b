import { expect, it } from "vitest";

import type { LineDocument } from "./document";
import { renamedGate, renamedInput, renamedStation } from "./renaming";

const LINE: LineDocument = {
  start: "build",
  stations: [
    { key: "build", rules: [{ id: "on", to: ["check", "build"] }] },
    { key: "check", join: { wait_for: ["build"] }, rules: [{ id: "back", to: "build" }] },
  ],
  policy: { on_failure: "route:build", on_reject: "station:build" },
  gates: [{ key: "g", on_reject: "route:build" }],
  forbidden_parallel: [["build", "check"]],
  budgets: [{ stations: ["build"], edges: ["build->check"], on_exhausted: { to: "build" } }],
  extra: {
    editor: {
      positions: { build: [1, 2], check: [3, 4] },
      notes: [{ key: "n", text: "Work", tone: "neutral", x: 0, y: 0, width: 9, height: 9, over: ["build", "check"] }],
    },
  },
} as unknown as LineDocument;

it("names a station by its new key everywhere", () => {
  const { stations, ...rest } = renamedStation(LINE, "build", "make");
  const document = JSON.stringify([stations.map(({ key: _, ...others }) => others), rest]);
  expect(document).not.toContain('"build"');
  expect(document).not.toContain("build->");
  expect(document).not.toContain(":build");
  expect(document).toContain('"edges":["make->check"]');
  expect(rest.extra?.editor?.positions).toEqual({ make: [1, 2], check: [3, 4] });
});

it("says the same when it is named back", () => {
  expect(renamedStation(renamedStation(LINE, "build", "make"), "make", "build")).toEqual(LINE);
});

it("names a gate by its new key where it stands, and where another gate asks for what it said", () => {
  const line: LineDocument = {
    stations: [{ key: "a", gate: "g", rules: [{ id: "r", gates: ["h", "g"] }] }],
    gates: [{ key: "g" }, { key: "h", checks: { all: [{ field: "gates.g", operator: "equals", value: "g" }] } }],
  };
  expect(renamedGate(line, "g", "sign")).toEqual({
    stations: [{ key: "a", gate: "sign", rules: [{ id: "r", gates: ["h", "sign"] }] }],
    gates: [{ key: "g" }, { key: "h", checks: { all: [{ field: "gates.sign", operator: "equals", value: "g" }] } }],
  });
});

it("names an input by its new key where a station asks for the secret that it chooses", () => {
  const env = { TOKEN: { secret: "input:a" }, OTHER: { secret: "input:ab" }, PLAIN: "input:a" };
  const line: LineDocument = { stations: [{ key: "s", work: { kind: "command", argv: ["x"], env } }] };
  expect(renamedInput(line, "a", "z").stations[0]?.work?.env).toEqual({ ...env, TOKEN: { secret: "input:z" } });
});

it("names an input by its new key in templates, and no other whose key begins alike", () => {
  const work = { kind: "command", argv: ["x", "{{ input.a }} {{input.a|json}} {{ input.ab }} {{ secret.a }}"] };
  const line: LineDocument = { stations: [{ key: "s", work }] };
  const argv = renamedInput(line, "a", "z").stations[0]?.work?.argv;
  expect(argv).toEqual(["x", "{{ input.z }} {{input.z|json}} {{ input.ab }} {{ secret.a }}"]);
});

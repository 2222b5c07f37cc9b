import { describe, expect, it } from "vitest";

import * as commands from "./commands";
import { addTarget, movedTo, putGate, removeTarget } from "./commands-canvas";
import { type LineDocument, type Rule, ruleOf, rulesOf, stationOf } from "./document";

const LINE: LineDocument = {
  start: "build",
  stations: [
    {
      key: "build",
      rules: [
        { id: "built", to: ["check", "scan"] },
        { id: "again", to: "build" },
        { id: "broken", to: "failed" },
      ],
    },
    { key: "check", rules: [{ id: "checked", to: "shipped" }] },
    { key: "scan" },
  ],
  ends: [{ key: "shipped", kind: "completed" }],
};
const frozen = JSON.stringify(LINE);
const made = (command: commands.Command, line = LINE): LineDocument => {
  const changed = command.apply(line);
  expect(JSON.stringify(LINE)).toBe(frozen);
  return changed;
};
const ids = (line: LineDocument, key: string): string[] =>
  rulesOf(stationOf(line, key) ?? { key }).map((rule) => rule.id);
const rule = (line: LineDocument, id: string): Rule | undefined => ruleOf(line, id)?.rule;

describe("a change of the line", () => {
  it("adds a station under a free key, behind another one, with a rule to it", () => {
    const line = made(commands.addStation("command", "Check", [10, 20], "build"));
    expect(line.stations.map((each) => each.key)).toEqual(["build", "check-2", "check", "scan"]);
    expect(ids(line, "build").at(-1)).toBe("build-to-check-2");
    expect(line.extra?.editor?.positions).toEqual({ "check-2": [10, 20] });
  });

  it("moves a rule among the others, whose order stays", () => {
    expect(ids(made(commands.moveRule("broken", 0)), "build")).toEqual(["broken", "built", "again"]);
    expect(ids(made(commands.moveRule("built", 2)), "build")).toEqual(["again", "broken", "built"]);
    expect(made(commands.moveRule("gone", 0))).toBe(LINE);
  });

  it("leads a rule elsewhere, and a branch onto another makes them one", () => {
    expect(rule(made(commands.retarget("built", "scan", "failed")), "built")?.to).toEqual(["check", "failed"]);
    expect(rule(made(commands.retarget("built", "scan", "check")), "built")?.to).toBe("check");
  });

  it("removes a station with the rules that lead nowhere else; a fork loses a branch", () => {
    const line = made(commands.remove(["check"]));
    expect(rule(line, "built")?.to).toBe("scan");
    expect(ids(made(commands.remove(["failed", "check", "scan"])), "build")).toEqual(["again"]);
  });

  it("starts at the next one where the start is removed", () => {
    expect(made(commands.remove(["build"])).start).toBe("check");
  });

  it("pastes under free keys: rules among what is pasted stay among it, the others lead to what is here", () => {
    const line = made(commands.paste(commands.clip(LINE, ["build", "check"])));
    expect(line.stations.map((each) => each.key)).toEqual(["build", "check", "build-2", "check-2", "scan"]);
    expect(rule(line, "built-2")?.to).toEqual(["check-2", "scan"]);
    expect(rule(line, "again-2")?.to).toBe("build-2");
    expect(rule(line, "checked-2")?.to).toBe("shipped");
  });

  it("leaves out of a paste what leads to nothing here", () => {
    const clip = commands.clip({ stations: [{ key: "x", rules: [{ id: "r", to: "elsewhere" }] }] }, ["x"]);
    expect(ids(made(commands.paste(clip)), "x")).toEqual([]);
  });

  it("forgets where a station stood with the station, and keeps the places of the others", () => {
    const positions: Record<string, [number, number]> = { build: [1, 2], scan: [3, 4] };
    const line = { ...LINE, extra: { editor: { positions } } };
    expect(commands.remove(["scan"]).apply(line).extra?.editor?.positions).toEqual({ build: [1, 2] });
  });

  it("forgets where things stand when it is tidied, and nothing else of the editor", () => {
    const notes = [{ key: "n", text: "", tone: "ok", x: 0, y: 0, width: 1, height: 1 }];
    const line = { ...LINE, extra: { other: 1, editor: { positions: { build: [1, 2] as [number, number] }, notes } } };
    expect(commands.tidy().apply(line).extra).toEqual({ other: 1, editor: { notes } });
  });
});

describe("what is done on the canvas", () => {
  it("forks a rule once, and never takes its last target", () => {
    expect(rule(made(addTarget("checked", "scan")), "checked")?.to).toEqual(["shipped", "scan"]);
    expect(made(addTarget("checked", "shipped"))).toBe(LINE);
    expect(rule(made(removeTarget("built", "scan")), "built")?.to).toBe("check");
    expect(made(removeTarget("checked", "shipped"))).toBe(LINE);
  });

  it("puts a fresh gate under a free key, and one that is there once", () => {
    const line = made(putGate({ rule: "checked" }, { mode: "manual", name: "Sign off" }));
    expect(line.gates?.map((gate) => gate.key)).toEqual(["sign-off"]);
    expect(rule(line, "checked")?.gates).toEqual(["sign-off"]);
    expect(made(putGate({ rule: "checked" }, { key: "sign-off" }), line)).toBe(line);
    const both = made(putGate({ station: "scan" }, { mode: "manual", name: "Sign off" }), line);
    expect(stationOf(both, "scan")?.gate).toBe("sign-off-2");
  });

  it("moves stations and notes at once", () => {
    const note = { key: "n", text: "", tone: "ok", x: 0, y: 0, width: 80, height: 80 };
    const line = { ...LINE, extra: { editor: { notes: [note] } } };
    const { editor } = movedTo({ build: [1, 2], "@note:n": [3, 4] }).apply(line).extra ?? {};
    expect(editor).toEqual({ notes: [{ ...note, x: 3, y: 4 }], positions: { build: [1, 2] } });
  });
});

it("keeps the renames that came before those that a form has sent and taken over later", () => {
  const renamed = (from: string, to: string): commands.Rename => ({ kind: "station", from, to });
  const known = renamed("a", "b");
  const sent = [known, renamed("build", "make")];
  const all = [known, renamed("check", "look"), renamed("build", "make")];
  expect(commands.renamesLeft(all, sent)).toEqual([renamed("check", "look")]);
  expect(commands.renamesLeft([known], sent)).toEqual([]);
});

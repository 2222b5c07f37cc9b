import { expect, it } from "vitest";

import type { Json, LineDocument } from "./document";
import { takeKinds } from "./kinds";
import { leftBehind } from "./left-behind";
import { renamedEnd, renamedGate, renamedInput, renamedStation } from "./renaming";

const command = (...argv: string[]): Json => ({ kind: "command", argv });
const argvOf = (line: LineDocument, at = 0): unknown => line.stations[at]?.work?.argv;
const line = (parts: object): LineDocument => ({ stations: [], ...parts }) as unknown as LineDocument;

it("names a station by its new key in guarantees, jumps and paths, and in checks", () => {
  const before = line({
    jumps: ["build", "done"],
    guarantees: [
      { id: "a", never: { reach: "build", without: "look" } },
      { id: "b", never: { reach: "done", without: "build" } },
      { id: "c", at_most: { visit: "build", times: 2 } },
    ],
    stations: [
      { key: "build" },
      {
        key: "join",
        join: { wait_for: ["build", "look"] },
        rules: [
          { id: "1", when: { any: [{ fact: { path: "$.stations.build.tests.failed", op: "gt", value: 0 } }] } },
          { id: "2", when: { not: { fact: { path: "stations.build.tests", op: "exists" } } } },
          { id: "3", when: { output: { path: "$['branches'][\"build\"]", op: "equals", value: "fail" } } },
          { id: "4", when: { output: { path: "never", op: "contains", value: "build" } } },
          { id: "5", compose: [{ var: "v", path: "branches.build" }] },
        ],
      },
      { key: "look", rules: [{ id: "6", when: { output: { path: "$.branches.build", op: "exists" } } }] },
    ],
    gates: [
      {
        key: "g",
        checks: { all: [{ field: "facts.stations.build.tests.failed" }, { field: "output.branches.build" }] },
        sample: { one_in: 2, always: { any: [{ field: "facts.stations.build.git.commits" }] } },
      },
    ],
  });
  const after = renamedStation(before, "build", "make-all");
  const { stations, ...rest } = after;
  expect(JSON.stringify(rest)).not.toContain("build");
  const rules = stations[1]?.rules as { when?: Json; compose?: Json }[];
  expect(rules.map(({ when, compose }) => when ?? compose)).toEqual([
    { any: [{ fact: { path: "$.stations['make-all'].tests.failed", op: "gt", value: 0 } }] },
    { not: { fact: { path: "stations.make-all.tests", op: "exists" } } },
    { output: { path: "$['branches']['make-all']", op: "equals", value: "fail" } },
    { output: { path: "never", op: "contains", value: "make-all" } },
    [{ var: "v", path: "branches.make-all" }],
  ]);
  // What a station that joins nothing puts out has keys of its own.
  expect(stations[2]).toEqual(before.stations[2]);
  expect(leftBehind(after, "station", "build")).toEqual([]);
});

it("names a station by its new key in templates of work, of tools and of the repository", () => {
  const texts =
    "{{.build}} {{ .build.n }} {{.build_error}} {{edge_count:build->a}} {{edge_count:a->build}} {{.builder}}";
  const before = line({
    workspace: { git: { branch: "t/{{edge_count:build->build}}" } },
    stations: [{ key: "build", work: command(texts, 'say {{"{{.build}}"}}') }, { key: "a" }],
  });
  const after = renamedStation(before, "build", "make");
  expect(argvOf(after)).toEqual([
    "{{.make}} {{ .make.n }} {{.make_error}} {{edge_count:make->a}} {{edge_count:a->make}} {{.builder}}",
    'say {{"{{.build}}"}}',
  ]);
  expect(after.workspace).toEqual({ git: { branch: "t/{{edge_count:make->make}}" } });
});

it("leaves alone what is a variable, an input or another station, and says what it could not keep", () => {
  const before = line({
    inputs: [{ key: "known" }],
    stations: [
      { key: "build", name: "Build", work: command("{{.build}} {{.title}}") },
      {
        key: "look",
        name: "Look",
        join: { wait_for: ["build"] },
        work: command("{{.build_error}} {{.known}}"),
        rules: [{ id: "r", when: { fact: { path: "$..build.tests", op: "exists" } } }],
      },
    ],
    gates: [{ key: "g", name: "Gate", checks: { all: [{ field: "facts.stations.build.tests.failed" }] } }],
  });
  // An input has the new key: `{{.known}}` would be that.
  const known = renamedStation(before, "build", "known");
  expect(argvOf(known)).toEqual(["{{.build}} {{.title}}"]);
  expect(leftBehind(known, "station", "build")).toEqual(["Build: {{.build}}", "Look: $..build.tests"]);
  // A dotted field has no place for a key with a dot.
  expect(leftBehind(renamedStation(before, "build", "b.c"), "station", "build")).toEqual([
    "Look: $..build.tests",
    "Gate: facts.stations.build.tests.failed",
  ]);
  const shadowed = line({ inputs: [{ key: "build" }], stations: before.stations });
  expect(argvOf(renamedStation(shadowed, "build", "make"))).toEqual(["{{.build}} {{.title}}"]);
  expect(argvOf(renamedEnd(line({ stations: [{ key: "a", work: command("{{.sent}}") }] }), "sent", "gone"))).toEqual([
    "{{.sent}}",
  ]);
});

it("names a gate by its new key in guarantees, in work that names one, and in what a sample always asks", () => {
  takeKinds([{ key: "deliver", name: "", about: "", fresh: {}, stations: [], gates: ["gate"], alone: false }]);
  const before = line({
    guarantees: [
      { id: "p", never: { reach: "s", without: "g" } },
      { id: "q", after: { gate: "g" } },
    ],
    stations: [{ key: "s", work: { kind: "deliver", gate: "g" } }],
    gates: [{ key: "h", sample: { one_in: 2, always: { all: [{ field: "gates.g" }] } } }],
  });
  const after = renamedGate(before, "g", "sign");
  expect(JSON.stringify(after)).toBe(
    JSON.stringify(before).replaceAll('"g"', '"sign"').replace("gates.g", "gates.sign"),
  );
  // Of a station and a gate with one key the guarantee means the station.
  const twins = line({ ...before, stations: [{ key: "g" }] });
  expect(leftBehind(renamedGate(twins, "g", "sign"), "gate", "g")).toEqual(["p: g", "q: g"]);
});

it("names an input by its new key wherever it is looked up", () => {
  const work = {
    ...(command("{{.a}} {{.a.size}} {{var:a}} {{var:b|var:a}} {{input.a.size}} {{.ab}}") as object),
    network: { egress: ["input:a", "a"] },
  };
  const before = line({
    workspace: { git: { repository: "input.a", head: "{{input.a}}" } },
    stations: [{ key: "s", work }],
  });
  const after = renamedInput(before, "a", "z");
  expect(after.stations[0]?.work).toEqual({
    ...(command("{{.z}} {{.z.size}} {{var:z}} {{var:b|var:z}} {{input.z.size}} {{.ab}}") as object),
    network: { egress: ["input:z", "a"] },
  });
  expect(after.workspace).toEqual({ git: { repository: "input.z", head: "{{input.z}}" } });
  const rules = [{ id: "r", compose: [{ var: "a" }] }];
  const shadowed = renamedInput(
    line({ stations: [{ key: "s", work: command("{{.a}} {{input.a}}"), rules }] }),
    "a",
    "z",
  );
  expect(argvOf(shadowed)).toEqual(["{{.a}} {{input.z}}"]);
  expect(leftBehind(shadowed, "input", "a")).toEqual([]);
});

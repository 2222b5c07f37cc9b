import { expect, it } from "vitest";
import { edgeMark } from "../canvas/marks";
import type { LineDocument } from "../store/document";
import { marksOf, wayMarks } from "./overlay";
import type { Session } from "./session";

it("paints the way of a task over its rules, and nothing else", () => {
  const line: LineDocument = {
    stations: [
      {
        key: "build",
        rules: [
          { id: "ok", to: "ship" },
          { id: "bad", to: "failed" },
        ],
      },
      { key: "ship", rules: [] },
    ],
  };
  const marks = wayMarks(line, ["bad"]);
  expect([marks.build, marks.ship, marks.failed]).toEqual(["been", "not", "been"]);
  expect([marks[edgeMark("ok")], marks[edgeMark("bad")]]).toEqual(["not", "taken"]);
});

it("lights up where the policy led, and not where a gate or a signal led from there", () => {
  const line: LineDocument = {
    stations: [{ key: "build", rules: [{ id: "bad", to: "ship" }] }, { key: "check" }, { key: "ship" }],
  };
  const marked = (target: string): string | undefined => {
    const walked = { tokens: [], visits: {}, ways: [{ source: "build", target, rule: "", count: 1 }] };
    const session = { open: true, walked } as unknown as Session;
    return marksOf(line, session, { build: "check" })[edgeMark("build@onward")];
  };
  expect([marked("check"), marked("ship")]).toEqual(["taken", "not"]);
});

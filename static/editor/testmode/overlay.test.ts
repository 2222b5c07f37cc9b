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
  const marks = wayMarks(line, [{ source: "build", target: "failed", rule: "bad", edge: "bad" }]);
  expect([marks.build, marks.ship, marks.failed]).toEqual(["been", "not", "been"]);
  expect([marks[edgeMark("ok")], marks[edgeMark("bad")]]).toEqual(["not", "taken"]);
});

it("lights up the edge that the policy or a gate's rejection went along, and none for a signal", () => {
  const line: LineDocument = {
    stations: [{ key: "build", rules: [{ id: "bad", to: "ship" }] }, { key: "check" }, { key: "ship" }],
  };
  const marked = (edge: string): (string | undefined)[] => {
    const walked = { tokens: [], visits: {}, ways: [{ source: "build", target: "check", rule: "", edge, count: 1 }] };
    const marks = marksOf(line, { open: true, walked } as unknown as Session);
    return ["build@onward", "bad@rejected", "bad"].map((each) => marks[edgeMark(each)]);
  };
  expect(marked("build@onward")).toEqual(["taken", "not", "not"]);
  expect(marked("bad@rejected")).toEqual(["not", "taken", "not"]);
  expect(marked("")).toEqual(["not", "not", "not"]);
});

import { expect, it } from "vitest";
import { edgeMark } from "../canvas/marks";
import type { LineDocument } from "../store/document";
import { wayMarks } from "./overlay";

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

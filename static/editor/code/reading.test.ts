import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

import { canBeDrawn, type Json } from "../store/document";
import { whole } from "./emit";
import { read, resolvesToText } from "./reading";

function said(text: string): { [key: string]: Json } {
  const answer = read(text);
  if (!answer.ok) throw new Error(`${answer.message} at ${answer.at}`);
  return answer.value;
}

function faultOf(text: string): { message: string; at: number } {
  const answer = read(text);
  if (answer.ok) throw new Error("it can be read");
  return answer;
}

describe("a text that can be read", () => {
  it("knows the core schema of YAML 1.2 and nothing else", () => {
    expect(said("a: on\nb: no\nc: 12:30\nd: 0o17\ne: 0x1F\nf: ~\ng: +7\nh: 1.5e3\ni: 2001-01-01\n")).toEqual({
      a: "on",
      b: "no",
      c: "12:30",
      d: 15,
      e: 31,
      f: null,
      g: 7,
      h: 1500,
      i: "2001-01-01",
    });
  });

  it("reads JSON as well, with the places of its values", () => {
    const text = '{"stations": [{"key": "build"}]}';
    const answer = read(text);
    expect(answer).toMatchObject({ ok: true, value: { stations: [{ key: "build" }] } });
    const [from, to] = (answer.ok && answer.places["stations[0].key"]) || [0, 0];
    expect(text.slice(from, to)).toBe('"key": "build"');
  });

  it("says where every value stands", () => {
    const text = "name: Line\nstations:\n  - key: build\n    odd key: 1\n";
    const answer = read(text);
    const at = (path: string): string => {
      const place = answer.ok ? answer.places[path] : undefined;
      return place ? text.slice(...place).trim() : "";
    };
    expect(at("name")).toBe("name: Line");
    expect(at("stations[0].key")).toBe("key: build");
    expect(at('stations[0]["odd key"]')).toBe("odd key: 1");
  });

  it("follows an alias", () => {
    expect(said("a: &x {to: done}\nb: *x\n")).toEqual({ a: { to: "done" }, b: { to: "done" } });
  });

  it("keeps a key that would set what an object is made from", () => {
    const value = said('"__proto__": 1\n');
    expect(Object.keys(value)).toEqual(["__proto__"]);
  });
});

describe("a text that cannot be read", () => {
  it.each([
    ["", "the document is empty"],
    ["- 1\n", "a line document is one object"],
    ["a: 1\na: 2\n", 'the key "a" appears twice in one object'],
    ["a: 1\n---\nb: 2\n", "a second document begins here; a file holds one"],
    ["a: .inf\n", ".inf is not a number that JSON knows"],
    ["a: !!int 3\n", "tags are not supported: "],
    ["a: 0.1234567890123456789\n", "more digits than a number keeps here"],
    ["1: a\n", "keys are text: put it in quotes"],
    ['{"a": NaN}', "NaN is not JSON"],
    ["a: *b\n", "b"],
  ])("%j: %s", (text, message) => {
    expect(faultOf(text).message).toContain(message);
  });

  it("points at the place, not at the end, of what was not closed", () => {
    const text = 'name: "Line\nstations: []\n';
    expect(faultOf(text).at).toBe(text.indexOf('"'));
  });

  it("is not nested without bounds", () => {
    expect(faultOf(`a: ${"[".repeat(150)}${"]".repeat(150)}\n`).message).toContain("nested deeper than");
  });

  it("is no bomb of aliases", () => {
    const lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"];
    for (let depth = 1; depth < 8; depth += 1)
      lines.push(
        `a${depth}: &a${depth} [${Array(10)
          .fill(`*a${depth - 1}`)
          .join(",")}]`,
      );
    expect(faultOf(`${lines.join("\n")}\n`).message).toContain("the document holds more than");
  });
});

describe("the documents that come with the product", () => {
  const folders = ["pipelines/lines/starters/lines", "pipelines/lines/demo/lines"];
  const paths = folders.flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}`));

  it.each(paths.filter((path) => path.endsWith(".yaml")))("%s is read, drawn, and written to the same", (path) => {
    const value = said(readFileSync(path, "utf8"));
    expect(canBeDrawn(value)).toBe(true);
    expect(said(whole(value))).toEqual(value);
  });
});

it("knows which plain words would be something else than text", () => {
  expect(["on", "yes", "12:30", "=", "1_000"].every(resolvesToText)).toBe(true);
  expect(["", "~", "null", "True", "-1", "0x1f", ".5", "1e3", ".NaN", "-.inf"].some(resolvesToText)).toBe(false);
});

import { describe, expect, it } from "vitest";

import type { Json } from "../store/document";
import { read } from "./reading";
import { rewrite } from "./rewrite";
import { type Obj, same } from "./values";

const TEXT = `# The line of the team.
gateline: "1"
name: Line   # shown on the board

stations:
  # Where it begins.
  - key: build
    name: 'Build it'
    work: {kind: command, argv: [make, all]}
    rules:
      - {id: built, when: {exit_code: 0}, to: check}   # the way on
      - id: broken
        to: failed

  - key: check
    rules: []
`;

const documentOf = (text: string): Obj => {
  const answer = read(text);
  if (!answer.ok) throw new Error(answer.message);
  return structuredClone(answer.value);
};

interface Line {
  name: string;
  stations: { key: string; name?: string; rules: { to: string }[] }[];
  [key: string]: unknown;
}

/** Rewritten by what `change` does to the value; it has to say that value. */
function changed(text: string, change: (line: Line) => void): string {
  const document = documentOf(text);
  change(document as unknown as Line);
  const rewritten = rewrite(text, document);
  expect(documentOf(rewritten)).toEqual(document);
  return rewritten;
}

/** Lines that are in one text only. */
function apart(before: string, after: string): { gone: string[]; come: string[] } {
  const [had, has] = [before.split("\n"), after.split("\n")];
  return { gone: had.filter((line) => !has.includes(line)), come: has.filter((line) => !had.includes(line)) };
}

describe("a text that is to say something else", () => {
  it("stays the very same where nothing changed", () => {
    expect(rewrite(TEXT, documentOf(TEXT))).toBe(TEXT);
  });

  it("changes one value and nothing else, comments included", () => {
    const rewritten = changed(TEXT, (line) => {
      Object.assign(line.stations[0]?.rules[0] ?? {}, { to: "review" });
    });
    expect(rewritten).toBe(TEXT.replace("to: check}", "to: review}"));
  });

  it("keeps the quotes around what did not change, and the rest of the list", () => {
    const rewritten = changed(TEXT, (line) => {
      line.stations[0]?.rules.reverse();
    });
    expect(rewritten).toContain("name: 'Build it'");
    expect(rewritten).toContain("# the way on");
    expect(rewritten.indexOf("id: broken")).toBeLessThan(rewritten.indexOf("id: built"));
  });

  it("puts a new member at the place where it is usually written", () => {
    const rewritten = changed(TEXT, (line) => {
      Object.assign(line.stations[1] ?? {}, { name: "Check it" });
    });
    expect(apart(TEXT, rewritten)).toEqual({ gone: [], come: ["    name: Check it"] });
  });

  it("takes a station out with the comment that belongs to it", () => {
    const rewritten = changed(TEXT, (line) => {
      line.stations.shift();
    });
    expect(rewritten).toContain("# The line of the team.");
    expect(rewritten).not.toContain("build");
  });

  it("keeps the indentation of JSON", () => {
    const text = '{\n    "name": "a",\n    "stations": []\n}\n';
    expect(
      changed(text, (line) => {
        line.name = "b";
      }),
    ).toBe(text.replace('"a"', '"b"'));
  });

  it("writes anew what stood behind an alias, so that the other place stays", () => {
    const text = "a: &x {to: done}\nb: *x\n";
    changed(text, (line) => {
      line.b = { to: "failed" };
    });
  });
});

/** Numbers that are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
}

function someValue(next: (below: number) => number, depth: number): Json {
  const words = [
    "a",
    "on",
    "two words",
    "x: y",
    "- z",
    "#",
    "lines\nof text\n",
    "ü",
    "",
    " padded ",
    "12",
    "null",
    "'",
  ];
  const kind = next(depth > 0 ? 6 : 4);
  if (kind === 0) return next(100) - 50;
  if (kind === 1) return next(2) === 0;
  if (kind <= 3) return words[next(words.length)] ?? "";
  if (kind === 4) return Array.from({ length: next(4) }, () => someValue(next, depth - 1));
  const members = Array.from({ length: next(4) }, (_, at) => [`k${at}`, someValue(next, depth - 1)] as const);
  return Object.fromEntries(members);
}

it("writes keys in the order of the documentation", () => {
  const text = "stations:\n  - key: build\n    work:\n      kind: command\n      argv: [make]\n    rules: []\n";
  const document = documentOf(text);
  const [station] = document.stations as [Obj];
  station.join = { wait_for: ["one"] };
  station.labels = ["python"];
  station.name = "Build";
  Object.assign(station.work as Obj, { cwd: "sub", env: { A: "b" }, prompt: "x" });
  const keys = [...rewrite(text, document).matchAll(/^ *(?:- )?(\w+):/gm)].map((found) => found[1]);
  expect(keys).toEqual("stations key name work kind argv prompt env cwd labels join rules".split(" "));
});

it("says what is wanted, whatever it said before", () => {
  const next = numbers(7);
  let text = TEXT;
  for (let round = 0; round < 120; round += 1) {
    const document: Obj = documentOf(text);
    document[`k${next(4)}`] = someValue(next, 3);
    if (next(4) === 0) delete document[Object.keys(document)[next(Object.keys(document).length)] ?? ""];
    if (next(5) === 0)
      document.stations = Array.from({ length: next(3) }, (_, at) => ({ key: `s${at}`, x: someValue(next, 2) }));
    if (Object.keys(document).length === 0) continue;
    text = rewrite(text, document);
    expect(same(documentOf(text), document), text).toBe(true);
  }
});

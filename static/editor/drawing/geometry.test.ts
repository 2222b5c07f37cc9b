import { readdirSync, readFileSync } from "node:fs";
import ELK from "elkjs/lib/elk.bundled.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { LineDocument, Rule, Station } from "../store/document";
import { NOTHING } from "../store/findings";
import { best } from "./best";
import { answered, asked, type Engine } from "./elk";
import { crossings, faults, sizeOf } from "./geometry";
import { graphOf } from "./graph";

const elk = new ELK() as unknown as Engine;
/** `make soak` draws 2,000. */
const MANY = Number(process.env.DRAWINGS ?? 16);

/** The same numbers for the same seed. */
function numbers(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 8) % 65536) / 65536;
  };
}

const WORDS = ["ok", "passed", "Tests pass", "A finding of high severity", "Not a repository, or not allowed", ""];

function generated(seed: number): LineDocument {
  const next = numbers(seed);
  const upTo = (most: number): number => Math.floor(next() * most);
  const count = 1 + upTo(12);
  const gates = [
    { key: "look", name: "A look" },
    { key: "board", name: "The board of the release" },
  ];
  const ends = [
    { key: "done", kind: "completed", label: "DONE" },
    { key: "given-up", kind: "cancelled", label: "GIVEN_UP" },
  ];
  const target = (at: number): string => {
    const pick = next();
    if (pick < 0.35) return at + 1 < count ? `s${at + 1}` : "done";
    if (pick < 0.7) return `s${upTo(count)}`;
    return ["done", "failed", "given-up", "@origin", "@blocked", "nowhere"][upTo(6)] ?? "done";
  };
  const rule = (at: number, index: number): Rule => {
    const wide = next() < 0.12;
    const to = wide
      ? [...new Set([target(at), target(at), target(at)])]
      : index === 0 && next() < 0.6
        ? at + 1 < count
          ? `s${at + 1}`
          : "done"
        : target(at);
    const label = WORDS[upTo(WORDS.length)];
    return {
      id: `r${at}-${index}`,
      to,
      ...(label ? { label } : {}),
      when: next() < 0.3 ? { result: "failure" } : next() < 0.4 ? { result: "success" } : { output: { path: "$.a" } },
      ...(next() < 0.2 ? { gates: next() < 0.3 ? ["look", "board"] : [next() < 0.5 ? "look" : "board"] } : {}),
    };
  };
  const stations = Array.from({ length: count }, (_, at): Station => {
    const rules = Array.from({ length: upTo(5) }, (_, index) => rule(at, index));
    return {
      key: `s${at}`,
      name: ["Lint", "Security review", "Implement what was planned"][upTo(3)] ?? "",
      rules,
      ...(next() < 0.12 ? { join: { wait_for: ["s0"], aggregation: "all-pass" } } : {}),
    };
  });
  return { stations, gates, ends };
}

/** As the server would say it of some rules. */
function said(line: LineDocument, seed: number): typeof NOTHING {
  const next = numbers(seed + 7777);
  const rules = line.stations.flatMap((station) => station.rules ?? []);
  const of = (share: number) => rules.filter(() => next() < share).map((rule) => rule.id);
  const dead = { status: "dead" as const, words: "", faulty: false, why: "", example: "" };
  return {
    ...NOTHING,
    rules: Object.fromEntries(of(0.08).map((id) => [id, dead])),
    signs: { ...NOTHING.signs, rules: Object.fromEntries(of(0.3).map((id) => [id, { most: 3, words: [] }])) },
    onward: Object.fromEntries(
      line.stations.flatMap(({ key, rules }, at) =>
        rules?.length || next() < 0.4 ? [] : [[key, line.stations[at + 1]?.key ?? "completed"]],
      ),
    ),
    endless: Object.fromEntries(of(0.3).map((id) => [id, ["s0"]])),
  };
}

/** ELK as it comes, for comparison: nothing set but the direction. */
const DEFAULT = { "elk.algorithm": "layered", "elk.direction": "RIGHT" };

describe("a line that nobody has put anywhere", () => {
  it("is drawn without a fault, whatever it is, in one row and in a window", async () => {
    const wrong: string[] = [];
    const count = { ours: 0, theirs: 0, edges: 0 };
    const first = Number(process.env.FIRST ?? 0);
    for (let seed = first; seed < first + MANY; seed += 1) {
      const line = generated(seed);
      const window: readonly [number, number] = seed % 2 === 0 ? [0, 0] : [820, 590];
      const graph = graphOf(line, said(line, seed), window);
      const placed = await best(graph, elk);
      wrong.push(...faults(graph, placed).map((each) => `line ${seed}: ${each}`));
      if (window[0] === 0) {
        count.ours += crossings(placed.ways);
        const plain = await elk.layout({ ...asked(graph), layoutOptions: DEFAULT });
        count.theirs += crossings(answered(graph, plain).ways);
        count.edges += placed.ways.length;
      }
    }
    console.log(
      `${MANY} lines: ${count.edges} edges in one row cross ${count.ours} times, by ELK's default ${count.theirs}`,
    );
    expect(wrong).toEqual([]);
  }, 7_200_000);
});

/** What an editor at 1440 by 900 has for its canvas. */
const WINDOW = [820, 590] as const;

describe("the lines that come with the product", () => {
  const folders = ["pipelines/lines/starters/lines", "pipelines/demo/lines"];
  const paths = folders.flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}`));

  it.each(paths.filter((path) => path.endsWith(".yaml")))("%s", async (path) => {
    const line = parse(readFileSync(path, "utf8")) as LineDocument;
    const graph = graphOf(line, NOTHING, WINDOW);
    expect(graph.parts.length).toBeGreaterThan(2);
    const placed = await best(graph, elk);
    expect(faults(graph, placed)).toEqual([]);
    // Read at once, or as a page is read: all of its width.
    const [width, height] = sizeOf(placed);
    const near = line.stations.length <= 12 ? Math.min(WINDOW[0] / width, WINDOW[1] / height) : WINDOW[0] / width;
    expect(near).toBeGreaterThanOrEqual(0.7);
  });
});

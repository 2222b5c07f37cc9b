import { readdirSync, readFileSync } from "node:fs";
import ELK from "elkjs/lib/elk.bundled.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { LineDocument } from "../store/document";
import { NOTHING } from "../store/findings";
import { best } from "./best";
import { answered, asked, type Engine } from "./elk";
import { generated, said } from "./generated";
import { crossingMain, crossings, faults, sizeOf, tooLong, unsaid } from "./geometry";
import { graphOf } from "./graph";
import { shownOf } from "./rows";
import { frameOf } from "./shapes";
import type { Graph, Placed } from "./types";

const elk = new ELK() as unknown as Engine;
/** `make soak` draws 2,000. */
const MANY = Number(process.env.DRAWINGS ?? 16);

/** ELK as it comes, for comparison: nothing set but the direction. */
const DEFAULT = { "elk.algorithm": "layered", "elk.direction": "RIGHT" };

const measured = (graph: Graph, placed: Placed): string[] => crossingMain(graph, placed).concat(tooLong(graph, placed));

describe("a line that nobody has put anywhere", () => {
  it("is drawn without a fault, whatever it is, in one row and in a window", async () => {
    const [wrong, far]: [string[], string[]] = [[], []];
    const count = { ours: 0, theirs: 0, edges: 0 };
    const first = Number(process.env.FIRST ?? 0);
    for (let seed = first; seed < first + MANY; seed += 1) {
      const line = generated(seed);
      const window: readonly [number, number] = seed % 2 === 0 ? [0, 0] : [820, 590];
      const graph = graphOf(line, said(line, seed), window);
      const placed = await best(graph, elk);
      const visible = shownOf(graph, placed);
      wrong.push(...faults(visible, placed).map((each) => `line ${seed}: ${each}`));
      far.push(...measured(visible, placed).map((each) => `line ${seed}: ${each}`));
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
    expect(far).toEqual([]);
    expect(count.ours).toBeLessThanOrEqual(count.theirs);
  }, 7_200_000);
});

/** What an editor at 1440 by 900 has for its canvas, and what a page has for a drawing. */
const [WINDOW, PAGE] = [[820, 590] as const, [1300, 560] as const];
/** Lines of so few stations stand in one row on a page, so near at least. */
const FEW = { stations: 8, zoom: 0.8 };

describe("the lines that come with the product", () => {
  const folders = ["pipelines/lines/starters/lines", "pipelines/lines/demo/lines"];
  const paths = folders.flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}`));

  it.each(paths.filter((path) => path.endsWith(".yaml")))("%s", async (path) => {
    const line = parse(readFileSync(path, "utf8")) as LineDocument;
    for (const window of [WINDOW, PAGE]) {
      const graph = graphOf(line, NOTHING, window);
      expect(graph.parts.length).toBeGreaterThan(2);
      const placed = await best(graph, elk);
      const visible = shownOf(graph, placed);
      expect(faults(visible, placed)).toEqual([]);
      expect(measured(visible, placed)).toEqual([]);
      // Read at once, or as a page is read: all of its width.
      const [width, height] = sizeOf(placed);
      const near = line.stations.length <= 12 ? Math.min(window[0] / width, window[1] / height) : window[0] / width;
      expect(near).toBeGreaterThanOrEqual(0.7);
      if (window !== PAGE || line.stations.length > FEW.stations) continue;
      expect(placed.rows).toEqual([]);
      expect(unsaid(visible, placed)).toEqual([]);
      expect(window[0] / frameOf(visible, placed).width).toBeGreaterThanOrEqual(FEW.zoom);
    }
  });
});

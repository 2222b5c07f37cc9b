import { readFileSync } from "node:fs";
import ELK from "elkjs/lib/elk.bundled.js";
import { expect, it } from "vitest";
import { parse } from "yaml";
import type { LineDocument } from "../store/document";
import { NOTHING } from "../store/findings";
import { best } from "./best";
import type { Engine } from "./elk";
import { crossings, faults, faulty } from "./geometry";
import { graphOf } from "./graph";
import { nearer } from "./nearby";
import { shownOf } from "./rows";
import type { Graph, Placed } from "./types";

const elk = new ELK() as unknown as Engine;
const PAGE = [1080, 480] as const;

async function drawn(path: string): Promise<{ graph: Graph; placed: Placed }> {
  const line = parse(readFileSync(`pipelines/lines/demo/lines/${path}.yaml`, "utf8")) as LineDocument;
  const graph = graphOf(line, NOTHING, PAGE);
  const placed = await best(graph, elk);
  return { graph: shownOf(graph, placed), placed };
}

it("leads back below what stands in between, and names what is near before what is far", async () => {
  for (const path of ["repository-check", "flux-standard-dev"]) {
    const { placed } = await drawn(path);
    expect([path, crossings(placed.ways)]).toEqual([path, 0]);
  }
});

it("puts a pill back beside its station that stands where its edge goes too far, and moves nothing else", async () => {
  const { graph, placed } = await drawn("flux-standard-dev");
  const pill = graph.parts.find(({ key, kind }) => kind === "pill" && key.startsWith("deploy"))?.key ?? "";
  const away: Placed = {
    ...placed,
    parts: placed.parts.map((spot) => (spot.key === pill ? { ...spot, y: spot.y + 2_000 } : spot)),
    ways: placed.ways.map((way) => {
      if (way.target !== pill) return { ...way, wordsAt: undefined };
      const points = way.points.map(([x, y], at) => (at < 2 ? ([x, y] as const) : ([x, y + 2_000] as const)));
      return {
        ...way,
        wordsAt: undefined,
        points: [...points.slice(0, 2), [points[1]?.[0] ?? 0, -500] as const, ...points.slice(2)],
      };
    }),
  };
  expect(faulty(graph, away)).not.toEqual([]);
  const mended = nearer(graph, away);
  expect([faulty(graph, mended), faults(graph, mended)]).toEqual([[], []]);
  const others = (of: Placed) => of.parts.filter(({ key }) => key !== pill);
  expect(others(mended)).toEqual(expect.arrayContaining(others(placed)));
});

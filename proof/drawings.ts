/** Figures of drawings, a picture a line on its input: what is wrong with each, and how often its edges cross, beside those of
 * ELK without our options. Bundled and started by proof/drawings.py. */
import { createInterface } from "node:readline";
import ELK, { type ElkExtendedEdge, type ElkNode } from "elkjs/lib/elk.bundled.js";
import type { Picture } from "../static/editor/api/line";
import { best } from "../static/editor/drawing/best";
import type { Engine } from "../static/editor/drawing/elk";
import { crossingMain, crossingPoints, faults, tooLong, unsaid } from "../static/editor/drawing/geometry";
import { graphOf } from "../static/editor/drawing/graph";
import { shownOf } from "../static/editor/drawing/rows";
import { frameOf } from "../static/editor/drawing/shapes";
import type { Graph, Point, Way } from "../static/editor/drawing/types";
import { gateHeight, gateWidth } from "../static/editor/drawing/zones";
import { findingsOf } from "../static/editor/shown/findings";
import { WINDOWS } from "../static/editor/drawing/frames";
import { type KindOfWork, takeKinds } from "../static/editor/store/kinds";

const elk = new ELK();
const engine = elk as unknown as Engine;

for await (const request of createInterface({ input: process.stdin })) {
  const picture: Picture & { kinds: KindOfWork[] } = JSON.parse(request);
  takeKinds(picture.kinds);
  const graph = graphOf(picture.document, findingsOf(picture), WINDOWS.wide);
  const placed = await best(graph, engine);
  const visible = shownOf(graph, placed);
  const frame = frameOf(visible, placed);
  const [width, height] = WINDOWS.wide;
  const wrong = faults(visible, placed);
  const figures = {
    stations: picture.document.stations.length,
    crossingMain: crossingMain(visible, placed),
    tooLong: tooLong(visible, placed),
    gatesTwice: wrong.filter((fault) => fault.includes(" asks twice ")),
    covered: wrong.filter((fault) => / covers | goes through words /.test(fault)),
    stubs: placed.stubs?.length ?? 0,
    unsaid: unsaid(visible, placed).length,
    sayable: visible.parts.flatMap(({ outlets }) => outlets.filter(({ words }) => words > 0)).length,
    rows: Math.max(1, placed.rows.length),
    zoom: Math.min(1, width / frame.width, height / frame.height),
    crossings: seenCrossings(placed.ways),
    crossingsOfElk: seenCrossings(await elkAlone(graph)),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

/** Edges that run as one cross another one once: an eye counts places. */
function seenCrossings(ways: readonly Way[]): number {
  return new Set(crossingPoints(ways).map(([x, y]) => `${x} ${y}`)).size;
}

/** The same cards, gates and edges, laid out with what ELK does by itself. */
async function elkAlone({ parts }: Graph): Promise<Way[]> {
  const children: ElkNode[] = parts.map(({ key, width, height }) => ({ id: key, width, height }));
  const edges: ElkExtendedEdge[] = [];
  for (const part of parts)
    for (const outlet of part.outlets) {
      if (outlet.badge || outlet.leader !== undefined) continue;
      const gate = `gate ${outlet.id}`;
      const source = outlet.gate > 0 ? gate : part.key;
      if (outlet.gate > 0) {
        children.push({ id: gate, width: gateWidth(outlet), height: gateHeight(outlet) });
        edges.push({ id: `${outlet.id} `, sources: [part.key], targets: [gate] });
      }
      for (const target of outlet.targets)
        edges.push({ id: `${outlet.id}>${target}`, sources: [source], targets: [target] });
    }
  const known = new Set(children.map(({ id }) => id));
  const drawn = edges.filter(({ targets }) => targets.every((target) => known.has(target)));
  const laid = await elk.layout({ id: "line", layoutOptions: { "elk.algorithm": "layered" }, children, edges: drawn });
  return (laid.edges ?? []).flatMap(({ id, sections = [] }) =>
    sections.map(({ startPoint, bendPoints = [], endPoint }) => ({
      rule: id.split(">")[0] ?? id,
      target: id,
      points: [startPoint, ...bendPoints, endPoint].map(({ x, y }): Point => [x, y]),
      back: false,
      pillAt: undefined,
    })),
  );
}

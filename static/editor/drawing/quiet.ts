/** A line that says less, so that it stands in one row: no words where the way is the only one or the one that all goes well
 * on. Its rules say them, and whoever points at an edge reads them. */
import { alongOf } from "./along";
import { broken } from "./text";
import type { Graph, Outlet, Placed } from "./types";
import { gateOf } from "./zones";

export function quietOf(graph: Graph): Graph {
  const main = new Set(graph.mainRules);
  const parts = graph.parts.map((part) => {
    const outlets = part.outlets.map((each) =>
      each.stubs.length === 0 && !each.loops && (main.has(each.id) || part.outlets.length === 1)
        ? { ...each, lines: 0, words: 0 }
        : each,
    );
    return { ...part, outlets };
  });
  return { ...graph, parts };
}

/** Names of gates in two lines, where that makes them narrower. */
export function foldedOf(graph: Graph): Graph {
  const fold = (each: Outlet): Outlet =>
    each.gate > 0 ? { ...each, ...gateOf(broken(each.gateRows.join(" ")), each.many) } : each;
  return { ...graph, parts: graph.parts.map((part) => ({ ...part, outlets: part.outlets.map(fold) })) };
}

/** What a drawing does so that it stands in one row. */
export type Left = Pick<Placed, "quiet" | "folded" | "along">;

/** What of the graph is drawn in this layout. */
export function shownOf(graph: Graph, { quiet, folded, along }: Left): Graph {
  const visible = quiet ? quietOf(graph) : graph;
  const strung = along ? alongOf(visible, along) : visible;
  return folded ? foldedOf(strung) : strung;
}

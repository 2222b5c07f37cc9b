/** A line that says less, so that it stands in one row: no words where the way is the only one or the one that all goes well
 * on. Its rules say them, and whoever points at an edge reads them. */
import type { Graph, Placed } from "./types";

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

/** What of the graph is drawn in this layout. */
export const shownOf = (graph: Graph, placed: Placed): Graph => (placed.quiet ? quietOf(graph) : graph);

/** The layout that is taken: in one row where it can be read so, else broken into rows by the shape of the window. */
import type { ElkNode } from "elkjs/lib/elk-api";
import { answered, asked, type Engine } from "./elk";
import { bent } from "./geometry";
import { freed } from "./pills";
import { countOf, entryOf, exitOf, LONG, type RowOf, rowsFor, stacked } from "./rows";
import type { Graph, Placed } from "./types";

/** Further away a line is not read: it is broken into rows. */
const LEAST = 0.68;
/** Nearer than this nothing is won. */
const MOST = 0.9;
/** What an edge into another row is worth, in zoom. */
const CUT = 0.02;

interface Chosen {
  laid: ElkNode;
  rowOf?: RowOf;
}

export async function best(graph: Graph, engine: Engine): Promise<Placed> {
  const { laid, rowOf } = await chosen(graph, engine);
  const placed = freed(graph, answered(graph, laid));
  if (!rowOf) return placed;
  const rows = Array.from({ length: Math.max(...rowOf.values()) + 1 }, (_, row) =>
    graph.parts.map((part) => part.key).filter((key) => rowOf.get(key) === row),
  );
  return { ...placed, rows: rows.filter((each) => each.length > 0) };
}

async function chosen(graph: Graph, engine: Engine): Promise<Chosen> {
  const [width, height] = graph.window;
  const zoom = (laid: ElkNode): number =>
    Math.min(MOST, width / Math.max(1, laid.width ?? 1), height / Math.max(1, laid.height ?? 1));
  if (width === 0) return { laid: await straight(graph, engine) };
  if (graph.parts.length > LONG) {
    const { rowOf } = rowsFor(graph, countOf(graph));
    return { laid: await inRows(graph, rowOf, engine), rowOf };
  }
  let found: Chosen = { laid: await straight(graph, engine) };
  if (zoom(found.laid) >= LEAST) return found;
  // What can be read at once counts first, then what can be read from above to below, then how little is torn apart.
  const worthOf = (laid: ElkNode, cut: number): number => {
    if (zoom(laid) >= LEAST) return 2 + zoom(laid) - CUT * cut;
    return (width >= LEAST * (laid.width ?? 1) ? 1 : 0) + zoom(laid) - CUT * cut;
  };
  let worth = worthOf(found.laid, 0);
  for (const count of [2, 3, 4, 5]) {
    const { rowOf, cut } = rowsFor(graph, count);
    const laid = await inRows(graph, rowOf, engine);
    if (worthOf(laid, cut) <= worth) continue;
    worth = worthOf(laid, cut);
    found = { laid, rowOf };
  }
  return found;
}

/** In one row, the main way straight: where ELK bends it after all, the order of the edges is left to ELK. */
async function straight(graph: Graph, engine: Engine): Promise<ElkNode> {
  const first = await engine.layout(asked(graph));
  if (bent(graph, answered(graph, first)).length === 0) return first;
  for (const order of ["PREFER_NODES", "NONE"]) {
    const wanted = asked(graph);
    const layoutOptions = { ...wanted.layoutOptions, "elk.layered.considerModelOrder.strategy": order };
    const other = await engine.layout({ ...wanted, layoutOptions });
    if (bent(graph, answered(graph, other)).length === 0) return other;
  }
  return first;
}

async function inRows(graph: Graph, rowOf: RowOf, engine: Engine): Promise<ElkNode> {
  const count = Math.max(...rowOf.values()) + 1;
  const rows: ElkNode[] = [];
  // What left the row before highest comes in highest.
  let order: string[] = [];
  for (let row = 0; row < count; row += 1) {
    const wanted = asked(graph, { rowOf, row, order });
    if (wanted.children?.length === 0) continue;
    const laid = await engine.layout(wanted);
    rows.push(laid);
    const exits = (laid.children ?? []).filter((node) => node.id.startsWith(exitOf("")));
    exits.sort((a, b) => (a.y ?? 0) - (b.y ?? 0));
    order = [...order, ...exits.map((node) => entryOf(node.id.slice(exitOf("").length)))];
  }
  return rows.length > 1 ? stacked(rows) : (rows[0] as ElkNode);
}

/** The layout that is taken: in one row where it can be read so, else broken into rows by the shape of the window. */
import type { ElkNode } from "elkjs/lib/elk-api";
import { answered, asked, type Engine } from "./elk";
import { bent, crossings } from "./geometry";
import { freed } from "./pills";
import { quietOf } from "./quiet";
import { countOf, entryOf, exitOf, LONG, type RowOf, rowsFor, stacked } from "./rows";
import type { Graph, Placed } from "./types";

/** Further away a line is not read: it is broken into rows. */
const LEAST = 0.68;
/** So near one row is better than several even with fewer words. */
const QUIET = 0.7;
/** Nearer than this nothing is won. */
const MOST = 0.9;
/** What an edge into another row is worth, in zoom. */
const CUT = 0.02;
/** What a bend of the main way is worth, in crossings. */
const BENT = 1_000;
/** With so few crossings nothing else is tried. */
const FEW = 2;
/** How much of its zoom a line in rows may lose for fewer crossings. */
const SMALLER = 0.97;

interface Chosen {
  laid: ElkNode;
  rowOf?: RowOf;
  quiet?: true;
}

export async function best(graph: Graph, engine: Engine): Promise<Placed> {
  const { laid, rowOf, quiet } = await chosen(graph, engine);
  if (!quiet) return freed(graph, placedIn(graph, laid, rowOf));
  const spare = quietOf(graph);
  return { ...freed(spare, placedIn(spare, laid, rowOf)), quiet };
}

function placedIn(graph: Graph, laid: ElkNode, rowOf: RowOf | undefined): Placed {
  const placed = answered(graph, laid);
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
  const fits = (least: number) => (laid: ElkNode) => zoom(laid) >= least;
  const one = await straight(graph, engine, {}, fits(LEAST));
  if (zoom(one) >= LEAST) return { laid: one };
  const spare = quietOf(graph);
  const row = await straight(spare, engine, NARROW, fits(QUIET));
  if (zoom(row) >= QUIET) return { laid: row, quiet: true };
  const rows = await broken(graph, engine, one, zoom);
  if (zoom(rows.laid) >= LEAST) return rows;
  const fewer = await broken(spare, engine, one, zoom, NARROW, [2, 3]);
  if (zoom(fewer.laid) >= LEAST) return { ...fewer, quiet: true };
  return rows.rowOf ? rows : { laid: await straight(graph, engine) };
}

/** In as many rows as are read best; `one`: in a single one. */
async function broken(
  graph: Graph,
  engine: Engine,
  one: ElkNode,
  zoom: (laid: ElkNode) => number,
  apart: Options = {},
  counts: readonly number[] = [2, 3, 4, 5],
): Promise<Chosen> {
  const isWide = (laid: ElkNode): boolean => graph.window[0] >= LEAST * (laid.width ?? 1);
  // What can be read at once counts first, then what can be read from above to below, then how little is torn apart.
  const worthOf = (laid: ElkNode, cut: number): number => {
    if (zoom(laid) >= LEAST) return 2 + zoom(laid) - CUT * cut;
    return (isWide(laid) ? 1 : 0) + zoom(laid) - CUT * cut;
  };
  let found: Chosen = { laid: one };
  let worth = worthOf(one, 0);
  for (const count of counts) {
    const { rowOf, cut } = rowsFor(graph, count);
    const laid = await inRows(graph, rowOf, engine, apart);
    if (worthOf(laid, cut) > worth) {
      worth = worthOf(laid, cut);
      found = { laid, rowOf };
    }
    // All of its width is read, and more rows are only higher.
    if (isWide(laid) && zoom(laid) * (laid.width ?? 1) < graph.window[0] - 1) break;
  }
  return found.rowOf ? { ...found, laid: await clearer(graph, found.laid, found.rowOf, engine, zoom, apart) } : found;
}

type Options = Readonly<Record<string, string>>;

/** What is told otherwise to ELK where edges cross or the main way bends: how much the order of the model counts, and where
 * its search for few crossings begins. */
const OTHERWISE: readonly Record<string, string>[] = [
  { order: "NONE", seed: "7" },
  { order: "NONE", seed: "1" },
  { order: "PREFER_NODES", seed: "1" },
  { order: "NONE", seed: "3" },
  { order: "NONE", seed: "11" },
].map(({ order, seed }) => ({
  "elk.layered.considerModelOrder.strategy": order as string,
  "elk.randomSeed": seed as string,
}));

/** ELK straightens what has one edge on each side last of all, and counts all edges alike there: the end of the main way
 * follows an edge that is not even drawn. Without that step the weights of the edges decide alone. */
const BY_WEIGHT = { "elk.layered.nodePlacement.favorStraightEdges": "false" };

/** Columns nearer to one another. */
const NARROW = {
  "elk.layered.spacing.nodeNodeBetweenLayers": "14",
  "elk.layered.spacing.edgeNodeBetweenLayers": "10",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "8",
};

/** In one row: the main way straight, then as few crossings as can be had, then the order of the model; searched for only
 * where the first fits. */
async function straight(
  graph: Graph,
  engine: Engine,
  apart: Options = {},
  fits: (laid: ElkNode) => boolean = () => true,
): Promise<ElkNode> {
  const lay = (other: Options): Promise<ElkNode> => {
    const wanted = asked(graph);
    return engine.layout({ ...wanted, layoutOptions: { ...wanted.layoutOptions, ...apart, ...other } });
  };
  const first = await lay({});
  if (!fits(first)) return first;
  const costOf = (laid: ElkNode): number => {
    const placed = answered(graph, laid);
    return BENT * bent(graph, placed).length + crossings(placed.ways);
  };
  let found = { laid: first, cost: costOf(first) };
  const enough = graph.parts.length > LONG ? BENT - 1 : FEW;
  for (const other of [...(found.cost >= BENT ? [BY_WEIGHT] : []), ...OTHERWISE]) {
    if (found.cost <= enough) break;
    const laid = await lay(other);
    const cost = costOf(laid);
    if (cost < found.cost) found = { laid, cost };
  }
  return found.laid;
}

/** The same rows with fewer crossings, where another search finds them in about as much room. */
async function clearer(
  graph: Graph,
  first: ElkNode,
  rowOf: RowOf,
  engine: Engine,
  zoom: (laid: ElkNode) => number,
  apart: Options,
): Promise<ElkNode> {
  const costOf = (laid: ElkNode): number => {
    const placed = placedIn(graph, laid, rowOf);
    return BENT * bent(graph, placed).length + crossings(placed.ways);
  };
  let found = { laid: first, cost: costOf(first) };
  for (const other of OTHERWISE) {
    if (found.cost <= FEW) break;
    const laid = await inRows(graph, rowOf, engine, { ...apart, ...other });
    if (zoom(laid) < SMALLER * zoom(first)) continue;
    const cost = costOf(laid);
    if (cost < found.cost) found = { laid, cost };
  }
  return found.laid;
}

async function inRows(graph: Graph, rowOf: RowOf, engine: Engine, other: Options = {}): Promise<ElkNode> {
  const count = Math.max(...rowOf.values()) + 1;
  const rows: ElkNode[] = [];
  // What left the row before highest comes in highest.
  let order: string[] = [];
  for (let row = 0; row < count; row += 1) {
    const wanted = asked(graph, { rowOf, row, order });
    if (wanted.children?.length === 0) continue;
    const laid = await engine.layout({ ...wanted, layoutOptions: { ...wanted.layoutOptions, ...other } });
    rows.push(laid);
    const exits = (laid.children ?? []).filter((node) => node.id.startsWith(exitOf("")));
    exits.sort((a, b) => (a.y ?? 0) - (b.y ?? 0));
    order = [...order, ...exits.map((node) => entryOf(node.id.slice(exitOf("").length)))];
  }
  return rows.length > 1 ? stacked(rows) : (rows[0] as ElkNode);
}

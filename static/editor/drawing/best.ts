/** The layout that is taken: in one row where it can be read so, else broken into rows by the shape of the window. */
import type { ElkNode } from "elkjs/lib/elk-api";
import { alongRules, strung } from "./along";
import { answered, asked, type Engine } from "./elk";
import { bent, crossings } from "./geometry";
import { narrowed } from "./narrowed";
import { freed } from "./pills";
import { type Left, shownOf } from "./quiet";
import { countOf, entryOf, exitOf, LONG, type RowOf, rowsFor, stacked } from "./rows";
import { frameOf } from "./shapes";
import { shared } from "./trunks";
import type { Graph, Placed } from "./types";

/** Further away a line is not read: it is broken into rows. */
const LEAST = 0.68;
/** So near one row needs to say no less. */
const WELL = 0.8;
/** Nearer than this nothing is won. */
const MOST = 0.9;
/** What an edge into another row is worth, in zoom. */
const CUT = 0.02;
/** What a bend of the main way is worth, in crossings. */
const BENT = 1_000;
/** With so few crossings nothing else is tried. */
const FEW = 2;
/** How much of its zoom a line may lose for fewer crossings. */
const SMALLER = 0.97;
/** How much wider than it can be a line stands that has the room: as wide as it is seen well. */
const WIDE = [1.8, 1.4, 1];

const COMPLETE: Left = {};
/** What each of that is worth, in zoom. */
const LABEL_COST = 0.01;

interface Drawn {
  placed: Placed;
  /** How near all of it is seen, and the same up to where nothing more is won. */
  fit: number;
  zoom: number;
  width: number;
  /** Rules whose words found no place on their edge. */
  without: readonly string[];
  left: Left;
}

export async function best(graph: Graph, engine: Engine): Promise<Placed> {
  const { placed, left } = await new Layout(graph, engine).chosen();
  const visible = shownOf(graph, left);
  return { ...freed(visible, shared(visible, placed)), ...left };
}

type Options = Readonly<Record<string, string>>;

/** What is told otherwise to ELK where edges cross or the main way bends: how much the order of the model counts, and where
 * its search for few crossings begins. */
const OTHERWISE: readonly Options[] = [
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
const BY_WEIGHT: Options = { "elk.layered.nodePlacement.favorStraightEdges": "false" };

class Layout {
  readonly #graph: Graph;
  readonly #engine: Engine;

  constructor(graph: Graph, engine: Engine) {
    this.#graph = graph;
    this.#engine = engine;
  }

  async chosen(): Promise<Drawn> {
    const graph = this.#graph;
    if (graph.window[0] === 0) return this.#clearest(COMPLETE, await this.#inOneRow(COMPLETE));
    if (graph.parts.length > LONG) {
      const { rowOf } = rowsFor(graph, countOf(graph));
      return this.#inRows(COMPLETE, rowOf, {});
    }
    const one = await this.#inOneRow(COMPLETE);
    if (one.zoom >= WELL) return this.#clearest(COMPLETE, one);
    const along = alongRules(graph);
    const row = await this.#saying(one, await this.#strung({ quiet: true, folded: true, along }));
    if (row) return this.#clearest(row.left, row);
    const rows = await this.#broken({ folded: true }, one, [2, 3, 4, 5]);
    if (rows.zoom >= LEAST) return rows;
    const fewer = await this.#broken({ quiet: true, folded: true }, one, [2, 3]);
    if (fewer.zoom >= LEAST) return fewer;
    return rows.placed.rows.length > 0 ? rows : this.#clearest(COMPLETE, one);
  }

  /** The one row that says most of those that can be read well, else the nearest; none where no row can be read. */
  async #saying(one: Drawn, least: Drawn): Promise<Drawn | undefined> {
    if (Math.max(one.zoom, least.zoom) < LEAST) return undefined;
    const worthOf = ({ zoom, left }: Drawn): number => zoom - LABEL_COST * Object.keys(left).length;
    let better = worthOf(one) < worthOf(least) ? least : one;
    const along = least.left.along ?? [];
    const ways: readonly Left[] = [{ quiet: true }, ...(along.length > 0 ? [{ quiet: true as const, along }] : [])];
    for (const left of ways) {
      const drawn = await this.#strung(left);
      if (drawn.zoom >= WELL) return drawn;
      if (worthOf(drawn) > worthOf(better)) better = drawn;
    }
    return least.zoom >= WELL ? least : better.zoom >= LEAST ? better : undefined;
  }

  /** In one row; words that find no place on their edge stand beside its port after all. */
  async #strung(left: Left): Promise<Drawn> {
    const drawn = await this.#inOneRow(left);
    if (drawn.without.length === 0) return drawn;
    return this.#strung({ ...left, along: left.along?.filter((each) => !drawn.without.includes(each)) ?? [] });
  }

  /** In as many rows as are read best; `one`: in a single one. */
  async #broken(left: Left, one: Drawn, counts: readonly number[]): Promise<Drawn> {
    const [width] = this.#graph.window;
    const graph = shownOf(this.#graph, left);
    const isWide = (drawn: Drawn): boolean => width >= LEAST * drawn.width;
    // What can be read at once counts first, then what can be read from above to below, then how little is torn apart.
    const worthOf = (drawn: Drawn, cut: number): number =>
      (drawn.zoom >= LEAST ? 2 : isWide(drawn) ? 1 : 0) + drawn.zoom - CUT * cut;
    let chosenDrawing: { drawn: Drawn; rowOf?: RowOf } = { drawn: one };
    let worth = worthOf(one, 0);
    for (const count of counts) {
      const { rowOf, cut } = rowsFor(graph, count);
      const drawn = await this.#inRows(left, rowOf, {});
      if (worthOf(drawn, cut) > worth) {
        worth = worthOf(drawn, cut);
        chosenDrawing = { drawn, rowOf };
      }
      // All of its width is read, and more rows are only higher.
      if (isWide(drawn) && drawn.zoom * drawn.width < width - 1) break;
    }
    const { drawn, rowOf } = chosenDrawing;
    return rowOf ? this.#clearer(drawn, OTHERWISE, FEW, (other) => this.#inRows(left, rowOf, other)) : drawn;
  }

  /** In one row: the main way straight, then as few crossings as can be had, then the order of the model. */
  async #clearest(left: Left, first: Drawn): Promise<Drawn> {
    const others = this.#costOf(first) >= BENT ? [BY_WEIGHT, ...OTHERWISE] : OTHERWISE;
    const enough = this.#graph.parts.length > LONG ? BENT - 1 : FEW;
    return this.#clearer(first, others, enough, (other) => this.#inOneRow(left, other));
  }

  /** The same with fewer crossings, where another search finds them in about as much room. */
  async #clearer(
    first: Drawn,
    others: readonly Options[],
    enough: number,
    lay: (other: Options) => Promise<Drawn>,
  ): Promise<Drawn> {
    let cheapest = { drawn: first, cost: this.#costOf(first) };
    for (const other of others) {
      if (cheapest.cost <= enough) break;
      const drawn = await lay(other);
      const cost = this.#costOf(drawn);
      const isSmall = drawn.zoom < SMALLER * first.zoom && cheapest.cost < BENT;
      if (cost < cheapest.cost && !isSmall && drawn.without.length === 0) cheapest = { drawn, cost };
    }
    return cheapest.drawn;
  }

  #costOf({ placed, left }: Drawn): number {
    return BENT * bent(shownOf(this.#graph, left), placed).length + crossings(placed.ways);
  }

  async #inOneRow(left: Left, other: Options = {}): Promise<Drawn> {
    const graph = shownOf(this.#graph, left);
    const request = asked(graph);
    const laid = await this.#engine.layout({ ...request, layoutOptions: { ...request.layoutOptions, ...other } });
    return this.#drawn(left, answered(graph, laid));
  }

  async #inRows(left: Left, rowOf: RowOf, other: Options): Promise<Drawn> {
    const graph = shownOf(this.#graph, left);
    const rows: ElkNode[] = [];
    // What left the row before highest comes in highest.
    let order: string[] = [];
    for (let row = 0; row <= Math.max(...rowOf.values()); row += 1) {
      const request = asked(graph, { rowOf, row, order });
      if (request.children?.length === 0) continue;
      const laid = await this.#engine.layout({ ...request, layoutOptions: { ...request.layoutOptions, ...other } });
      rows.push(laid);
      const exits = (laid.children ?? []).filter((node) => node.id.startsWith(exitOf("")));
      exits.sort((a, b) => (a.y ?? 0) - (b.y ?? 0));
      order = [...order, ...exits.map((node) => entryOf(node.id.slice(exitOf("").length)))];
    }
    const placed = answered(graph, rows.length > 1 ? stacked(rows) : (rows[0] as ElkNode));
    const keys = Array.from({ length: Math.max(...rowOf.values()) + 1 }, (_, row) =>
      graph.parts.map((part) => part.key).filter((key) => rowOf.get(key) === row),
    );
    return this.#drawn(left, { ...placed, rows: keys.filter((each) => each.length > 0) });
  }

  /** As wide as ELK laid it out where that can be read well, else narrower, as much as it needs. */
  #drawn(left: Left, laid: Placed): Drawn {
    const graph = shownOf(this.#graph, left);
    const wide = this.#seen(left, laid);
    if (graph.window[0] === 0 || graph.parts.length > LONG || wide.fit >= 1) return wide;
    // Only so much narrower that it is seen as it is, or, where it is far away, well.
    const isFar = wide.zoom < MOST;
    let fitting = wide;
    for (const width of isFar ? WIDE : WIDE.slice(0, -1)) {
      fitting = this.#seen(left, narrowed(graph, laid, width));
      if (isFar ? fitting.zoom >= MOST : fitting.fit >= 1) break;
    }
    return fitting;
  }

  #seen(left: Left, laid: Placed): Drawn {
    const [width, height] = this.#graph.window;
    const graph = shownOf(this.#graph, left);
    const { placed, without } = left.along ? strung(graph, laid) : { placed: laid, without: [] };
    const frame = frameOf(graph, laid);
    const fit = Math.min(width / Math.max(1, frame.width), height / Math.max(1, frame.height));
    return { placed, without, fit, zoom: Math.min(MOST, fit), width: frame.width, left };
  }
}

/** The layout that is taken: in one row where it can be read so, else broken into rows by the shape of the window. */
import type { ElkNode } from "elkjs/lib/elk-api";
import { answered, asked, type Engine } from "./elk";
import { bent, crossings, faults, faulty, misled, unsaid } from "./geometry";
import { pillKey } from "./graph";
import { labelled } from "./labels";
import { nearer } from "./nearby";
import { freed } from "./pills";
import {
  countOf,
  inRows,
  LONG,
  type RowOf,
  rowOfAll,
  rowsFor,
  shownOf,
  stacked,
  withPills,
  withRoom,
  withStubs,
} from "./rows";
import { frameOf } from "./shapes";
import type { Graph, Placed } from "./types";

/** Further away a line is not read: it is broken into rows. */
const LEAST = 0.68;
const HOPELESS = 0.9 * LEAST;
/** Rows that are tried: more only while they are too wide to be read, as in a narrow window. */
const COUNTS = [2, 3, 4, 5, 6, 8, 10, 13, 16];
/** Share of the rows that would be needed, were each narrower the more there are: fewer are not tried. */
const FAR_TOO_WIDE = 0.6;
/** Tried even by a line that was laid out often enough. */
const LAST_ROWS = COUNTS[COUNTS.length - 1] as number;
/** Further away than this a row is pushed together. */
const NEAR = 0.8;
/** Nearer than this nothing is won. */
const MOST = 0.9;
/** Worth of an edge into another row, in zoom. */
const CUT = 0.02;
/** Worth of a bend of the main way, and of what crosses it or goes too far, in crossings. */
const BENT = 1_000;
const CROSSED = 50;
/** Enough: with so few crossings nothing else is tried, and so often where nothing worse is wrong than crossings. */
const [FEW, TRIES] = [2, 5];

type Options = Readonly<Record<string, string>>;

interface Drawn {
  placed: Placed;
  /** Told to ELK. */
  options: Options;
  /** Zoom at which all of it is seen. */
  zoom: number;
  width: number;
}

/** So many edges are named in pills, where no layout was found in which they do not cross the main way or go too far. */
const MAX_STUBS = 6;
/** So many ways back turn further right. */
const MAX_TURNED = 3;
/** So often words that have no place are given room. */
const MAX_WORDED = 6;
/** Loss of zoom by which a drawing may be seen from further away for it. */
const NARROWER = 0.02;
/** Least zoom at which all of its width is read. */
const READ = 0.72;
/** Limits: so often a line of more than so many parts and edges is laid out, each of its rows: a layout of twenty stations that
 * all lead to one another takes as long as ten of a shipped one, and a server that takes too long draws nothing. */
const MAX_LAYOUTS = [
  { size: 400, layouts: 8 },
  { size: 80, layouts: 10 },
  { size: 0, layouts: 40 },
];

export async function best(graph: Graph, engine: Engine): Promise<Placed> {
  const counted = new Counted(engine, sizeOf(graph));
  let tried: Tried = { graph, drawn: nearest(graph, await new Layout(graph, counted).chosen()) };
  const stubs: string[] = [];
  while (stubs.length < MAX_STUBS) {
    const visible = shownOf(tried.graph, tried.drawn.placed);
    const pills = new Set(visible.parts.filter(({ kind }) => kind === "pill").map(({ key }) => key));
    const edge = atFault(visible, tried.drawn.placed).find((each) => !pills.has(each.slice(each.indexOf(">") + 1)));
    if (edge === undefined || (counted.isSpent && graph.parts.length > LONG)) break;
    stubs.push(edge);
    const stubbed = withStubs(graph, stubs);
    const { drawn } = tried;
    const other = counted.isSpent ? leadElsewhere(drawn, edge) : await new Layout(stubbed, counted).chosen();
    tried = { graph: stubbed, drawn: nearest(stubbed, other) };
  }
  if (graph.parts.length <= LONG) tried = await worded(await turned(tried, counted), counted);
  const { placed } = tried.drawn;
  const placedWithStubs = stubs.length > 0 ? { ...placed, stubs } : placed;
  return dressed(shownOf(graph, placedWithStubs), placedWithStubs);
}

const dressed = (visible: Graph, placed: Placed): Placed => labelled(visible, freed(visible, placed));

/** Puts pills close to where their edges leave. */
const nearest = (graph: Graph, drawn: Drawn): Drawn => {
  const visible = shownOf(graph, drawn.placed);
  return visible.parts.length > LONG ? drawn : { ...drawn, placed: nearer(visible, drawn.placed) };
};

/** The same, but for an edge that is led to a pill, which has no place yet. */
function leadElsewhere(drawn: Drawn, edge: string): Drawn {
  const ways = drawn.placed.ways.map((way) =>
    `${way.rule}>${way.target}` === edge ? { ...way, target: pillKey(way.rule, way.target), back: false } : way,
  );
  return { ...drawn, placed: { ...drawn.placed, ways } };
}

interface Tried {
  graph: Graph;
  drawn: Drawn;
}

/** Ways back that cross others turn a column further right, where they cross less then. */
async function turned(tried: Tried, engine: Counted): Promise<Tried> {
  const { ways } = tried.drawn.placed;
  const crossed = ways.filter(
    (way) => way.back && crossings(ways) > crossings(ways.filter(({ points }) => points !== way.points)),
  );
  const edges = crossed.map(({ rule, target }) => `${rule}>${target}`).slice(0, MAX_TURNED);
  let best = tried;
  for (const edgesToTurn of edges.length > 1 ? [edges, ...edges.map((edge) => [edge])] : [edges]) {
    if (edgesToTurn.length === 0 || engine.isSpent) break;
    const graph = { ...tried.graph, turned: edgesToTurn };
    const drawn = await again(graph, tried.drawn, engine);
    if (isAsNear(graph, drawn, best.drawn) && costOf(graph, drawn) < costOf(best.graph, best.drawn))
      best = { graph, drawn };
  }
  return best;
}

/** Words that have no place get room beside their port, as far as all else stays as good. */
async function worded(tried: Tried, engine: Counted): Promise<Tried> {
  let best = tried;
  const missing = (of: Tried): string[] => {
    const visible = shownOf(of.graph, of.drawn.placed);
    return unsaid(visible, dressed(visible, of.drawn.placed));
  };
  let rules = missing(best);
  // All of them, then one by one.
  for (const some of [rules, ...rules.map((rule) => [rule])].slice(0, MAX_WORDED)) {
    if (engine.isSpent || !some.some((rule) => rules.includes(rule))) continue;
    const graph = withRoom(best.graph, some);
    const drawn = await again(graph, tried.drawn, engine);
    const left = missing({ graph, drawn });
    if (left.length >= rules.length || !isAsNear(graph, drawn, tried.drawn)) continue;
    if (costOf(graph, drawn) > costOf(best.graph, best.drawn)) continue;
    [best, rules] = [{ graph, drawn }, left];
  }
  return best;
}

const again = (graph: Graph, drawn: Drawn, engine: Counted): Promise<Drawn> =>
  new Layout(graph, engine).again(drawn).then(
    (other) => nearest(graph, other),
    () => drawn,
  );

const isAsNear = ({ window: [width] }: Graph, drawn: Drawn, than: Drawn): boolean =>
  drawn.zoom >= Math.min(NEAR, than.zoom - NARROWER) && drawn.width <= Math.max(than.width, width / READ);

/** Edges at fault: of a long line not those that go through something, which takes seconds to find. */
const atFault = (graph: Graph, placed: Placed): string[] =>
  (graph.parts.length > LONG ? misled : faulty)(graph, placed);

function costOf(whole: Graph, { placed }: Drawn): number {
  const graph = shownOf(whole, placed);
  return BENT * bent(graph, placed).length + CROSSED * atFault(graph, placed).length + crossings(placed.ways);
}

function sizeOf({ parts }: Graph): number {
  const edges = parts.flatMap((part) => part.outlets.flatMap((outlet) => outlet.targets));
  return parts.length + edges.length;
}

const SEARCH = "elk.layered.crossingMinimization.";
const ORDER = "elk.layered.considerModelOrder.";
const COLUMNS = "elk.layered.layering.strategy";

/** Told otherwise to ELK where edges cross or the main way bends: how much the order of the model counts, and where
 * its search for few crossings begins. */
const OTHERWISE: readonly Options[] = [
  { order: "NONE", seed: "7" },
  { order: "NONE", seed: "1" },
  { order: "PREFER_NODES", seed: "1" },
  { order: "NONE", seed: "3" },
  { order: "NONE", seed: "11" },
].map(({ order, seed }) => ({ [`${ORDER}strategy`]: order, "elk.randomSeed": seed }));

/** Tried where something still crosses the main way or goes too far: another search, other columns, or both. */
const UNCROSSED: readonly Options[] = [
  { [`${SEARCH}strategy`]: "MEDIAN_LAYER_SWEEP" },
  { [`${ORDER}crossingCounterNodeInfluence`]: "10" },
  { [COLUMNS]: "MIN_WIDTH" },
  { [COLUMNS]: "LONGEST_PATH_SOURCE" },
  { [COLUMNS]: "COFFMAN_GRAHAM" },
  { [COLUMNS]: "MIN_WIDTH", [`${ORDER}crossingCounterNodeInfluence`]: "10" },
  { [COLUMNS]: "MIN_WIDTH", [`${SEARCH}forceNodeModelOrder`]: "true" },
  { [COLUMNS]: "COFFMAN_GRAHAM", [`${SEARCH}strategy`]: "MEDIAN_LAYER_SWEEP" },
];

/** ELK straightens what has one edge on each side last of all, and counts all edges alike there: the end of the main way
 * follows an edge that is not even drawn. Without that step the weights of the edges decide alone. */
const BY_WEIGHT: Options = { "elk.layered.nodePlacement.favorStraightEdges": "false" };

/** Narrower by a twentieth, and now and then through something; then with less room between edges, too. */
const PUSHED: Options = { "elk.layered.compaction.postCompaction.strategy": "EDGE_LENGTH" };
const TIGHT: Options = {
  ...PUSHED,
  "elk.layered.spacing.edgeNodeBetweenLayers": "7",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "7",
  "elk.spacing.nodeNode": "24",
  "elk.spacing.edgeNode": "10",
  "elk.spacing.edgeEdge": "12",
};

class Counted implements Engine {
  readonly #engine: Engine;
  #remaining: number;

  constructor(engine: Engine, size: number) {
    this.#engine = engine;
    this.#remaining = MAX_LAYOUTS.find((limit) => size > limit.size)?.layouts ?? 1;
  }

  get isSpent(): boolean {
    return this.#remaining <= 0;
  }

  layout(graph: ElkNode): Promise<ElkNode> {
    this.#remaining -= 1;
    return this.#engine.layout(graph);
  }
}

class Layout {
  readonly #graph: Graph;
  readonly #engine: Counted;

  constructor(graph: Graph, engine: Counted) {
    this.#graph = graph;
    this.#engine = engine;
  }

  async chosen(): Promise<Drawn> {
    const graph = this.#graph;
    if (graph.window[0] > 0 && graph.parts.length > LONG) return this.#inRows(rowsFor(graph, countOf(graph)).rowOf, {});
    const first = await this.#whole({});
    // What is pushed together is narrower by a twentieth, not by more.
    const one = first.zoom < HOPELESS ? first : await this.#pushed(first);
    if (graph.window[0] > 0 && one.zoom < LEAST) return this.#broken(one);
    return this.#inOneRow(one);
  }

  /** In as many rows as are read best; `one`: in a single one. */
  async #broken(one: Drawn): Promise<Drawn> {
    const [width] = this.#graph.window;
    const isWide = (drawn: Drawn): boolean => width >= LEAST * drawn.width;
    // What can be read at once counts first, then what can be read from above to below, then how little is torn apart.
    const worthOf = (drawn: Drawn, cut: number): number =>
      (drawn.zoom >= LEAST ? 2 : isWide(drawn) ? 1 : 0) + drawn.zoom - CUT * cut;
    let chosen: { drawn: Drawn; rowOf?: RowOf; worth: number } = { drawn: one, worth: worthOf(one, 0) };
    let least = 0;
    for (const count of COUNTS) {
      // So few are far too wide, by how wide the last ones were.
      if (count < least) continue;
      if (this.#engine.isSpent && count < LAST_ROWS) continue;
      const { rowOf, cut } = rowsFor(this.#graph, count);
      const drawn = await this.#inRows(rowOf, {});
      const worth = worthOf(drawn, cut);
      if (worth > chosen.worth) chosen = { drawn, rowOf, worth };
      // All of its width is read, and more rows are only higher.
      if (isWide(drawn) && drawn.zoom * drawn.width < width - 1) break;
      least = (FAR_TOO_WIDE * count * LEAST * drawn.width) / width;
    }
    const { drawn, rowOf } = chosen;
    return rowOf ? this.#clearer(drawn, (other) => this.#inRows(rowOf, other)) : this.#inOneRow(drawn);
  }

  /** The main way straight and crossed by nothing, then as few crossings as another search finds, then the order of the model. */
  async #clearer(first: Drawn, lay: (other: Options) => Promise<Drawn>): Promise<Drawn> {
    let cheapest = { drawn: first, cost: costOf(this.#graph, first) };
    const bends = cheapest.cost >= BENT;
    const enough = this.#graph.parts.length > LONG ? BENT - 1 : FEW;
    for (const [tries, other] of [...(bends ? [BY_WEIGHT] : []), ...OTHERWISE, ...UNCROSSED].entries()) {
      if (cheapest.cost <= enough || (cheapest.cost < CROSSED && tries >= TRIES)) break;
      if (this.#engine.isSpent) break;
      // ELK gives up on some graphs with some of these.
      const drawn = await lay(other).catch(() => first);
      const cost = costOf(this.#graph, drawn);
      if (cost < cheapest.cost) cheapest = { drawn, cost };
    }
    return cheapest.drawn;
  }

  /** With what was told to ELK, and in the rows, of another drawing. */
  again({ placed: { rows }, options }: Drawn): Promise<Drawn> {
    return rows.length > 1 ? this.#inRows(rowOfAll(rows), options) : this.#whole(options);
  }

  async #inOneRow(one: Drawn): Promise<Drawn> {
    const clearest = await this.#clearer(one, (other) => this.#whole(other));
    return clearest === one ? one : this.#pushed(clearest);
  }

  async #pushed(drawn: Drawn): Promise<Drawn> {
    if (this.#graph.window[0] <= 0 || drawn.zoom >= NEAR) return drawn;
    const pushed = await this.#narrower(drawn, PUSHED);
    if (pushed.zoom >= NEAR) return pushed;
    const tight = await this.#narrower(pushed, TIGHT);
    // Words have less room there: only for a line that is read so, or needs no rows.
    return [NEAR, LEAST].some((least) => pushed.zoom < least && tight.zoom >= least) ? tight : pushed;
  }

  async #narrower(drawn: Drawn, options: Options): Promise<Drawn> {
    const other = await this.#whole({ ...drawn.options, ...options }).catch(() => drawn);
    return other.zoom > drawn.zoom && faults(this.#graph, other.placed).length === 0 ? other : drawn;
  }

  async #whole(other: Options): Promise<Drawn> {
    const request = asked(this.#graph);
    const laid = await this.#engine.layout({ ...request, layoutOptions: { ...request.layoutOptions, ...other } });
    return this.#seen(answered(this.#graph, laid), other);
  }

  async #inRows(whole: RowOf, other: Options): Promise<Drawn> {
    const graph = inRows(this.#graph, whole);
    const rowOf = withPills(graph, whole);
    const rows: ElkNode[] = [];
    for (let row = 0; row <= Math.max(...rowOf.values()); row += 1) {
      const request = asked(graph, { rowOf, row });
      if (request.children?.length === 0) continue;
      const laid = await this.#engine.layout({ ...request, layoutOptions: { ...request.layoutOptions, ...other } });
      rows.push(laid);
    }
    const placed = answered(graph, rows.length > 1 ? stacked(rows) : (rows[0] as ElkNode));
    const keys = Array.from({ length: Math.max(...rowOf.values()) + 1 }, (_, row) =>
      this.#graph.parts.map((part) => part.key).filter((key) => rowOf.get(key) === row),
    );
    return this.#seen({ ...placed, rows: keys.filter((each) => each.length > 0) }, other);
  }

  #seen(placed: Placed, options: Options): Drawn {
    const [width, height] = this.#graph.window;
    const frame = frameOf(shownOf(this.#graph, placed), placed);
    const fit = Math.min(width / Math.max(1, frame.width), height / Math.max(1, frame.height));
    return { placed, options, zoom: Math.min(MOST, fit), width: frame.width };
  }
}

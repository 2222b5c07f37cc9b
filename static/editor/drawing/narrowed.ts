/** A drawing as narrow as it can be without anything changing its side: ELK lays out in columns, each as wide as the widest
 * that stands in it with all of its words; here what stands above or below one another no longer keeps a distance. Only across:
 * heights, and which edge runs left of what, stay as they are, so that nothing crosses that did not cross. */
import { plain } from "./elk";
import { packed } from "./packed";
import { rejectedBox, shapesOf } from "./shapes";
import type { Graph, Placed, Point, Rect } from "./types";
import { HEXAGON } from "./zones";

type Kind = "card" | "bar" | "port" | "words" | "over" | "stub" | "gate" | "name" | "run";

/** Something that keeps its distance, a piece of what moves with it. */
interface Thing {
  kind: Kind;
  block: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  /** Of a run: the end that it shares with others, which it may come to lie on. */
  trunk?: string | undefined;
}

/** What stands above or below something nearer than this keeps its side of it, too. */
const NEAR = 10;
/** Around a gate edges come nearer. */
const NEAR_GATE = 5;
/** Words over pills stand that much further from their own edge: from others, too. */
const NEAR_OVER = 16;
function nearOf(one: Kind, other: Kind): number {
  if (one === "over" || other === "over") return NEAR_OVER;
  return [one, other].some((each) => each === "gate" || each === "name") ? NEAR_GATE : NEAR;
}
/** The main way counts more than others, and that branches of a fork stand below one another most. */
const WEIGHT = { main: 3, other: 1, fork: 4 };
/** Only what stands about below one another is meant to. */
const COLUMN = 100;

/** Pixels between two things, the left one first: an edge keeps its arrow, a port its circle. */
function gap(left: Kind, right: Kind): number {
  if (left === "name" || right === "name") return 3;
  if ((left === "over" && right === "run") || (left === "run" && right === "over")) return NEAR_OVER;
  if (right === "run") return left === "run" ? 12 : left === "port" ? 6 : left === "card" ? 14 : 10;
  if (left === "run") return right === "card" || right === "gate" ? 16 : 10;
  if (right === "gate" || right === "card") return left === "card" ? 24 : left === "words" ? 8 : 16;
  return left === "words" || right === "words" ? 8 : 12;
}

/** `wide`: how much wider than at its narrowest, 1 for that. */
export function narrowed(graph: Graph, placed: Placed, wide = 1): Placed {
  const blocks = new Blocks(graph, placed);
  const by = packed(blocks.count, {
    aparts: apartsOf(blocks.things, wide),
    pieces: piecesOf(graph, placed, blocks),
    edges: blocks.things,
  });
  const start = by[blocks.of(graph.parts[0]?.key ?? "")] ?? 0;
  const right = (block: number): number => (by[block] ?? 0) - start;
  return {
    ...placed,
    parts: placed.parts.map((spot) => ({ ...spot, x: spot.x + right(blocks.of(spot.key)) })),
    gates: placed.gates.map((spot) => ({ ...spot, x: spot.x + right(blocks.of(gateKey(spot.key))) })),
    ways: placed.ways.map((way, index) => ({
      ...way,
      points: plain(way.points.map(([x, y], at): Point => [x + right(blocks.at(index, at)), y])),
    })),
  };
}

const gateKey = (rule: string): string => `gate ${rule}`;

/** What moves as one: each part, each gate, and each upright run of an edge, where that is not fixed to one of them. */
class Blocks {
  readonly things: Thing[] = [];
  readonly #named = new Map<string, number>();
  /** Of those that turned out to move together, each to an earlier one. */
  readonly #earlier: number[] = [];
  readonly #points: number[][];

  constructor(graph: Graph, placed: Placed) {
    const spots = new Map(placed.parts.map((each) => [each.key, each]));
    const gates = new Map(placed.gates.map((each) => [each.key, each]));
    for (const part of graph.parts) {
      const spot = spots.get(part.key);
      if (!spot) continue;
      const own = this.#add(part.key);
      const over = new Set(part.outlets.filter((each) => each.stubs.length > 0).map((each) => each.id));
      for (const shape of shapesOf(part)) {
        const isOver = shape.kind === "words" && over.has(shape.rule ?? "");
        this.#put(isOver ? "over" : shape.kind, own, shape, spot);
      }
      for (const outlet of part.outlets) {
        const { id, gate, gateOver } = outlet;
        const middle = gate > 0 ? gates.get(id) : undefined;
        if (!middle) continue;
        const { width, height } = HEXAGON;
        const gated = this.#add(gateKey(id));
        this.#put("gate", gated, { x: -width / 2, y: -height / 2, width, height }, middle);
        this.#put("name", gated, { x: -gate / 2, y: -height / 2 - gateOver, width: gate, height: gateOver }, middle);
        const word = rejectedBox({ key: id, x: 0, y: 0 }, outlet);
        if (word) this.#put("words", gated, word, middle);
      }
    }
    const source = new Map(
      graph.parts.flatMap((part) =>
        part.outlets.flatMap(({ id, rejected }): [string, string][] => [
          [id, part.key],
          ...(rejected ? [[rejected.id, gateKey(id)] as [string, string]] : []),
        ]),
      ),
    );
    this.#points = placed.ways.map((way) => {
      const [first, last] = [this.of(source.get(way.rule) ?? ""), this.of(way.target)];
      const trunk = way.back ? JSON.stringify([way.target, way.points.at(-1)]) : undefined;
      return this.#along(way.points, [first, last], gates.get(way.rule), trunk);
    });
    for (const thing of this.things) thing.block = this.#now(thing.block);
  }

  get count(): number {
    return this.#earlier.length;
  }

  of(key: string): number {
    return this.#now(this.#named.get(key) ?? 0);
  }

  /** With what this point of this way moves. */
  at(way: number, point: number): number {
    return this.#now(this.#points[way]?.[point] ?? 0);
  }

  #add(key: string): number {
    const index = this.#earlier.length;
    this.#earlier.push(index);
    this.#named.set(key, index);
    return index;
  }

  #put(kind: Kind, block: number, { x, y, width, height }: Rect, from: { x: number; y: number }): void {
    const [left, top] = [from.x + x, from.y + y];
    this.things.push({ kind, block, left, right: left + width, top, bottom: top + height });
  }

  #now(block: number): number {
    const earlier = this.#earlier[block] ?? block;
    return earlier === block ? block : this.#now(earlier);
  }

  #together(one: number, other: number): void {
    const [a, b] = [this.#now(one), this.#now(other)];
    this.#earlier[Math.max(a, b)] = Math.min(a, b);
  }

  /** A point moves with the run it is on; the first and the last with the card or gate that they touch. */
  #along(
    points: readonly Point[],
    [first, last]: readonly [number, number],
    gate: { x: number; y: number } | undefined,
    trunk: string | undefined,
  ): number[] {
    const bends = points.map((_, index) => (index === 0 ? first : last));
    points.forEach(([x, y], index) => {
      const next = points[index + 1];
      if (!next || next[0] !== x || next[1] === y) return;
      const [top, bottom] = [Math.min(y, next[1]), Math.max(y, next[1])];
      // Down from its port each stays for itself.
      const run = this.#run({ x, top, bottom, trunk: index > 1 ? trunk : undefined });
      if (index === 0) this.#together(run, first);
      if (index + 2 === points.length) this.#together(run, last);
      if (gate && Math.abs(gate.x - x) <= 1 && gate.y >= top && gate.y <= bottom)
        this.#together(run, this.#blockAt(gate));
      bends[index] = bends[index + 1] = run;
    });
    return bends;
  }

  #blockAt(gate: { x: number; y: number }): number {
    return (
      this.things.find(
        ({ kind, left, top }) =>
          kind === "gate" &&
          left < gate.x &&
          gate.x < left + HEXAGON.width &&
          top < gate.y &&
          gate.y < top + HEXAGON.height,
      )?.block ?? 0
    );
  }

  /** Runs that lie on one another are one edge, or edges that share it. */
  #run({ x, top, bottom, trunk }: { x: number; top: number; bottom: number; trunk: string | undefined }): number {
    const own = this.#add(`run ${this.count}`);
    for (const run of this.things)
      if (run.kind === "run" && Math.abs(run.left - x) < 1 && run.top <= bottom && run.bottom >= top)
        this.#together(run.block, own);
    this.things.push({ kind: "run", block: own, left: x, right: x, top, bottom, trunk });
    return own;
  }
}

/** `other` is drawn towards `one`: it stands `off` right of it now, and would like to stand at 0. */
export interface Piece {
  one: number;
  other: number;
  off: number;
  weight: number;
}

/** The level pieces of edges, and branches of a fork. */
function piecesOf(graph: Graph, placed: Placed, blocks: Blocks): Piece[] {
  const main = new Set(graph.mainEdges);
  const pieces = placed.ways.flatMap((way, index) => {
    const weight = main.has(`${way.rule}>${way.target}`) ? WEIGHT.main : WEIGHT.other;
    return way.points.slice(1).flatMap((point, at): Piece[] => {
      const [one, other] = [blocks.at(index, at), blocks.at(index, at + 1)];
      return one === other ? [] : [{ one, other, off: point[0] - (way.points[at]?.[0] ?? 0), weight }];
    });
  });
  const spots = new Map(placed.parts.map((each) => [each.key, each]));
  for (const { outlets } of graph.parts)
    for (const { targets } of outlets) {
      const [first, ...others] = targets.flatMap((to) => spots.get(to) ?? []);
      for (const other of others)
        if (first && Math.abs(first.x - other.x) < COLUMN)
          pieces.push({
            one: blocks.of(first.key),
            other: blocks.of(other.key),
            off: other.x - first.x,
            weight: WEIGHT.fork,
          });
    }
  return pieces;
}

/** `to` may come so much nearer to `from`, which stands left of it. */
export interface Apart {
  from: number;
  to: number;
  nearer: number;
}

/** Who keeps how far from whom: as far as now, or as far as it has to, whichever is less. */
function apartsOf(things: readonly Thing[], wide: number): Apart[] {
  const stretches = new Map<string, Apart>();
  const byTop = [...things].sort((a, b) => a.top - b.top);
  byTop.forEach((one, index) => {
    for (let next = index + 1; next < byTop.length; next += 1) {
      const other = byTop[next] as Thing;
      if (other.top >= one.bottom + NEAR_OVER) break;
      if (one.block === other.block || other.top >= one.bottom + nearOf(one.kind, other.kind)) continue;
      const [left, right] = one.right <= other.left ? [one, other] : [other, one];
      const free = right.left - left.right;
      if (free < 0) continue;
      const apart = one.trunk !== undefined && one.trunk === other.trunk ? 0 : gap(left.kind, right.kind) * wide;
      const nearer = Math.max(0, Math.floor(free - apart));
      const [from, to] = [left.block, right.block];
      const was = stretches.get(`${from} ${to}`);
      if (!was || nearer < was.nearer) stretches.set(`${from} ${to}`, { from, to, nearer });
    }
  });
  return [...stretches.values()];
}

/** Ways between ports at right angles where a person put stations, or drags them: ELK keeps no station where it is, and an
 * answer for each frame cannot wait for a worker. Around stations, each in a lane of its own, loops back below. Of a few dozen
 * shapes the cheapest is taken; no search, so a thousand edges take some milliseconds. */

import type { Point, Rect } from "./types";

interface Trip {
  /** Trips of one owner may share a lane: they are one edge that splits. */
  owner: string;
  from: Point;
  to: Point;
  /** The boxes that it begins and ends at. */
  source: Rect;
  target: Rect;
  /** Which lane of its station would cross the fewest neighbours, from 0. */
  lane: number;
}

const RUN = 20;
const LANE = 12;
const PAD = 7;
const NEAR = 6;
const CELL = 256;
const COST = { hit: 5000, shared: 300, sharedLength: 3, crossing: 12, bend: 10, length: 0.2, lane: 3 };
/** With more edges than this, crossings are left to the lanes: counting them takes too long. */
const MANY = 140;

interface Segment {
  at: number;
  from: number;
  to: number;
  owner: string;
}

/** Numbers instead of names: a column and a row of cells in one. */
const cellOf = (column: number, row: number): number => (column + 4096) * 65536 + row + 4096;

interface Blocked {
  box: Rect;
  left: number;
  top: number;
  right: number;
  bottom: number;
  /** The last question that it was found by: a box lies in several cells, and is counted once. */
  asked: number;
}

export class Router {
  readonly #cells = new Map<number, Blocked[]>();
  readonly #lanes = { h: new Map<number, Segment[]>(), v: new Map<number, Segment[]>() };
  readonly #all = { h: [] as Segment[], v: [] as Segment[] };
  readonly #crossings: boolean;
  #asked = 0;

  /** `edges`: how many there will be. */
  constructor(boxes: Iterable<Rect>, edges: number) {
    this.#crossings = edges <= MANY;
    for (const box of boxes) this.block(box);
  }

  block(box: Rect): void {
    const blocked: Blocked = {
      box,
      left: box.x - PAD,
      top: box.y - PAD,
      right: box.x + box.width + PAD,
      bottom: box.y + box.height + PAD,
      asked: 0,
    };
    for (let column = Math.floor(blocked.left / CELL); column <= Math.floor(blocked.right / CELL); column += 1) {
      for (let row = Math.floor(blocked.top / CELL); row <= Math.floor(blocked.bottom / CELL); row += 1) {
        const own = this.#cells.get(cellOf(column, row));
        if (own) own.push(blocked);
        else this.#cells.set(cellOf(column, row), [blocked]);
      }
    }
  }

  route(trip: Trip): Point[] {
    const ahead = trip.to[0] - trip.from[0] > 2 * RUN;
    const shapes = ahead ? this.#onward(trip) : this.#back(trip);
    let best = this.#cheapest(trip, shapes);
    if (ahead && best.cost >= COST.hit) {
      const around = this.#cheapest(trip, this.#around(trip));
      if (around.cost < best.cost) best = around;
    }
    this.#take(trip.owner, best.points);
    return best.points;
  }

  #onward({ from: [sx, sy], to: [tx, ty], lane }: Trip): Shape[] {
    if (Math.abs(ty - sy) < 2)
      return [
        {
          points: [
            [sx, sy],
            [tx, ty],
          ],
          off: 0,
        },
      ];
    const shapes: Shape[] = [];
    for (let k = 0; k < 10 && sx + RUN + k * LANE <= tx - LANE; k += 1) {
      shapes.push({ points: zed(sx, sy, sx + RUN + k * LANE, tx, ty), off: Math.abs(k - lane) });
    }
    for (let k = 0; k < 6 && tx - RUN - k * LANE > sx + LANE; k += 1) {
      shapes.push({ points: zed(sx, sy, tx - RUN - k * LANE, tx, ty), off: 2 + k });
    }
    return shapes;
  }

  /** Along a free height between or beside what is in the way. */
  #around({ from: [sx, sy], to: [tx, ty], lane }: Trip): Shape[] {
    const [high, low] = [Math.min(sy, ty), Math.max(sy, ty)];
    const heights = this.#within(sx, high - 480, tx, low + 480).flatMap((box) => [
      box.y - 14,
      box.y - 26,
      box.y + box.height + 14,
      box.y + box.height + 26,
    ]);
    const off = (y: number): number => (y < high ? high - y : y > low ? y - low : 0);
    const nearest = [...new Set(heights)].sort((a, b) => off(a) - off(b)).slice(0, 16);
    const shapes: Shape[] = [];
    for (const y of nearest) {
      for (const k of [lane, lane + 1, 0, 3]) {
        for (const back of [0, 1, 3]) {
          const [out, in_] = [sx + RUN + k * LANE, tx - RUN - back * LANE];
          if (out < in_) shapes.push({ points: bracket(sx, sy, out, y, in_, tx, ty), off: back });
        }
      }
    }
    return shapes;
  }

  #back({ from: [sx, sy], to: [tx, ty], source, target, lane }: Trip): Shape[] {
    const shapes: Shape[] = [];
    const below = this.#below(source, target, Math.min(sx, tx) - RUN * 2, Math.max(sx, tx) + RUN * 2);
    for (let level = 0; level < 7; level += 1) {
      for (const k of [lane, lane + 1, 0, 2, 4]) {
        for (const back of [0, 1, 2, 3]) {
          const y = below + 18 + level * LANE;
          shapes.push({
            points: bracket(sx, sy, sx + RUN + k * LANE, y, tx - RUN - back * LANE, tx, ty),
            off: level + back,
          });
        }
      }
    }
    return shapes;
  }

  /** The bottom of all that stands in the way: of both ends and what is between them, or of the upper row only where
   * the target stands in a row below. */
  #below(source: Rect, target: Rect, left: number, right: number): number {
    const apart = target.y > source.y + source.height + 32;
    let top = apart ? source.y : Math.min(source.y, target.y);
    let bottom = apart ? source.y + source.height : Math.max(source.y + source.height, target.y + target.height);
    for (let grown = true; grown; ) {
      grown = false;
      for (const box of this.#within(left, top, right, bottom + 30)) {
        if (box.y + box.height <= bottom || (apart && box.y >= target.y - 30)) continue;
        bottom = box.y + box.height;
        grown = true;
      }
      top = Math.min(top, bottom);
    }
    return bottom;
  }

  #cheapest(trip: Trip, shapes: readonly Shape[]): { points: Point[]; cost: number } {
    let best: { points: Point[]; cost: number } = { points: [trip.from, trip.to], cost: Number.POSITIVE_INFINITY };
    for (const { points, off } of shapes) {
      const cost = this.#cost(trip, points, off, best.cost);
      if (cost < best.cost) best = { points, cost };
    }
    return best;
  }

  #cost(trip: Trip, points: readonly Point[], off: number, most: number): number {
    let cost = off * COST.lane + (points.length - 2) * COST.bend;
    for (let index = 1; index < points.length; index += 1) {
      const [a, b] = [points[index - 1], points[index]] as [Point, Point];
      cost += (Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1])) * COST.length;
    }
    // The cheap part alone is too much for most shapes once a good one is found.
    for (let index = 1; index < points.length && cost < most; index += 1) {
      const [a, b] = [points[index - 1], points[index]] as [Point, Point];
      const source = index === 1 ? trip.source : undefined;
      const target = index === points.length - 1 ? trip.target : undefined;
      cost += this.#hits(a, b, source, target) * COST.hit;
      if (cost < most) cost += this.#shared(trip.owner, a, b);
    }
    return cost;
  }

  #hits(a: Point, b: Point, source: Rect | undefined, target: Rect | undefined): number {
    let count = 0;
    this.#each(Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]), Math.max(a[1], b[1]), (box) => {
      if (box !== source && box !== target) count += 1;
    });
    return count;
  }

  #within(left: number, top: number, right: number, bottom: number): Rect[] {
    const rects: Rect[] = [];
    this.#each(left, top, right, bottom, (box) => rects.push(box));
    return rects;
  }

  #each(left: number, top: number, right: number, bottom: number, then: (box: Rect) => void): void {
    this.#asked += 1;
    const [lastColumn, lastRow] = [Math.floor(right / CELL), Math.floor(bottom / CELL)];
    for (let column = Math.floor(left / CELL); column <= lastColumn; column += 1) {
      for (let row = Math.floor(top / CELL); row <= lastRow; row += 1) {
        for (const rect of this.#cells.get(cellOf(column, row)) ?? NONE) {
          if (
            rect.asked === this.#asked ||
            rect.left >= right ||
            rect.right <= left ||
            rect.top >= bottom ||
            rect.bottom <= top
          )
            continue;
          rect.asked = this.#asked;
          then(rect.box);
        }
      }
    }
  }

  /** What it costs to lie on lines of others, and to cross them. */
  #shared(owner: string, a: Point, b: Point): number {
    const upright = a[0] === b[0];
    const at = upright ? a[0] : a[1];
    const [from, to] = upright ? ordered(a[1], b[1]) : ordered(a[0], b[0]);
    const lanes = upright ? this.#lanes.v : this.#lanes.h;
    let cost = 0;
    for (let slot = Math.floor((at - NEAR) / 16); slot <= Math.floor((at + NEAR) / 16); slot += 1) {
      for (const segment of lanes.get(slot) ?? NO_SEGMENTS) {
        if (segment.owner === owner || Math.abs(segment.at - at) >= NEAR) continue;
        const length = Math.min(to, segment.to) - Math.max(from, segment.from);
        if (length > 0) cost += COST.shared + length * COST.sharedLength;
      }
    }
    if (!this.#crossings) return cost;
    for (const segment of upright ? this.#all.h : this.#all.v) {
      const crosses = segment.at > from && segment.at < to && segment.from < at && segment.to > at;
      if (crosses && segment.owner !== owner) cost += COST.crossing;
    }
    return cost;
  }

  #take(owner: string, points: readonly Point[]): void {
    for (let index = 1; index < points.length; index += 1) {
      const [a, b] = [points[index - 1], points[index]] as [Point, Point];
      const way = a[0] === b[0] ? "v" : "h";
      const [from, to] = way === "v" ? ordered(a[1], b[1]) : ordered(a[0], b[0]);
      const segment = { at: way === "v" ? a[0] : a[1], from, to, owner };
      const slot = Math.floor(segment.at / 16);
      const own = this.#lanes[way].get(slot);
      if (own) own.push(segment);
      else this.#lanes[way].set(slot, [segment]);
      if (this.#crossings) this.#all[way].push(segment);
    }
  }
}

interface Shape {
  points: Point[];
  off: number;
}

const ordered = (a: number, b: number): [number, number] => (a < b ? [a, b] : [b, a]);

const zed = (sx: number, sy: number, x: number, tx: number, ty: number): Point[] => [
  [sx, sy],
  [x, sy],
  [x, ty],
  [tx, ty],
];

const bracket = (sx: number, sy: number, out: number, y: number, in_: number, tx: number, ty: number): Point[] => [
  [sx, sy],
  [out, sy],
  [out, y],
  [in_, y],
  [in_, ty],
  [tx, ty],
];

const NONE: readonly Blocked[] = [];
const NO_SEGMENTS: readonly Segment[] = [];

const RADIUS = 8;

/** A path through these points with rounded corners. */
export function rounded(points: readonly Point[]): string {
  return points
    .map((point, index) => {
      const [before, after] = [points[index - 1], points[index + 1]];
      if (!before) return `M${point[0]} ${point[1]}`;
      if (!after) return `L${point[0]} ${point[1]}`;
      const [ax, ay] = towards(point, before, Math.min(RADIUS, distance(before, point) / 2));
      const [bx, by] = towards(point, after, Math.min(RADIUS, distance(point, after) / 2));
      return `L${ax} ${ay}Q${point[0]} ${point[1]} ${bx} ${by}`;
    })
    .join("");
}

const distance = (a: Point, b: Point): number => Math.hypot(b[0] - a[0], b[1] - a[1]);

function towards(from: Point, to: Point, by: number): Point {
  const length = distance(from, to) || 1;
  return [from[0] + ((to[0] - from[0]) * by) / length, from[1] + ((to[1] - from[1]) * by) / length];
}

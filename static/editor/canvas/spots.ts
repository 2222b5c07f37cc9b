/** Free places for words and gates beside edges: what nothing else covers, or none. */
import type { Point, Rect, Router } from "./routes";

const CELL = 128;

export class Spots {
  readonly #cells = new Map<number, Rect[]>();

  constructor(private readonly router: Router) {}

  take(area: Rect): void {
    const { left, top, right, bottom } = cells(area);
    for (let column = left; column <= right; column += 1) {
      for (let row = top; row <= bottom; row += 1) {
        const own = this.#cells.get(column * 65536 + row);
        if (own) own.push(area);
        else this.#cells.set(column * 65536 + row, [area]);
      }
    }
  }

  free(area: Rect): boolean {
    const { left, top, right, bottom } = cells(area);
    for (let column = left; column <= right; column += 1) {
      for (let row = top; row <= bottom; row += 1) {
        for (const other of this.#cells.get(column * 65536 + row) ?? []) if (meet(area, other)) return false;
      }
    }
    return true;
  }

  /** The first of these that is free and hides no line of another, else one that hides a single line. */
  find(owner: string, wanted: readonly Rect[]): Rect | undefined {
    let second: Rect | undefined;
    for (const area of wanted) {
      if (!this.free(area)) continue;
      const hidden = this.router.covered(area, owner);
      if (hidden === 0) return area;
      if (hidden === 1) second ??= area;
    }
    return second;
  }
}

const meet = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const cells = ({ x, y, width, height }: Rect) => ({
  left: Math.floor(x / CELL) + 4096,
  top: Math.floor(y / CELL) + 4096,
  right: Math.floor((x + width) / CELL) + 4096,
  bottom: Math.floor((y + height) / CELL) + 4096,
});

interface Piece {
  a: Point;
  b: Point;
  level: boolean;
  length: number;
}

/** The straight pieces of a way, the longest level ones first. */
function piecesOf(points: readonly Point[]): Piece[] {
  const found: Piece[] = [];
  for (let index = 1; index < points.length; index += 1) {
    const [a, b] = [points[index - 1], points[index]] as [Point, Point];
    const level = a[1] === b[1];
    found.push({ a, b, level, length: Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) });
  }
  return found;
}

/** Where words of this size could stand beside a way: over or under its level pieces, else right or left of others. */
export function besides(points: readonly Point[], width: number, height: number): Rect[] {
  const pieces = piecesOf(points);
  const level = pieces.filter((each) => each.level && each.length >= width + 12);
  const upright = pieces.filter((each) => !each.level && each.length >= height + 8);
  return [
    ...level.flatMap(({ a, b }) => {
      const [left, right] = [Math.min(a[0], b[0]) + 10, Math.max(a[0], b[0]) - 10];
      // Where the edge begins before where it ends: there others come in beside it.
      const sides = a[0] < b[0] ? [left, right - width] : [right - width, left];
      return [(left + right - width) / 2, ...sides].flatMap((x) => [
        { x, y: a[1] - height - 2, width, height },
        { x, y: a[1] + 3, width, height },
      ]);
    }),
    ...upright.flatMap(({ a, b }) => {
      const [top, bottom] = [Math.min(a[1], b[1]) + 6, Math.max(a[1], b[1]) - 6];
      return [(top + bottom - height) / 2, top, bottom - height, top + (bottom - top) / 4].flatMap((y) => [
        { x: a[0] + 5, y, width, height },
        { x: a[0] - 5 - width, y, width, height },
      ]);
    }),
  ];
}

/** Points on the way itself where something of this width fits, the middles of the longest level pieces first. */
export function along(points: readonly Point[], width: number): Point[] {
  const level = piecesOf(points).filter((each) => each.level && each.length >= width + 12);
  level.sort((one, other) => other.length - one.length);
  return level.flatMap(({ a, b }) => {
    const [left, right] = [Math.min(a[0], b[0]) + width / 2 + 6, Math.max(a[0], b[0]) - width / 2 - 6];
    return [0.5, 0.25, 0.75, 0, 1].map((part): Point => [Math.round(left + (right - left) * part), a[1]]);
  });
}

/** Blocks moved left as far as they may, then each to where its edges are shortest. Shifts, not places: all begin at 0. */

interface Pull {
  one: number;
  other: number;
  off: number;
  weight: number;
}

interface Wanted {
  /** `to` may come so much nearer to `from`. */
  aparts: readonly { from: number; to: number; nearer: number }[];
  /** What draws two blocks together: `off` between them now. */
  pieces: readonly Pull[];
  /** Sides of what is in the blocks: none passes the first or the last of them. */
  edges: readonly { block: number; left: number; right: number }[];
}

const SWEEPS = 24;

/** How far right each block moves. */
export function packed(count: number, { aparts, pieces, edges }: Wanted): number[] {
  const [first, lefts, rights] = sidesOf(count, edges);
  const by = lefts.map((left) => (left === Number.POSITIVE_INFINITY ? 0 : first - left));
  const order = [...aparts].sort((a, b) => (lefts[a.from] ?? 0) - (lefts[b.from] ?? 0));
  for (let moved = true; moved; ) {
    moved = false;
    for (const { from, to, nearer } of order) {
      const least = (by[from] ?? 0) - nearer;
      if ((by[to] ?? 0) >= least) continue;
      by[to] = least;
      moved = true;
    }
  }
  const most = Math.max(...by.map((each, block) => each + (rights[block] ?? 0)));
  const [before, after] = [groupedBy(aparts, "to"), groupedBy(aparts, "from")];
  const pulls = pullsOf(count, pieces);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    let moved = false;
    for (let place = 0; place < count; place += 1) {
      const block = sweep % 2 === 0 ? count - 1 - place : place;
      const own = pulls[block] ?? [];
      if (own.length === 0) continue;
      const now = by[block] ?? 0;
      let [low, high] = [first - (lefts[block] ?? 0), most - (rights[block] ?? 0)];
      for (const { from, nearer } of before.get(block) ?? []) low = Math.max(low, (by[from] ?? 0) - nearer);
      for (const { to, nearer } of after.get(block) ?? []) high = Math.min(high, (by[to] ?? 0) + nearer);
      const target = Math.min(
        high,
        Math.max(
          low,
          middle(
            own.map(({ to, off, weight }) => ({ at: (by[to] ?? 0) + off, weight })),
            now,
          ),
        ),
      );
      if (target === now) continue;
      by[block] = target;
      moved = true;
    }
    if (!moved) break;
  }
  return by;
}

function sidesOf(count: number, edges: Wanted["edges"]): [number, number[], number[]] {
  const lefts = Array.from({ length: count }, () => Number.POSITIVE_INFINITY);
  const rights = Array.from({ length: count }, () => Number.NEGATIVE_INFINITY);
  for (const { block, left, right } of edges) {
    lefts[block] = Math.min(lefts[block] ?? left, left);
    rights[block] = Math.max(rights[block] ?? right, right);
  }
  return [Math.min(...lefts), lefts, rights];
}

function groupedBy<T extends Record<K, number>, K extends string>(all: readonly T[], side: K): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const entry of all) {
    const own = groups.get(entry[side]);
    if (own) own.push(entry);
    else groups.set(entry[side], [entry]);
  }
  return groups;
}

/** Of each block, to where the others draw it. */
function pullsOf(count: number, pieces: readonly Pull[]): { to: number; off: number; weight: number }[][] {
  const pulls: { to: number; off: number; weight: number }[][] = Array.from({ length: count }, () => []);
  for (const { one, other, off, weight } of pieces) {
    pulls[other]?.push({ to: one, off: -off, weight });
    pulls[one]?.push({ to: other, off, weight });
  }
  return pulls;
}

/** Where the sum of all ways is shortest; where several places are as good, the one nearest to `now`. */
function middle(all: { at: number; weight: number }[], now: number): number {
  all.sort((a, b) => a.at - b.at);
  const half = all.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let sum = 0;
  for (const [index, { at, weight }] of all.entries()) {
    sum += weight;
    if (sum > half) return at;
    if (sum === half) return Math.min(Math.max(now, at), all[index + 1]?.at ?? at);
  }
  return now;
}

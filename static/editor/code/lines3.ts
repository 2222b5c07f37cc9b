/** Two edits of one text put together line by line. Where both changed the same lines, mine stand. */
type Hunk = { from: number; to: number; lines: string[] };

export function merge3(base: string, mine: string, theirs: string): string {
  if (mine === base || mine === theirs) return theirs;
  if (theirs === base) return mine;
  const lines = base.split("\n");
  const ours = hunks(lines, mine.split("\n"));
  const apart = hunks(lines, theirs.split("\n")).filter((each) => !ours.some((own) => touches(own, each)));
  const all = [...ours, ...apart].sort((a, b) => a.from - b.from);
  const merged: string[] = [];
  let at = 0;
  for (const hunk of all) {
    merged.push(...lines.slice(at, hunk.from), ...hunk.lines);
    at = hunk.to;
  }
  return [...merged, ...lines.slice(at)].join("\n");
}

const touches = (one: Hunk, other: Hunk): boolean => one.from <= other.to && other.from <= one.to;

/** What turns `before` into `after`: the lines between those that stay. */
function hunks(before: string[], after: string[]): Hunk[] {
  const commonLines = common(before, after);
  const changes: Hunk[] = [];
  let [i, j] = [0, 0];
  for (const [k, l] of [...commonLines, [before.length, after.length] as const]) {
    if (k > i || l > j) changes.push({ from: i, to: k, lines: after.slice(j, l) });
    [i, j] = [k + 1, l + 1];
  }
  return changes;
}

const MOST = 4_000_000;

/** Pairs of places of a longest common run of lines; where that would be too much work, only both ends. */
function common(before: string[], after: string[]): [number, number][] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail))
    tail += 1;
  const [rows, columns] = [before.length - head - tail, after.length - head - tail];
  const ends = (count: number, from: number, to: number): [number, number][] =>
    Array.from({ length: count }, (_, each) => [from + each, to + each]);
  const middle =
    rows * columns > MOST ? [] : longest(before.slice(head, head + rows), after.slice(head, head + columns));
  return [
    ...ends(head, 0, 0),
    ...middle.map(([i, j]): [number, number] => [i + head, j + head]),
    ...ends(tail, before.length - tail, after.length - tail),
  ];
}

function longest(before: string[], after: string[]): [number, number][] {
  const width = after.length + 1;
  const length = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => length[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      length[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: [number, number][] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return pairs;
}

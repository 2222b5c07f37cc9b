/** Which rules lead on and which come back, and the way that a task takes when all goes well. */
export interface Link {
  from: string;
  to: string;
  rule: string;
  /** Place of the rule at its station. */
  order: number;
  /** How unlikely it is that a task takes it: 0 what most took, else would; 1 perhaps; 3 hardly; 100 never, nor what a gate
   * rejects. */
  ill: number;
  /** Among those that are as likely. */
  rank: number;
}

export const NEVER = 100;
export const ILL = 3;

export interface Ordered {
  /** Indices into the links: those that lead back to where the walk came from. */
  back: ReadonlySet<number>;
  main: string[];
  mainLinks: ReadonlySet<number>;
  /** The main way first, then the others as they are reached. */
  keys: string[];
}

/** What is likely before what is not, then by the order of rules. */
const first = (a: Link, b: Link): number => a.ill - b.ill || a.rank - b.rank || a.order - b.order;

/** `well`: ends at which all went well, and stations from which the policy leads there. */
export function ordered(keys: readonly string[], links: readonly Link[], well: ReadonlySet<string>): Ordered {
  const after = new Map<string, number[]>();
  links.forEach((link, index) => {
    const own = after.get(link.from);
    if (own) own.push(index);
    else after.set(link.from, [index]);
  });
  for (const own of after.values()) own.sort((a, b) => first(links[a] as Link, links[b] as Link));
  const { back, done } = walked(keys, links, after);
  const { main, mainLinks } = mainWay(keys, links, after, back, done, well);
  const onMain = new Set(main);
  const rest = [...done].reverse().filter((key) => !onMain.has(key));
  return { back, main, mainLinks, keys: [...main, ...rest] };
}

/** Depth first, what goes well before what does not: an edge to where the walk still is leads back. */
function walked(keys: readonly string[], links: readonly Link[], after: ReadonlyMap<string, number[]>) {
  const back = new Set<number>();
  const comes: number[] = [];
  const state = new Map<string, "open" | "done">();
  const done: string[] = [];
  const targets = new Set(links.filter((link) => link.from !== link.to).map((link) => link.to));
  /** Tells whether a fork on the way here leads there, too: what comes back to one of its branches comes back to all. */
  const forksTo = (walk: readonly { key: string; next: number }[], coming: number, to: string): boolean =>
    walk.slice(0, -1).some(({ key, next }) => {
      const own = after.get(key) ?? [];
      const ruleOnWay = links[own[next - 1] ?? -1]?.rule;
      return own
        .slice(next)
        .some((each) => each !== coming && links[each]?.to === to && links[each]?.rule === ruleOnWay);
    });
  const roots = [...keys.slice(0, 1), ...keys.filter((key) => !targets.has(key)), ...keys];
  for (const root of roots) {
    if (state.has(root)) continue;
    const walk = [{ key: root, next: 0 }];
    state.set(root, "open");
    for (let top = walk.at(-1); top; top = walk.at(-1)) {
      const index = after.get(top.key)?.[top.next];
      top.next += 1;
      if (index === undefined) {
        state.set(top.key, "done");
        done.push(top.key);
        walk.pop();
        continue;
      }
      const to = links[index]?.to ?? "";
      const visit = state.get(to);
      const forked = visit === undefined && forksTo(walk, index, to);
      if (forked) comes.push(index);
      if (visit === "open" || forked) back.add(index);
      if (visit !== undefined || forked) continue;
      state.set(to, "open");
      walk.push({ key: to, next: 0 });
    }
  }
  // Turned round, an edge of these may close a circle: then it leads on after all.
  for (const index of comes) if (leads(links, back, index)) back.delete(index);
  return { back, done };
}

/** Tells whether its end is reached from its beginning without it. */
function leads(links: readonly Link[], back: ReadonlySet<number>, without: number): boolean {
  const after = new Map<string, string[]>();
  links.forEach(({ from, to }, index) => {
    if (index === without || from === to) return;
    const [begin, end] = back.has(index) ? [to, from] : [from, to];
    after.set(begin, [...(after.get(begin) ?? []), end]);
  });
  const { from, to } = links[without] as Link;
  const reached = new Set([from]);
  for (const key of reached) for (const next of after.get(key) ?? []) reached.add(next);
  return reached.has(to);
}

interface Best {
  ends: boolean;
  ill: number;
  /** Of its link here. */
  rank: number;
  length: number;
  link: number | undefined;
}

function better(a: Best, b: Best): boolean {
  if (a.ends !== b.ends) return a.ends;
  return (a.ill - b.ill || a.rank - b.rank || b.length - a.length) < 0;
}

/** From the first key: to a completed end, by what is likeliest, over as many stations as can be. */
function mainWay(
  keys: readonly string[],
  links: readonly Link[],
  after: ReadonlyMap<string, number[]>,
  back: ReadonlySet<number>,
  done: readonly string[],
  well: ReadonlySet<string>,
): { main: string[]; mainLinks: Set<number> } {
  const best = new Map<string, Best>();
  for (const key of done) {
    let continuation: Best = { ends: well.has(key), ill: 0, rank: 0, length: 1, link: undefined };
    for (const index of after.get(key) ?? []) {
      const link = links[index] as Link;
      const next = back.has(index) ? undefined : best.get(link.to);
      if (!next || link.ill >= NEVER) continue;
      const { rank } = link;
      const way = { ends: next.ends, ill: next.ill + link.ill, rank, length: next.length + 1, link: index };
      if (continuation.link === undefined && !continuation.ends ? true : better(way, continuation)) continuation = way;
    }
    best.set(key, continuation);
  }
  const main: string[] = [];
  const mainLinks = new Set<number>();
  for (let key = keys[0]; key !== undefined; ) {
    main.push(key);
    const index: number | undefined = best.get(key)?.link;
    if (index === undefined) break;
    mainLinks.add(index);
    key = links[index]?.to;
  }
  return { main, mainLinks };
}

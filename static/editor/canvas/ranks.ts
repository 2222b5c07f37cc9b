/** In which column each part of a line stands, and in which order: dagre for lines of usual size, one sweep of our own
 * for long ones, where dagre would keep the page waiting (270 ms for 300 stations). */
import { Graph, layout } from "@dagrejs/dagre";

export interface Link {
  from: string;
  to: string;
  /** Place of the rule at its station: earlier ones lead to what stands higher. */
  order: number;
}

export interface Ranked {
  /** Keys column by column, each from top to bottom. */
  columns: string[][];
  /** The links that lead on; the others come back. */
  forward: Link[];
}

const LONG = 60;
const FAR = 6;

export function ranked(keys: readonly string[], links: readonly Link[]): Ranked {
  const forward = onward(keys, links);
  const columns = columnsOf(keys, forward);
  // What leads far away is drawn as a stub, or below: it has no say in the order.
  const near = forward.filter(({ from, to }) => (columns.get(to) ?? 0) - (columns.get(from) ?? 0) <= FAR);
  const ordered = keys.length > LONG ? swept(columns, near) : arranged(keys, columns, near);
  return { columns: inOrderOfRules(firstAbove(ordered, near), near), forward };
}

/** What only later rules lead to stands below what first rules lead to, and so does what follows from it. */
function firstAbove(columns: string[][], forward: readonly Link[]): string[][] {
  const into = new Map<string, Link[]>();
  for (const link of forward) into.set(link.to, [...(into.get(link.to) ?? []), link]);
  const side = new Map<string, number>();
  for (const keys of columns) {
    for (const key of keys) {
      const ways = (into.get(key) ?? []).map((link) => Math.max(side.get(link.from) ?? 0, link.order > 0 ? 1 : 0));
      side.set(key, ways.length > 0 ? Math.min(...ways) : 0);
    }
  }
  return columns.map((keys) => [...keys].sort((a, b) => (side.get(a) ?? 0) - (side.get(b) ?? 0)));
}

/** Without the links that lead back to where the walk came from, the first rules walked first. */
function onward(keys: readonly string[], links: readonly Link[]): Link[] {
  const after = new Map<string, Link[]>();
  for (const link of links) after.set(link.from, [...(after.get(link.from) ?? []), link]);
  const found: Link[] = [];
  const state = new Map<string, "open" | "done">();
  for (const root of keys) {
    if (state.has(root)) continue;
    const walk: { key: string; next: number }[] = [{ key: root, next: 0 }];
    state.set(root, "open");
    for (let top = walk.at(-1); top; top = walk.at(-1)) {
      const link = after.get(top.key)?.[top.next];
      top.next += 1;
      if (!link) {
        state.set(top.key, "done");
        walk.pop();
        continue;
      }
      const met = state.get(link.to);
      if (met === "open" || (met === undefined && forksTo(walk, link.to, after))) continue;
      found.push(link);
      if (met === "done") continue;
      state.set(link.to, "open");
      walk.push({ key: link.to, next: 0 });
    }
  }
  return found;
}

/** Whether a fork on the way here leads there, too: what comes back to one of its branches comes back to all. */
function forksTo(walk: readonly { key: string; next: number }[], key: string, after: Map<string, Link[]>): boolean {
  return walk.slice(0, -1).some(({ key: from, next }) => {
    const links = after.get(from) ?? [];
    const taken = links[next - 1]?.order;
    return links.slice(next).some((link) => link.to === key && link.order === taken);
  });
}

/** Each as far right as the longest way to it; what nothing leads to stands beside what it leads to. */
function columnsOf(keys: readonly string[], forward: readonly Link[]): Map<string, number> {
  const into = new Map<string, number>(keys.map((key) => [key, 0]));
  const after = new Map<string, Link[]>(keys.map((key) => [key, []]));
  for (const link of forward) {
    into.set(link.to, (into.get(link.to) ?? 0) + 1);
    after.get(link.from)?.push(link);
  }
  const column = new Map<string, number>(keys.map((key) => [key, 0]));
  const ready = keys.filter((key) => into.get(key) === 0);
  const order: string[] = [];
  for (let key = ready.shift(); key !== undefined; key = ready.shift()) {
    order.push(key);
    for (const link of after.get(key) ?? []) {
      column.set(link.to, Math.max(column.get(link.to) ?? 0, (column.get(key) ?? 0) + 1));
      const left = (into.get(link.to) ?? 1) - 1;
      into.set(link.to, left);
      if (left === 0) ready.push(link.to);
    }
  }
  const first = keys[0];
  const led = new Set(forward.map((link) => link.to));
  for (const key of order) {
    if (key === first || led.has(key)) continue;
    const next = (after.get(key) ?? []).map((link) => column.get(link.to) ?? 1);
    column.set(key, next.length > 0 ? Math.max(0, Math.min(...next) - 1) : 1);
  }
  return column;
}

function grouped(column: Map<string, number>): string[][] {
  const columns: string[][] = [];
  for (const [key, at] of column) {
    const keys = columns[at];
    if (keys) keys.push(key);
    else columns[at] = [key];
  }
  return Array.from(columns, (each) => each ?? []);
}

/** From left to right: what is led to first, by the earlier rule, stands higher. */
function swept(column: Map<string, number>, forward: readonly Link[]): string[][] {
  const columns = grouped(column);
  const height = new Map<string, number>();
  const into = new Map<string, Link[]>();
  for (const link of forward) into.set(link.to, [...(into.get(link.to) ?? []), link]);
  for (const keys of columns) {
    const wanted = new Map(
      keys.map((key) => {
        const led = (into.get(key) ?? []).filter((link) => height.has(link.from));
        const sum = led.reduce((total, link) => total + (height.get(link.from) ?? 0) + link.order / 16, 0);
        return [key, led.length > 0 ? sum / led.length : keys.length];
      }),
    );
    keys.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
    for (const [index, key] of keys.entries()) height.set(key, index);
  }
  return columns;
}

/** The order that dagre finds within our columns. */
function arranged(keys: readonly string[], column: Map<string, number>, forward: readonly Link[]): string[][] {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", ranksep: 50, nodesep: 50, ranker: "longest-path" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const key of keys) graph.setNode(key, { width: 100, height: 50 });
  forward.forEach((link, index) => {
    const apart = Math.max(1, (column.get(link.to) ?? 0) - (column.get(link.from) ?? 0));
    graph.setEdge(link.from, link.to, { weight: link.order === 0 ? 4 : 1, minlen: apart }, String(index));
  });
  layout(graph);
  const height = new Map(keys.map((key) => [key, (graph.node(key) as { y: number }).y]));
  const columns = grouped(column);
  for (const each of columns) each.sort((a, b) => (height.get(a) ?? 0) - (height.get(b) ?? 0));
  return columns;
}

/** Where one station leads to several of a column, the target of its first rule is the topmost of them. */
function inOrderOfRules(columns: string[][], forward: readonly Link[]): string[][] {
  const at = new Map(columns.flatMap((keys, index) => keys.map((key) => [key, index] as const)));
  const led = new Set<string>();
  const bySource = new Map<string, Link[]>();
  for (const link of forward) bySource.set(link.from, [...(bySource.get(link.from) ?? []), link]);
  for (const links of bySource.values()) {
    const wanted = new Map<number, string[]>();
    for (const { to } of [...links].sort((a, b) => a.order - b.order)) {
      const column = at.get(to);
      if (column === undefined || led.has(to)) continue;
      led.add(to);
      wanted.set(column, [...(wanted.get(column) ?? []), to]);
    }
    for (const [index, keys] of wanted) {
      const column = columns[index];
      if (!column || keys.length < 2) continue;
      const places = keys.map((key) => column.indexOf(key)).sort((a, b) => a - b);
      places.forEach((place, order) => {
        column[place] = keys[order] ?? "";
      });
    }
  }
  return columns;
}

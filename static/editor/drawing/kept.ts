/** Layouts that were worked out before, kept in this browser: a line that did not change opens without any. */
import type { Graph, Placed } from "./types";

/** Another number where the same graph is laid out otherwise. */
const EDITION = 11;
const MOST = 24;
const NAME = "gateline-layouts";

type Entry = { key: string; placed: Placed };

/** 53 bits of everything that the layout depends on. */
export function keyOf(graph: Graph): string {
  const text = JSON.stringify(graph);
  let [high, low] = [0xdeadbeef ^ EDITION, 0x41c6ce57 ^ EDITION];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return `${graph.parts.length} ${4294967296 * (2097151 & low) + (high >>> 0)}`;
}

function all(): Entry[] {
  try {
    const entries: unknown = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    return Array.isArray(entries) ? (entries as Entry[]) : [];
  } catch {
    return [];
  }
}

export const recall = (key: string): Placed | undefined => all().find((each) => each.key === key)?.placed;

export function keep(key: string, placed: Placed): void {
  const others = all().filter((each) => each.key !== key);
  for (let most = MOST; most > 0; most = Math.floor(most / 2)) {
    try {
      localStorage.setItem(NAME, JSON.stringify([{ key, placed }, ...others].slice(0, most)));
      return;
    } catch {
      // Full, or not allowed: with fewer, else without.
    }
  }
}

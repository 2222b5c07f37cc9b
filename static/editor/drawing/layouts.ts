/** Where a line's parts stand, asked for while the page is drawn. What the worker has not answered yet is carried over from
 * what is known; who listens is told when it has. */
import ELK from "elkjs/lib/elk-api.js";
import ElkWorker from "elkjs/lib/elk-worker.min.js?worker";
import { best } from "./best";
import type { Engine } from "./elk";
import { keep, keyOf, recall } from "./kept";
import type { Graph, Placed } from "./types";

const MOST = 40;
const known = new Map<string, Placed>();
const listeners = new Set<() => void>();
const NOTHING: Placed = { parts: [], gates: [], ways: [], rows: [] };

let shown: Placed = NOTHING;
let count = 0;
let engine: Engine | undefined;
let busy: string | undefined;
let wanted: { key: string; graph: Graph } | undefined;
let failed = false;

/** The layout of this graph, or the last one that was shown: `exact` says which. */
export function placedFor(graph: Graph): { placed: Placed; exact: boolean } {
  const key = keyOf(graph);
  const found = known.get(key) ?? recalled(key);
  if (found) {
    wanted = undefined;
    shown = found;
    return { placed: found, exact: true };
  }
  ask(key, graph);
  return { placed: shown, exact: failed };
}

function recalled(key: string): Placed | undefined {
  const found = recall(key);
  if (found) remember(key, found);
  return found;
}

function remember(key: string, placed: Placed): void {
  known.set(key, placed);
  for (const old of known.keys()) {
    if (known.size <= MOST) break;
    known.delete(old);
  }
}

/** Changes whenever an answer came. */
export const edition = (): number => count;

export function onLayout(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function ask(key: string, graph: Graph): void {
  if (typeof Worker === "undefined" || failed) return;
  if (busy === key) {
    wanted = undefined;
    return;
  }
  wanted = { key, graph };
  if (busy === undefined) next();
}

function next(): void {
  if (!wanted) return;
  const { key, graph } = wanted;
  wanted = undefined;
  busy = key;
  // ELK is in the worker's own file, and loaded when the first line is drawn that this browser has not drawn before.
  engine ??= new ELK({ workerFactory: () => new ElkWorker() });
  best(graph, engine)
    .then((placed) => {
      remember(key, placed);
      keep(key, placed);
    })
    .catch(() => {
      failed = true;
    })
    .finally(() => {
      busy = undefined;
      count += 1;
      for (const listener of [...listeners]) listener();
      next();
    });
}

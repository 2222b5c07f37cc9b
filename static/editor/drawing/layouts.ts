/** Where a line's parts stand, asked for while the page is drawn. What the worker has not answered yet is carried over from
 * what is known; who listens is told when it has. */
import type { Stored } from "./frames";
import { keep, keyOf, recall } from "./kept";
import type { Answer } from "./laying";
import LayoutWorker from "./laying?worker";
import { quick } from "./quick";
import { LONG } from "./rows";
import type { Graph, Placed } from "./types";

const MOST = 40;
/** Milliseconds without an answer after which a line that is not drawn yet is drawn as it can be at once. */
const SLOW = 2_000;
/** Milliseconds after which the worker is taken for dead: it is started anew once, then given up. */
const DEAD = 60_000;
const known = new Map<string, Placed>();
const listeners = new Set<() => void>();
const NOTHING: Placed = { parts: [], gates: [], ways: [], rows: [] };

let latest: Placed = NOTHING;
/** Of which graph `shown` is the provisional drawing. */
let shownFor = "";
let count = 0;
let worker: Worker | undefined;
let busy: string | undefined;
let pending: { key: string; graph: Graph } | undefined;
let failed = false;
let slow = false;
let restarted = false;
let timers: ReturnType<typeof setTimeout>[] = [];

/** The layout of this graph, or the last one that was shown: `exact` says which. */
export function placedFor(graph: Graph): { placed: Placed; exact: boolean } {
  const key = keyOf(graph);
  const placed = known.get(key) ?? recall(key);
  if (placed) {
    remember(key, placed);
    pending = undefined;
    latest = placed;
    return { placed, exact: true };
  }
  // Before the canvas has its size nothing is seen; a layout for no size would hold up the one that is.
  if (graph.window[0] <= 0) return { placed: latest, exact: failed };
  ask(key, graph);
  const atOnce = graph.parts.length > LONG || slow || failed;
  if (atOnce && (failed || latest.provisional ? shownFor !== key : isOther(graph))) {
    latest = quick(graph);
    shownFor = key;
  }
  if (failed && latest.provisional) latest = { ...latest, provisional: undefined };
  return { placed: latest, exact: failed };
}

/** Tells whether what was shown last is hardly this line. */
function isOther({ parts }: Graph): boolean {
  const there = new Set(latest.parts.map((each) => each.key));
  return parts.filter((part) => there.has(part.key)).length < parts.length / 2;
}

/** Takes over what the server has laid out already. */
export function takeStored(stored: Stored | null | undefined): void {
  for (const { key, placed } of Object.values(stored ?? {})) remember(key, placed);
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
    pending = undefined;
    return;
  }
  pending = { key, graph };
  if (busy === undefined) next();
}

function next(): void {
  if (!pending) return;
  const { key, graph } = pending;
  pending = undefined;
  busy = key;
  // Loaded when the first line is drawn that this browser has not drawn before.
  worker ??= started();
  worker.postMessage(graph);
  timers = [
    setTimeout(() => {
      slow = true;
      tell();
    }, SLOW),
    setTimeout(() => dead(graph), DEAD),
  ];
}

/** Nobody looks at an empty canvas for ever because a worker did not start or hangs. */
function dead(graph: Graph): void {
  worker?.terminate();
  worker = undefined;
  if (restarted) {
    done(undefined);
    return;
  }
  restarted = true;
  worker = started();
  worker.postMessage(graph);
  timers.push(setTimeout(() => dead(graph), DEAD));
}

function started(): Worker {
  const made = new LayoutWorker();
  made.addEventListener("message", ({ data }: MessageEvent<Answer>) => done(data.placed));
  made.addEventListener("error", () => done(undefined));
  return made;
}

function done(placed: Placed | undefined): void {
  for (const timer of timers) clearTimeout(timer);
  slow = restarted = false;
  if (placed && busy !== undefined) {
    remember(busy, placed);
    keep(busy, placed);
  } else failed = true;
  busy = undefined;
  tell();
  next();
}

function tell(): void {
  count += 1;
  for (const listener of [...listeners]) listener();
}

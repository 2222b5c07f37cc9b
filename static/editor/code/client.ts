/** Asks the worker that reads and rewrites texts. */
import { write as json, own } from "../../ts/json";
import type { Json, LineDocument } from "../store/document";
import { idOf, isObject, same } from "./values";
import type { Answered, Asked } from "./worker";

interface Question {
  asked: Asked;
  resolve(answered: Answered): void;
}

const AGAIN = 2000;

let worker: Worker | undefined;
let last = 0;
const waiting = new Map<number, Question>();
let lost = loss();

function ask(asked: Asked): Promise<Answered> {
  const running = start();
  last += 1;
  const id = last;
  return new Promise((resolve) => {
    waiting.set(id, { asked, resolve });
    running.postMessage({ id, asked });
  });
}

/** Loads the worker, so that it is there when the network no longer is. */
export function start(): Worker {
  worker ??= started();
  return worker;
}

/** Rejects when the worker cannot be loaded. What was asked waits, and is asked again once it can be. */
export const unavailable = (): Promise<never> => lost.promise;

function started(): Worker {
  const made = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  made.onmessage = ({ data }: MessageEvent<{ id: number; answered: Answered }>) => {
    waiting.get(data.id)?.resolve(data.answered);
    waiting.delete(data.id);
  };
  made.onerror = (event) => {
    // A fault inside the worker comes with a message; without one it could not be loaded.
    if (event instanceof ErrorEvent || worker !== made) return;
    worker = undefined;
    lost.reject(new Error("the worker cannot be loaded"));
    lost = loss();
    window.setTimeout(() => waiting.size > 0 && start(), AGAIN);
  };
  for (const [id, { asked }] of waiting) made.postMessage({ id, asked });
  return made;
}

function loss(): { promise: Promise<never>; reject(fault: Error): void } {
  let reject: (fault: Error) => void = () => undefined;
  const promise = new Promise<never>((_, refuse) => {
    reject = refuse;
  });
  promise.catch(() => undefined);
  return { promise, reject };
}

export const read = (text: string): Promise<Answered> => ask({ do: "read", text });

/** `text`, so that it says `line`, with everything else in it as it was. */
export const write = (text: string, line: LineDocument): Promise<Answered> =>
  ask({ do: "write", text, document: json(line) });

/** Two edits of one text, line by line. What comes of it may say anything. */
export const merge = async (base: string, mine: string, theirs: string): Promise<string> =>
  (await ask({ do: "merge", base, text: mine, theirs })).text;

/** `after`, with every part that is the same as before being the very same object: what did not change is not drawn
 * again. `before` itself, where nothing did. */
export function shared<T>(before: unknown, after: T): T {
  if (before === after || !same(before as Json, after as Json)) return parts(before, after);
  return before as T;
}

function parts<T>(before: unknown, after: T): T {
  if (Array.isArray(after)) {
    const known = Array.isArray(before) ? before : [];
    return after.map((each, place) => shared(alike(known, each, place), each)) as T;
  }
  if (!isObject(after) || !isObject(before)) return after;
  return Object.fromEntries(Object.entries(after).map(([key, each]) => [key, shared(own(before, key), each)])) as T;
}

const alike = (known: unknown[], value: unknown, place: number): unknown => {
  const identity = idOf(value as Json);
  return identity === undefined ? known[place] : known.find((each) => idOf(each as Json) === identity);
};

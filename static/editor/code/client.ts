/** Asks the worker that reads and rewrites texts. It is started when it is first asked. */
import type { Json, LineDocument } from "../document";
import { idOf, isObject, same } from "./values";
import type { Answered, Asked } from "./worker";

let worker: Worker | undefined;
let last = 0;
const waiting = new Map<number, (answered: Answered) => void>();

function ask(asked: Asked): Promise<Answered> {
  worker ??= started();
  last += 1;
  const id = last;
  const running = worker;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    running.postMessage({ id, asked });
  });
}

function started(): Worker {
  const made = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  made.onmessage = ({ data }: MessageEvent<{ id: number; answered: Answered }>) => {
    waiting.get(data.id)?.(data.answered);
    waiting.delete(data.id);
  };
  return made;
}

export const read = (text: string): Promise<Answered> => ask({ do: "read", text });

/** `text`, so that it says `line`, with everything else in it as it was. */
export const write = (text: string, line: LineDocument): Promise<Answered> =>
  ask({ do: "write", text, document: JSON.stringify(line) });

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
  return Object.fromEntries(Object.entries(after).map(([key, each]) => [key, shared(before[key], each)])) as T;
}

const alike = (known: unknown[], value: unknown, place: number): unknown => {
  const identity = idOf(value as Json);
  return identity === undefined ? known[place] : known.find((each) => idOf(each as Json) === identity);
};

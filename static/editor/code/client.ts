/** Asks the worker that reads and rewrites texts. It is started when it is first asked. */
import type { LineDocument } from "../document";
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

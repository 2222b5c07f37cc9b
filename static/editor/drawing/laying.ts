/** Lays lines out beside the page. ELK has a worker of its own, which it needs; here rows are cut, its answers read and
 * pills freed, so that nothing of it holds the page up. */
import ELK from "elkjs/lib/elk-api.js";
import ElkWorker from "elkjs/lib/elk-worker.min.js?worker";
import { best } from "./best";
import type { Graph, Placed } from "./types";

export interface Answer {
  placed?: Placed;
}

const engine = new ELK({ workerFactory: () => new ElkWorker() });

self.addEventListener("message", ({ data }: MessageEvent<Graph>) => {
  best(data, engine).then(
    (placed) => self.postMessage({ placed } satisfies Answer),
    () => self.postMessage({} satisfies Answer),
  );
});

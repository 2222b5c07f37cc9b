/** Drawing for everybody, where the server has no Node: the browser of a designer makes it, and the server checks it. A
 * refusal changes nothing here, and the next page tries again. */
import ELK from "elkjs/lib/elk-api.js";
import ElkWorker from "elkjs/lib/elk-worker.min.js?worker";
import { ask } from "../api/door";
import type { Picture } from "../api/line";
import { stillOf } from "./still";

let begun = false;

export async function handOver(picture: Picture, address: string): Promise<void> {
  if (begun) return;
  begun = true;
  const engine = new ELK({ workerFactory: () => new ElkWorker() });
  const drawn = await stillOf(picture, engine);
  engine.terminateWorker();
  await ask("PUT", address, drawn);
}

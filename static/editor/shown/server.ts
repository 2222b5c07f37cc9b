/** Draws lines on a server, under Node: a picture a line on its input, the drawing of it a line on its output. It reads nothing
 * else, and ends after so many milliseconds without work as its argument says, or with its input. */
import { createInterface } from "node:readline";
import ELK from "elkjs/lib/elk.bundled.js";
import type { Picture } from "../api/line";
import type { Engine } from "../drawing/elk";
import { type KindOfWork, takeKinds } from "../store/kinds";
import { stillOf } from "./still";

const REST = Number(process.argv[2]);
const engine = new ELK() as unknown as Engine;
const end = (): void => process.exit(0);

let rest: NodeJS.Timeout | undefined;
for await (const request of createInterface({ input: process.stdin })) {
  clearTimeout(rest);
  process.stdout.write(`${JSON.stringify(await answered(request))}\n`);
  rest = setTimeout(end, REST);
}
end();

async function answered(request: string): Promise<unknown> {
  try {
    const picture: Picture & { kinds: KindOfWork[] } = JSON.parse(request);
    takeKinds(picture.kinds);
    return await stillOf(picture, engine);
  } catch (error) {
    return { error: error instanceof Error ? error.message : "" };
  }
}

/** Reads and rewrites texts beside the page, so that a long one never holds it up. */
import { parse } from "../../ts/json";
import type { Json } from "../store/document";
import { whole } from "./emit";
import { merge3 } from "./lines3";
import type { Places } from "./paths";
import { read } from "./reading";
import { rewrite } from "./rewrite";

export type Asked =
  | { do: "read"; text: string }
  /** `document`: JSON of the wanted document. Without a text it is written from scratch. */
  | { do: "write"; text: string; document: string }
  | { do: "merge"; text: string; base: string; theirs: string };

export type Answered =
  | { ok: true; text: string; value: { [key: string]: Json }; places: Places }
  | { ok: false; text: string; message: string; at: number };

function answer(asked: Asked): Answered {
  let text = asked.do === "merge" ? merge3(asked.base, asked.text, asked.theirs) : asked.text;
  if (asked.do === "write") {
    const document = parse(asked.document) as { [key: string]: Json };
    text = text.trim() === "" ? whole(document) : rewrite(text, document);
  }
  const parsedText = read(text);
  return parsedText.ok
    ? { ok: true, text, value: parsedText.value, places: parsedText.places }
    : { ...parsedText, text };
}

self.onmessage = ({ data }: MessageEvent<{ id: number; asked: Asked }>): void => {
  self.postMessage({ id: data.id, answered: answer(data.asked) });
};

/** Stores a draft with its text. Where somebody saved meanwhile, the two are put together in the text too, before
 * anything is stored: a text never goes without its comments. */
import type { LineDocument } from "../store/document";
import { unavailable } from "./client";
import type { LineText } from "./text";

const TRIES = 4;

interface Sent {
  based_on: number;
  base: LineDocument;
  document: LineDocument;
  [key: string]: unknown;
}

/** As `fetch` answers: of what was put together with somebody else's, with the `document` that is stored now. */
export async function storeDraft(url: string, init: RequestInit, sent: Sent, text: LineText): Promise<Response> {
  let body: Sent & { text?: string | undefined } = {
    ...sent,
    text: await Promise.race([text.textOf(sent.document), unavailable()]),
  };
  let others: unknown;
  for (let left = TRIES; ; left -= 1) {
    const answer = await fetch(url, { ...init, body: JSON.stringify(body) });
    if (!answer.ok || answer.redirected) return answer;
    const said = await answer.json();
    if (!said.behind || left === 0) {
      if (body.text !== undefined && !said.behind) keep(text, body.text, others !== undefined);
      const document = said.document ?? (body.document === sent.document ? undefined : body.document);
      const draft = others ? { ...said.draft, others } : said.draft;
      return new Response(JSON.stringify({ ...said, draft, document }), { status: said.behind ? 503 : 200 });
    }
    others = said.draft?.others ?? [];
    body = {
      ...sent,
      based_on: said.number,
      base: said.base,
      document: said.document,
      text: await text.merged(said.text, said.document),
    };
  }
}

/** The text that is stored now is this one; put together with somebody else's it is not the one in this page yet. */
function keep(text: LineText, stored: string, merged: boolean): void {
  if (merged) text.stored(stored);
  else text.saved(stored);
}

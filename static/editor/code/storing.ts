/** Stores a draft with its text. Where somebody saved meanwhile, the two are put together in the text too, before
 * anything is stored: a text never goes without its comments. */
import type { Answer } from "../api/door";
import type { Behind, Clashed, Edit, Saved } from "../api/line";
import { unavailable } from "./client";
import type { LineText } from "./text";

const TRIES = 4;

/** Of what was put together with somebody else's, the answer comes with the `document` that is stored now. Rejects when
 * the text cannot be written. */
export async function storeDraft(
  save: (edit: Edit) => Promise<Answer<Saved | Behind, Clashed>>,
  sent: Edit,
  text: LineText,
): Promise<Answer<Saved, Clashed>> {
  let edit: Edit = { ...sent, text: await Promise.race([text.textOf(sent.document), unavailable()]) };
  let others: string[] | undefined;
  for (let left = TRIES; ; left -= 1) {
    const answer = await save(edit);
    if (answer.is !== "ok") return answer;
    const { said } = answer;
    if (!("behind" in said)) {
      if (edit.text !== undefined) keepText(text, edit.text, others !== undefined);
      const document = said.document ?? (edit.document === sent.document ? undefined : edit.document);
      return { is: "ok", said: { ...said, draft: others ? { ...said.draft, others } : said.draft, document } };
    }
    if (left === 0) return { is: "away" };
    others = said.draft.others;
    edit = {
      ...sent,
      based_on: said.number,
      base: said.base,
      document: said.document,
      text: await text.merged(said.text, said.document),
    };
  }
}

/** The text that is stored now is this one; put together with somebody else's it is not the one in this page yet. */
function keepText(text: LineText, stored: string, merged: boolean): void {
  if (merged) text.stored(stored);
  else text.saved(stored);
}

/** What a form sends to the server, and what comes back. */
import { csrf } from "../saving/csrf";
import type { Fragment } from "../store/patch";
import type { Editor } from "../store/store";

/** A button of the form that was pressed. */
export interface Deed {
  do: string;
  rows: string;
  index: number;
  kind: string;
}

export interface Answer {
  html: string;
  fragment: Fragment;
  label: string;
  refused: string[];
  focus: string;
}

const PATIENCE = 15_000;

export async function asked(
  editor: Editor,
  what: string,
  question: object,
): Promise<Answer | "away" | "signed-out" | "refused"> {
  try {
    const response = await fetch(`${editor.given.urls.forms}${what}/`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRFToken": csrf(editor.given.csrf) },
      body: JSON.stringify(question),
      signal: AbortSignal.timeout(PATIENCE),
    });
    if (response.redirected) return "signed-out";
    if (response.status >= 500 || response.status === 429) return "away";
    return response.ok || response.status === 422 ? ((await response.json()) as Answer) : "refused";
  } catch {
    return "away";
  }
}

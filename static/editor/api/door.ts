/** The JSON door: whatever the editor asks the server goes through here, and to the API (docs/api.md). */

import { parse, write } from "../../ts/json";

/** What is wrong with what was sent, and where. */
export interface Problem {
  path: string;
  message: string;
  hint?: string;
  line?: number | null;
  column?: number | null;
}

/** As the API refuses (RFC 9457). */
export interface Refusal {
  detail: string;
  errors: Problem[];
}

/** `away`: the server cannot be reached, or is busy; asking again may help. */
export type Answer<T, R = Refusal> =
  | { is: "ok"; said: T }
  | { is: "refused"; status: number; problem: R }
  | { is: "signed-out" }
  | { is: "away" };

const PATIENCE = 30_000;

/** The cookie's, not the page's: who signs in again in another tab has another one. */
const csrf = (): string => /(?:^|;\s*)gateline_csrf=([^;]+)/.exec(document.cookie)?.[1] ?? "";

export async function ask<T, R = Refusal>(
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  url: string,
  body?: unknown,
  patience = PATIENCE,
): Promise<Answer<T, R>> {
  const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": csrf() };
  try {
    const response = await fetch(url, {
      method,
      headers,
      signal: AbortSignal.timeout(patience),
      ...(body === undefined ? {} : { body: write(body) }),
    });
    if (response.redirected || response.status === 401) return { is: "signed-out" };
    if (response.status >= 500 || response.status === 429) return { is: "away" };
    const parsedBody = response.status === 204 ? undefined : parse(await response.text());
    if (response.ok) return { is: "ok", said: parsedBody as T };
    return { is: "refused", status: response.status, problem: parsedBody as R };
  } catch {
    return { is: "away" };
  }
}

/** One sentence of a refusal: the words of the server with the places that it names. */
export function wordsOf({ detail, errors }: Refusal): string {
  const [first] = errors;
  if (!first || detail.includes(first.message)) return detail;
  return first.path ? `${first.path}: ${first.message}` : first.message;
}

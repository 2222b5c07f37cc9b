/** Keeps the draft on the server: a change is saved a moment after the last one, a copy lies in the browser until the
 * server has it, and a server that is away is tried again. Answers come with what lint finds. */
import type { Json, LineDocument } from "./document";
import type { Findings } from "./findings";

const PAUSE = 500;
const AGAIN = [1000, 2000, 5000, 10000];

export type Saving =
  | { state: "saved"; at: number }
  | { state: "waiting" }
  | { state: "saving" }
  | { state: "failed"; why: string }
  | { state: "refused"; why: string }
  | { state: "conflict"; by: string; clashes: Clash[] };

/** A place that both changed; null where it is not there. */
export interface Clash {
  path: string;
  base: Json;
  mine: Json;
  theirs: Json;
}

interface Kept {
  number: number;
  base: LineDocument;
  line: LineDocument;
}

export interface Wanted {
  url: string;
  csrf: string;
  number: number;
  document: LineDocument;
  onState(saving: Saving): void;
  /** The server merged the change with somebody else's: this is stored now. */
  onMerged(line: LineDocument): void;
  /** `differs`: whether what is stored now says anything else than what is live. */
  onFindings(findings: Findings, differs: boolean): void;
}

export class Saver {
  /** The stored draft that the page started from, and its number: what a change is merged by, if need be. */
  #number: number;
  #base: LineDocument;
  #prefer: "mine" | "theirs" | undefined;
  #pending: LineDocument | undefined;
  #timer = 0;
  #busy = false;
  #failures = 0;

  constructor(private readonly wanted: Wanted) {
    this.#number = wanted.number;
    this.#base = wanted.document;
    window.addEventListener("online", () => this.#soon(0));
    window.addEventListener("beforeunload", (event) => {
      if (this.#pending) event.preventDefault();
    });
  }

  /** What was changed here and never reached the server. */
  restored(): LineDocument | undefined {
    const kept = this.#read();
    if (!kept) return undefined;
    this.#number = kept.number;
    this.#base = kept.base;
    return kept.line;
  }

  save(line: LineDocument): void {
    this.#pending = line;
    this.#keep(line);
    this.wanted.onState({ state: "waiting" });
    this.#soon(PAUSE);
  }

  /** After a clash: whose word counts where both changed the same place. What is disjoint is kept of both. */
  settle(prefer: "mine" | "theirs"): void {
    this.#prefer = prefer;
    this.#soon(0);
  }

  retry(): void {
    this.#failures = 0;
    this.#soon(0);
  }

  #soon(after: number): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#send(), after);
  }

  async #send(): Promise<void> {
    const line = this.#pending;
    if (!line || this.#busy) return;
    this.#busy = true;
    this.wanted.onState({ state: "saving" });
    try {
      const answer = await fetch(this.wanted.url, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": this.wanted.csrf },
        body: JSON.stringify({ based_on: this.#number, base: this.#base, document: line, prefer: this.#prefer }),
      });
      await this.#answered(line, answer);
    } catch {
      this.#failed("");
    } finally {
      this.#busy = false;
    }
    if (this.#pending && this.#pending !== line) this.#soon(PAUSE);
  }

  async #answered(line: LineDocument, answer: Response): Promise<void> {
    if (answer.status >= 500 || answer.redirected) return this.#failed(String(answer.status));
    const said = await answer.json();
    if (answer.status === 409) {
      this.wanted.onState({ state: "conflict", by: said.by, clashes: said.clashes });
    } else if (!answer.ok) {
      this.wanted.onState({ state: "refused", why: said.detail ?? String(answer.status) });
    } else {
      this.#stored(line, said);
    }
  }

  #stored(line: LineDocument, said: { number: number; document?: LineDocument; findings: Findings; differs: boolean }): void {
    this.#failures = 0;
    this.#prefer = undefined;
    const changedSince = this.#pending !== line;
    // What was merged is not what the newer change was made from: that one is merged by the old base again.
    if (said.document && changedSince) return;
    this.#number = said.number;
    this.#base = said.document ?? line;
    if (changedSince) {
      this.#keep(this.#pending ?? line);
    } else {
      this.#pending = undefined;
      this.#forget();
      if (said.document) this.wanted.onMerged(said.document);
      this.wanted.onState({ state: "saved", at: Date.now() });
    }
    this.wanted.onFindings(said.findings, said.differs);
  }

  #failed(why: string): void {
    this.wanted.onState({ state: "failed", why });
    this.#soon(AGAIN[Math.min(this.#failures, AGAIN.length - 1)] ?? 10000);
    this.#failures += 1;
  }

  get #place(): string {
    return `gateline draft ${this.wanted.url}`;
  }

  #keep(line: LineDocument): void {
    try {
      localStorage.setItem(this.#place, JSON.stringify({ number: this.#number, base: this.#base, line } satisfies Kept));
    } catch {
      // A browser without room: the change is still in the page, and is sent in a moment.
    }
  }

  #read(): Kept | undefined {
    try {
      return JSON.parse(localStorage.getItem(this.#place) ?? "null") ?? undefined;
    } catch {
      return undefined;
    }
  }

  #forget(): void {
    localStorage.removeItem(this.#place);
  }
}

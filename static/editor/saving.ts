/** Keeps the draft on the server: a change is saved a moment after the last one, a copy lies in the browser until the
 * server has it, and a server that is away is tried again. Answers come with what lint finds. */
import type { LineDocument } from "./document";
import type { Findings } from "./findings";

const PAUSE = 500;
const AGAIN = [1000, 2000, 5000, 10000];

export type Saving =
  | { state: "saved"; at: number }
  | { state: "waiting" }
  | { state: "saving" }
  | { state: "failed"; why: string }
  | { state: "refused"; why: string }
  | { state: "conflict"; number: number; by: string; stored: LineDocument };

export interface Kept {
  number: number;
  line: LineDocument;
}

export interface Wanted {
  url: string;
  csrf: string;
  number: number;
  onState(saving: Saving): void;
  onFindings(findings: Findings): void;
}

export class Saver {
  #number: number;
  #pending: LineDocument | undefined;
  #timer = 0;
  #busy = false;
  #failures = 0;

  constructor(private readonly wanted: Wanted) {
    this.#number = wanted.number;
    window.addEventListener("online", () => this.#soon(0));
    window.addEventListener("beforeunload", (event) => {
      if (this.#pending) event.preventDefault();
    });
  }

  get number(): number {
    return this.#number;
  }

  /** What was typed here and never reached the server, when it was based on the draft that the server still has. */
  restored(): LineDocument | undefined {
    const kept = this.#read();
    if (!kept || kept.number !== this.#number) {
      this.#forget();
      return undefined;
    }
    return kept.line;
  }

  save(line: LineDocument): void {
    this.#pending = line;
    this.#keep(line);
    this.wanted.onState({ state: "waiting" });
    this.#soon(PAUSE);
  }

  /** Saves over the stored draft `number`: what a person decided after they saw both. */
  overwrite(line: LineDocument, number: number): void {
    this.#number = number;
    this.save(line);
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
        body: JSON.stringify({ based_on: this.#number, document: line }),
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
      this.wanted.onState({ state: "conflict", number: said.number, by: said.by, stored: said.document });
    } else if (!answer.ok) {
      this.wanted.onState({ state: "refused", why: said.detail ?? String(answer.status) });
    } else {
      this.#number = said.number;
      this.#failures = 0;
      if (this.#pending === line) {
        this.#pending = undefined;
        this.#forget();
        this.wanted.onState({ state: "saved", at: Date.now() });
      } else {
        this.#keep(this.#pending ?? line);
      }
      this.wanted.onFindings(said.findings);
    }
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
      localStorage.setItem(this.#place, JSON.stringify({ number: this.#number, line } satisfies Kept));
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

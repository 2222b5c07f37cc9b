/** A copy of the text in the browser, for as long as the server does not have it: each tab has its own, and what a tab
 * that is gone has left is found by the next one. */
import { Copies } from "../store/copies";

export interface KeptText {
  /** The stored text that it was made from. */
  base: string;
  text: string;
  /** Tells whether the text was changed last; else the document was, and the text follows it. */
  leads: boolean;
}

export class TextKeeper {
  readonly #copies: Copies<KeptText>;
  readonly #ready: Promise<void>;
  #last: KeptText | undefined;

  constructor(place: string) {
    this.#copies = new Copies(
      `gateline text ${place}`,
      ({ base, text }) => typeof base === "string" && typeof text === "string",
    );
    this.#ready = this.#copies.begin();
  }

  /** In a browser without room the text is still in the page, and is sent in a moment. */
  keep(kept: KeptText): void {
    this.#last = kept;
    void this.#ready.then(() => {
      if (this.#last === kept) this.#copies.keep(kept);
    });
  }

  async found(): Promise<KeptText | undefined> {
    await this.#ready;
    return this.#copies.found();
  }

  forget(): void {
    this.#last = undefined;
    void this.#ready.then(() => {
      if (!this.#last) this.#copies.forget();
    });
  }
}

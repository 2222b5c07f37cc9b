/** A copy of the text in the browser, for as long as the server does not have it. */
export interface KeptText {
  /** The stored text that it was made from. */
  base: string;
  text: string;
  /** Whether the text was changed last; else the document was, and the text follows it. */
  leads: boolean;
}

export class TextKeeper {
  readonly #place: string;

  constructor(place: string) {
    this.#place = `gateline text ${place}`;
  }

  keep(kept: KeptText): void {
    try {
      localStorage.setItem(this.#place, JSON.stringify(kept));
    } catch {
      // A browser without room: the text is still in the page, and is sent in a moment.
    }
  }

  found(): KeptText | undefined {
    try {
      const found = JSON.parse(localStorage.getItem(this.#place) ?? "null");
      return typeof found?.text === "string" ? found : undefined;
    } catch {
      return undefined;
    }
  }

  forget(): void {
    localStorage.removeItem(this.#place);
  }
}

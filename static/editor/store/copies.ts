import { parse, write } from "../../ts/json";

/** What was changed here and is not on the server yet, kept in the browser: each tab has a copy of its own, so that two
 * tabs of one line never write over each other's, and the copy of a tab that is gone is found by the next one. */
type Stored<T> = T & { at: number };

/** Without locks (a page that is not from a secure origin) a tab that wrote nothing for so long counts as gone. */
const GONE = 60_000;

export class Copies<T extends object> {
  #tab = "";

  /** `whole`: whether what was found is such a copy. */
  constructor(
    private readonly prefix: string,
    private readonly whole: (found: Partial<T>) => boolean,
  ) {}

  /** The name of this tab, which it has to itself for as long as it lives; a reload keeps it. */
  async begin(): Promise<void> {
    const known = session("get", this.prefix);
    for (const tab of [known, crypto.randomUUID?.() ?? String(Math.random())]) {
      if (tab && (await this.#hold(tab))) {
        this.#tab = tab;
        session("set", this.prefix, tab);
        return;
      }
    }
  }

  /** False when the browser has no room, or keeps nothing. */
  keep(copy: T): boolean {
    if (!this.#tab) return false;
    try {
      localStorage.setItem(this.#place(this.#tab), write({ ...copy, at: Date.now() } satisfies Stored<T>));
      return true;
    } catch {
      return false;
    }
  }

  forget(): void {
    remove(this.#place(this.#tab));
  }

  /** What this tab kept before it was loaded again, else what one kept that is gone; it is this tab's from now on. */
  async found(): Promise<T | undefined> {
    const own = this.#read(this.#tab);
    if (own) return own;
    for (const tab of this.#others()) {
      const copy = this.#read(tab);
      if (!copy || !(await this.#isGone(tab, copy))) continue;
      if (!this.keep(copy)) return undefined;
      remove(this.#place(tab));
      return copy;
    }
    return undefined;
  }

  #others(): string[] {
    const start = `${this.prefix} `;
    try {
      return Object.keys(localStorage)
        .filter((key) => key.startsWith(start))
        .map((key) => key.slice(start.length))
        .filter((tab) => tab !== this.#tab);
    } catch {
      return [];
    }
  }

  async #isGone(tab: string, copy: Stored<T>): Promise<boolean> {
    if (!navigator.locks) return Date.now() - copy.at > GONE;
    return navigator.locks.request(this.#place(tab), { ifAvailable: true }, (lock) => lock !== null);
  }

  /** Held until the tab is closed, or crashes; a tab that was duplicated finds its name taken and gets another. */
  #hold(tab: string): Promise<boolean> {
    if (!navigator.locks) return Promise.resolve(true);
    return new Promise((answer) => {
      void navigator.locks.request(this.#place(tab), { ifAvailable: true }, (lock) => {
        answer(lock !== null);
        return lock ? new Promise(() => undefined) : undefined;
      });
    });
  }

  #read(tab: string): Stored<T> | undefined {
    try {
      const copy = parse(localStorage.getItem(this.#place(tab)) ?? "null") as Stored<T> | null;
      return copy && this.whole(copy) ? copy : undefined;
    } catch {
      return undefined;
    }
  }

  #place(tab: string): string {
    return `${this.prefix} ${tab}`;
  }
}

function session(what: "get" | "set", name: string, value = ""): string | null {
  try {
    if (what === "get") return sessionStorage.getItem(name);
    sessionStorage.setItem(name, value);
  } catch {
    // A browser that keeps nothing: the tab gets another name after a reload.
  }
  return null;
}

function remove(place: string): void {
  try {
    localStorage.removeItem(place);
  } catch {
    // Nothing can be kept, so nothing is there.
  }
}

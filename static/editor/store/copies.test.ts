import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { Copies } from "./copies";

interface Copy {
  text: string;
}

function storage(): Storage {
  const items: Record<string, string> = {};
  const fakeStorage = Object.create({
    getItem: (name: string) => items[name] ?? null,
    setItem(name: string, value: string): void {
      items[name] = value;
      fakeStorage[name] = value;
    },
    removeItem(name: string): void {
      delete items[name];
      delete fakeStorage[name];
    },
  });
  return fakeStorage as Storage;
}

/** Locks as browsers have them: of each name one, until its tab is gone. */
const lockHolders = new Map<string, object>();
let tab: object;

const locks = {
  async request(name: string, _: object, run: (lock: object | null) => unknown): Promise<unknown> {
    if (lockHolders.has(name)) return run(null);
    lockHolders.set(name, tab);
    const done = run({});
    if (done instanceof Promise) return done;
    lockHolders.delete(name);
    return done;
  },
};

/** A tab with a session of its own, or the same one loaded again. */
async function opened(session = storage()): Promise<{ copies: Copies<Copy>; session: Storage; close(): void }> {
  const own = {};
  const here = (): void => {
    tab = own;
    vi.stubGlobal("sessionStorage", session);
  };
  here();
  const copies = new Copies<Copy>("text /line/", ({ text }) => typeof text === "string");
  await copies.begin();
  const close = (): void => {
    for (const [name, holder] of lockHolders) if (holder === own) lockHolders.delete(name);
  };
  return { copies, session, close };
}

beforeEach(() => {
  lockHolders.clear();
  vi.stubGlobal("localStorage", storage());
  vi.stubGlobal("navigator", { locks });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

it("leaves to each tab what is its own", async () => {
  const [one, two] = [await opened(), await opened()];
  one.copies.keep({ text: "one" });
  expect(await two.copies.found()).toBeUndefined();
  two.copies.keep({ text: "two" });
  expect([(await one.copies.found())?.text, (await two.copies.found())?.text]).toEqual(["one", "two"]);
});

it("finds its own again when the tab is loaded again", async () => {
  const before = await opened();
  before.copies.keep({ text: "typed" });
  before.close();
  const after = await opened(before.session);
  expect((await after.copies.found())?.text).toBe("typed");
});

it("takes over what a tab that is gone has left, once", async () => {
  const gone = await opened();
  gone.copies.keep({ text: "left" });
  gone.close();
  const [one, two] = [await opened(), await opened()];
  expect((await one.copies.found())?.text).toBe("left");
  expect(await two.copies.found()).toBeUndefined();
  one.copies.forget();
  expect(await one.copies.found()).toBeUndefined();
});

it("gives a tab that was duplicated, session and all, a name of its own", async () => {
  const one = await opened();
  const two = await opened(one.session);
  one.copies.keep({ text: "one" });
  two.copies.keep({ text: "two" });
  expect((await one.copies.found())?.text).toBe("one");
});

it("says so where nothing can be kept, and takes no copy that is none", async () => {
  const { copies } = await opened();
  localStorage.setItem("text /line/ other", JSON.stringify({ at: 0 }));
  expect(await copies.found()).toBeUndefined();
  vi.stubGlobal("localStorage", {
    setItem: () => {
      throw new Error("full");
    },
  });
  expect(copies.keep({ text: "x" })).toBe(false);
});

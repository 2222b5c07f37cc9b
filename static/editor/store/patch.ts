/** What a server form changed, carried over to the fragment as it is by now: others may have changed it meanwhile. */
import { own, put } from "../../ts/json";
import type { Json } from "./document";

export type Fragment = { [key: string]: Json | undefined };

export const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const isFragment = (value: unknown): value is Fragment =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `now` with the members that `answered` has otherwise than `sent`. */
export function patched(now: Fragment, sent: Fragment, answered: Fragment): Fragment {
  const next: Fragment = { ...now };
  for (const key of new Set([...Object.keys(sent), ...Object.keys(answered)])) {
    const [before, after, here] = [own(sent, key), own(answered, key), own(now, key)];
    if (same(before, after)) continue;
    if (after === undefined) delete next[key];
    else {
      const parts = isFragment(before) && isFragment(after) && isFragment(here);
      put(next, key, parts ? (patched(here, before, after) as Json) : after);
    }
  }
  return next;
}

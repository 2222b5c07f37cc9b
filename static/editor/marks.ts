/** What other parts of the page paint on the canvas: the way of a test, a difference. Words of our own by station, end
 * or rule; they become `data-mark` of what is drawn there, and a sheet gives them a look. */
import { useSyncExternalStore } from "react";

export type Marks = Readonly<Record<string, string>>;

const NONE: Marks = {};
let marks: Marks = NONE;
const heard = new Set<() => void>();

export function paint(next: Marks = NONE): void {
  marks = next;
  for (const each of heard) each();
}

const subscribe = (each: () => void): (() => void) => {
  heard.add(each);
  return () => heard.delete(each);
};

export const useMarks = (): Marks => useSyncExternalStore(subscribe, () => marks);

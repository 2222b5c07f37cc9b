/** The kinds of work, as the server tells them (pipelines/routing/document/kinds). */
import { say } from "../shell/words";
import type { Json } from "./document";

export interface KindOfWork {
  key: string;
  name: string;
  /** One line: who does what. */
  about: string;
  /** What a new station says besides its kind. */
  fresh: { [key: string]: Json };
  /** The keys of the work that name a station. */
  stations: string[];
  /** Those that name a gate. */
  gates: string[];
  /** Tells whether a station of it can be run by itself. */
  alone: boolean;
}

let table: ReadonlyMap<string, KindOfWork> = new Map();

export function takeKinds(given: readonly KindOfWork[]): void {
  table = new Map(given.map((kind) => [kind.key, kind]));
}

export const allKinds = (): readonly KindOfWork[] => [...table.values()];
export const kindNamed = (key: string): KindOfWork | undefined => table.get(key);
/** A draft may have a kind that is not run here. */
export const kindName = (key: string): string => table.get(key)?.name ?? say("kindOther");
export const kindIcon = (key: string): string => (table.has(key) ? `station-${key}` : "station-other");

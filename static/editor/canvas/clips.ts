/** What is copied, pasted and deleted together: stations with their rules, and notes. */

import { say } from "../shell/words";
import { type Clip, type Command, clip, paste, remove } from "../store/commands";
import { isPlace, type LineDocument, type Note, type Positions, positionsOf } from "../store/document";
import { partName } from "../store/names";
import { freshNoteKey, noteId, noteKey, notesOf, withNotes } from "../store/notes";
import { heightOf } from "./layout";

export interface Parts extends Clip {
  notes?: Note[];
  /** Where those stood that a person had put somewhere. */
  positions?: Positions;
}

const APART = 48;

export function partsOf(line: LineDocument, keys: readonly string[]): Parts {
  const chosen = new Set(keys);
  const notes = notesOf(line).filter((note) => chosen.has(noteId(note.key)));
  const clipped = clip(line, keys);
  const positions = Object.fromEntries(Object.entries(positionsOf(line)).filter(([key]) => chosen.has(key)));
  return {
    ...clipped,
    ...(notes.length > 0 ? { notes } : {}),
    ...(Object.keys(positions).length > 0 ? { positions } : {}),
  };
}

export const isEmpty = ({ stations, notes = [] }: Parts): boolean => stations.length === 0 && notes.length === 0;

/** Under free keys, below where it was copied from; what nobody had put anywhere is laid out with the rest. */
export function pasteParts(parts: Parts): Command {
  const notes = notesIn(parts.notes);
  return {
    label: say("pasted", String(parts.stations.length + notes.length)),
    apply: (line) => {
      const down = depthOf(parts, notes);
      let next = parts.stations.length > 0 ? paste(parts).apply(line) : line;
      const places: Positions = {};
      const newKeys = new Map<string, string>();
      const had = new Set(line.stations.map(({ key }) => key));
      const copies = next.stations.filter(({ key }) => !had.has(key));
      copies.forEach((station, index) => {
        const from = parts.stations[index]?.key ?? "";
        newKeys.set(from, station.key);
        const at = parts.positions?.[from];
        if (isPlace(at)) places[station.key] = [at[0], at[1] + down];
      });
      if (Object.keys(places).length > 0) {
        const { extra = {} } = next;
        next = {
          ...next,
          extra: { ...extra, editor: { ...extra.editor, positions: { ...positionsOf(next), ...places } } },
        };
      }
      for (const note of notes) {
        const copy = { ...overCopies(note, newKeys), key: freshNoteKey(next), y: note.y + down };
        next = withNotes(next, [...notesOf(next), copy]);
      }
      return next;
    },
  };
}

/** A heading stands over what was pasted with it; where that is nothing, it is a note like others. */
function overCopies({ over, ...note }: Note, named: ReadonlyMap<string, string>): Note {
  const copies = (over ?? []).flatMap((key) => named.get(key) ?? []);
  return copies.length > 0 ? { ...note, over: copies } : note;
}

/** A clipboard holds what somebody else wrote. */
const notesIn = (notes: unknown): Note[] => notesOf({ stations: [], extra: { editor: { notes: notes as Note[] } } });

function depthOf({ stations, positions = {} }: Parts, notes: readonly Note[]): number {
  const placed = stations.flatMap((station) => {
    const at = positions[station.key];
    return isPlace(at) ? [{ y: at[1], height: heightOf(station) }] : [];
  });
  const all = [...placed, ...notes];
  if (all.length === 0) return 0;
  return Math.max(...all.map((each) => each.y + each.height)) - Math.min(...all.map((each) => each.y)) + APART;
}

export function removeParts(keys: readonly string[]): Command {
  const notes = new Set(keys.flatMap((key) => noteKey(key) ?? []));
  const rest = keys.filter((key) => noteKey(key) === undefined);
  if (notes.size === 0) return remove(rest);
  return {
    label: (before) =>
      say("removed", [...rest.map((key) => partName(before, key)), ...[...notes].map(() => say("note"))].join(", ")),
    apply: (line) => {
      const left = withNotes(
        line,
        notesOf(line).filter((note) => !notes.has(note.key)),
      );
      return rest.length > 0 ? remove(rest).apply(left) : left;
    },
  };
}

export const fresh = (before: LineDocument, after: LineDocument): string[] => {
  const had = new Set([...before.stations.map((each) => each.key), ...notesOf(before).map((note) => noteId(note.key))]);
  return [...after.stations.map((each) => each.key), ...notesOf(after).map((note) => noteId(note.key))].filter(
    (key) => !had.has(key),
  );
};

/** Sticky notes: words for people, kept under `extra.editor.notes`, which no rule reads. */

import { say } from "../shell/words";
import type { Command } from "./commands";
import { isPlace, type LineDocument, type Note } from "./document";

export const TONES = ["attention", "active", "ok", "danger", "neutral"] as const;
export const NOTE = { width: 200, height: 96, least: 64 };
const PREFIX = "@note:";

export const noteId = (key: string): string => PREFIX + key;
export const noteKey = (id: string): string | undefined =>
  id.startsWith(PREFIX) ? id.slice(PREFIX.length) : undefined;

/** The notes that can be drawn; what else stands there is left alone. */
export function notesOf(line: LineDocument): Note[] {
  const kept: unknown = line.extra?.editor?.notes;
  return Array.isArray(kept) ? kept.filter(isNote) : [];
}

function isNote(value: unknown): value is Note {
  const note = value as Partial<Note> | null;
  return (
    typeof note === "object" &&
    note !== null &&
    typeof note.key === "string" &&
    typeof note.text === "string" &&
    isPlace([note.x, note.y]) &&
    isPlace([note.width, note.height])
  );
}

export function withNotes(line: LineDocument, notes: Note[]): LineDocument {
  const extra = line.extra ?? {};
  return { ...line, extra: { ...extra, editor: { ...extra.editor, notes } } };
}

export function freshNoteKey(line: LineDocument): string {
  const taken = new Set(notesOf(line).map((note) => note.key));
  let number = taken.size + 1;
  while (taken.has(`note-${number}`)) number += 1;
  return `note-${number}`;
}

export function addNote(at: [number, number], text = "", tone: string = TONES[0]): Command {
  return {
    label: say("added", say("note")),
    apply: (line) => {
      const note = { key: freshNoteKey(line), text, tone, x: at[0], y: at[1], width: NOTE.width, height: NOTE.height };
      return withNotes(line, [...notesOf(line), note]);
    },
  };
}

export function changeNote(key: string, change: Partial<Omit<Note, "key">>): Command {
  return {
    label: say("changedNote"),
    apply: (line) =>
      withNotes(
        line,
        notesOf(line).map((note) => (note.key === key ? { ...note, ...change } : note)),
      ),
  };
}

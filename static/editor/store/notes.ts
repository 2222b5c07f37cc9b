/** Sticky notes: words for people, kept under `extra.editor.notes`, which no rule reads. */

import { say } from "../shell/words";
import type { Command } from "./commands";
import { isPlace, type LineDocument, type Note } from "./document";

export const TONES = ["attention", "active", "ok", "danger", "neutral"] as const;
export const NOTE = { width: 200, height: 96, least: 64 };
type Rect = Pick<Note, "x" | "y" | "width" | "height">;
/** Around what a heading stands over, and above it where its words are. */
const GROUP = { around: 16, above: 56 };
const PREFIX = "@note:";

export const noteId = (key: string): string => PREFIX + key;
export const noteKey = (id: string): string | undefined =>
  id.startsWith(PREFIX) ? id.slice(PREFIX.length) : undefined;

/** The notes that can be drawn; what else stands there is left alone. */
export function notesOf(line: LineDocument): Note[] {
  return storedNotes(line).filter(isNote);
}

function storedNotes(line: LineDocument): unknown[] {
  const notes: unknown = line.extra?.editor?.notes;
  return Array.isArray(notes) ? notes : [];
}

function isNote(value: unknown): value is Note {
  const note = value as Partial<Note> | null;
  return (
    typeof note === "object" &&
    note !== null &&
    typeof note.key === "string" &&
    typeof note.text === "string" &&
    isPlace([note.x, note.y]) &&
    isPlace([note.width, note.height]) &&
    areKeys(note.over ?? [])
  );
}

const areKeys = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === "string");

export const isHeading = ({ over }: Note): boolean => Array.isArray(over);

/** Where the notes stand: a heading around what it stands over, as long as any of that is there. */
export function placedNotes(line: LineDocument, boxes: readonly (Rect & { key: string })[]): Note[] {
  return notesOf(line).map((note) => {
    const own = isHeading(note) ? around(boxes.filter((box) => note.over?.includes(box.key))) : undefined;
    return own ? { ...note, ...own } : note;
  });
}

function around(boxes: readonly Rect[]): Rect | undefined {
  if (boxes.length === 0) return undefined;
  const [left, top] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
  const [right, bottom] = [
    Math.max(...boxes.map((box) => box.x + box.width)),
    Math.max(...boxes.map((box) => box.y + box.height)),
  ];
  return {
    x: left - GROUP.around,
    y: top - GROUP.above,
    width: right - left + 2 * GROUP.around,
    height: bottom - top + GROUP.around + GROUP.above,
  };
}

/** A heading over these stations and ends, without words yet. */
export function groupUnder(keys: readonly string[], boxes: readonly (Rect & { key: string })[]): Command {
  return {
    label: say("grouped"),
    apply: (line) => {
      const box = around(boxes.filter((each) => keys.includes(each.key)));
      if (!box) return line;
      const note = { key: freshNoteKey(line), text: "", tone: "neutral", ...box, over: [...keys] };
      return withNotes(line, [...notesOf(line), note]);
    },
  };
}

/** The line with these notes. One that cannot be drawn, which a document from elsewhere may hold, stays behind them. */
export function withNotes(line: LineDocument, drawn: Note[]): LineDocument {
  const extra = line.extra ?? {};
  const faulty = storedNotes(line).filter((each) => !isNote(each)) as Note[];
  return { ...line, extra: { ...extra, editor: { ...extra.editor, notes: [...drawn, ...faulty] } } };
}

export function freshNoteKey(line: LineDocument): string {
  const keys = new Set(storedNotes(line).map((note) => (note as Partial<Note> | null)?.key));
  let number = keys.size + 1;
  while (keys.has(`note-${number}`)) number += 1;
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

import type { Command } from "./commands";
import type { LineDocument } from "./document";

interface Step {
  label: string;
  before: LineDocument;
}

/** The document now, what was done to it, and what was undone. Documents are never changed, only replaced: what two of
 * them have in common they share, so a hundred steps of a large line cost little. */
export interface History {
  readonly line: LineDocument;
  readonly done: readonly Step[];
  readonly undone: readonly { label: string; after: LineDocument }[];
}

const MOST = 500;

export const begin = (line: LineDocument): History => ({ line, done: [], undone: [] });

export function run(history: History, command: Command): History {
  const line = command.apply(history.line);
  if (line === history.line) return history;
  return { line, done: [...history.done, { label: command.label, before: history.line }].slice(-MOST), undone: [] };
}

export function undo(history: History): History {
  const last = history.done.at(-1);
  if (!last) return history;
  return {
    line: last.before,
    done: history.done.slice(0, -1),
    undone: [...history.undone, { label: last.label, after: history.line }],
  };
}

export function redo(history: History): History {
  const next = history.undone.at(-1);
  if (!next) return history;
  return {
    line: next.after,
    done: [...history.done, { label: next.label, before: history.line }],
    undone: history.undone.slice(0, -1),
  };
}

import type { Command, Rename } from "./commands";
import type { LineDocument } from "./document";
import { grafted, merge } from "./merge";

interface Step {
  label: string;
  before: LineDocument;
  after: LineDocument;
  renames: readonly Rename[];
}

/** The document now, what was done to it here, and what was undone. Documents are never changed, only replaced: what two
 * of them have in common they share, so a hundred steps of a large line cost little. */
export interface History {
  readonly line: LineDocument;
  readonly done: readonly Step[];
  readonly undone: readonly Step[];
}

const MOST = 500;

export const begin = (line: LineDocument): History => ({ line, done: [], undone: [] });

export const labelOf = ({ label }: Command, before: LineDocument): string =>
  typeof label === "string" ? label : label(before);

export function run(history: History, command: Command): History {
  const before = history.line;
  const after = command.apply(before);
  if (after === before) return history;
  return {
    line: after,
    done: [...history.done, { label: labelOf(command, before), before, after, renames: command.renames ?? [] }].slice(
      -MOST,
    ),
    undone: [],
  };
}

/** What somebody else did is no step of this history: neither undo nor redo ever takes it back. */
export function taken(history: History, line: LineDocument): History {
  return { ...history, line: grafted(history.line as never, line as never) as unknown as LineDocument };
}

export function undo(history: History): History {
  const last = history.done.at(-1);
  if (!last) return history;
  return {
    line: turned(last.after, history.line, last.before),
    done: history.done.slice(0, -1),
    undone: [...history.undone, last],
  };
}

export function redo(history: History): History {
  const next = history.undone.at(-1);
  if (!next) return history;
  return {
    line: turned(next.before, history.line, next.after),
    done: [...history.done, next],
    undone: history.undone.slice(0, -1),
  };
}

/** From `from` to `to`, in a document that others may have changed since: what they changed stays as they left it. */
function turned(from: LineDocument, now: LineDocument, to: LineDocument): LineDocument {
  return now === from ? to : merge(from, now, to, () => "mine").document;
}

/** Another outcome of the last step; it goes where nothing is left of it. */
export function amend(history: History, line: LineDocument, nothingLeft: boolean): History {
  const last = history.done.at(-1);
  const others = history.done.slice(0, -1);
  return { line, done: nothingLeft || !last ? others : [...others, { ...last, after: line }], undone: [] };
}

/** The same document, as another object: something beside it is to be stored. */
export const touched = (history: History): History => ({ ...history, line: { ...history.line } });

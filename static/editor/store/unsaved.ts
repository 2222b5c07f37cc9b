/** Fields that hold what the server refused: the line has what stood there before. */
import type { LineDocument } from "./document";
import type { Selection } from "./selection";

export interface Unsaved {
  /** The form, and the field in it. */
  form: string;
  field: string;
  /** What the form is about, and the field, in words. */
  title(line: LineDocument): string;
  label: string;
  why: string;
  selection: Selection;
  /** Tells whether the part that it is about is still there. */
  isThere(line: LineDocument): boolean;
}

/** These of this form in place of those that are known of it; the very list where it had none and has none. */
export function withUnsaved(all: readonly Unsaved[], form: string, now: readonly Unsaved[]): readonly Unsaved[] {
  const others = all.filter((each) => each.form !== form);
  return now.length === 0 && others.length === all.length ? all : [...others, ...now];
}

/** The forms of an editor that are shown, or in which something waits. */

import type { Editor } from "../store/store";
import { Door } from "./formDoor";
import type { Subject } from "./subjects";

const doors = new WeakMap<Editor, Map<string, Door>>();

/** The form of this part of the line: the same one as long as something in it waits. `scope` begins the ids of its
 * controls, where several forms stand in one page. */
export function doorOf(editor: Editor, subject: Subject, scope: string): Door {
  const id = (own: string): string => `${scope} ${subject.what} ${own}`;
  const known = doors.get(editor) ?? guarded(editor);
  const door = known.get(id(subject.own));
  if (door) return door;
  let own = subject.own;
  const made = new Door(
    editor,
    subject,
    scope,
    (from, to) => {
      known.delete(id(from));
      own = to;
      known.set(id(own), made);
    },
    (keep) => void (keep ? known.set(id(own), made) : known.delete(id(own))),
  );
  return made;
}

function guarded(editor: Editor): Map<string, Door> {
  const known = new Map<string, Door>();
  doors.set(editor, known);
  window.addEventListener("beforeunload", (event) => {
    // What is typed is kept in the browser; a button that waits for the server is not.
    if ([...known.values()].some((door) => door.waiting)) event.preventDefault();
  });
  return known;
}

/** What can be done with the canvas itself: notes, and what is chosen set in line. */

import { type Alignment, align } from "../canvas/align";
import { laidOut } from "../canvas/laid";
import { savePicture } from "../canvas/picture";
import { groupUnder, noteId, noteKey, notesOf } from "../store/notes";
import type { Action, Desk } from "./desk";
import { addNoteAt } from "./Palette";

export const movable = ({ editor }: Desk): readonly string[] =>
  editor.state.selection.keys.filter((key) => key !== "@start");

const arrange = (how: Alignment, keys: string, least: number): Action => ({
  id: `align_${how}`,
  word: `align_${how}`,
  keys: [keys],
  group: "groupView",
  icon: `align-${how}`,
  edits: true,
  when: (desk) => movable(desk).length >= least,
  run: (desk) => desk.editor.run(align(desk.editor.line, movable(desk), how)),
});

export const ARRANGE: readonly Action[] = [
  arrange("left", "Shift+Alt+L", 2),
  arrange("top", "Shift+Alt+K", 2),
  arrange("across", "Shift+Alt+H", 3),
  arrange("down", "Shift+Alt+V", 3),
];

/** Stations and ends that a heading can stand over. */
const grouped = (desk: Desk): readonly string[] => movable(desk).filter((key) => noteKey(key) === undefined);

const GROUP: Action = {
  id: "group",
  word: "group",
  keys: ["Shift+Alt+G"],
  group: "groupView",
  icon: "note",
  on: ["station"],
  edits: true,
  when: (desk) => grouped(desk).length > 1,
  run: (desk) => {
    const { editor } = desk;
    editor.run(groupUnder(grouped(desk), laidOut(editor.line, editor.state.findings).boxes));
    const made = notesOf(editor.line).at(-1);
    if (made) editor.select({ keys: [noteId(made.key)] });
  },
};

export const CANVAS: readonly Action[] = [
  {
    id: "addNote",
    word: "addNote",
    keys: ["Shift+Alt+N"],
    group: "groupView",
    icon: "note",
    on: ["canvas"],
    edits: true,
    run: addNote,
  },
  ...ARRANGE,
  GROUP,
  {
    id: "exportPicture",
    word: "exportPicture",
    keys: ["Shift+E"],
    group: "groupLine",
    icon: "picture",
    on: ["canvas"],
    run: ({ editor }) => savePicture(editor),
  },
];

/** In the middle of what is seen. */
function addNote({ editor, flow }: Desk): void {
  const pane = document.querySelector(".react-flow")?.getBoundingClientRect();
  const { x, y } = flow.screenToFlowPosition({
    x: (pane?.x ?? 0) + (pane?.width ?? 0) / 2,
    y: (pane?.y ?? 0) + (pane?.height ?? 0) / 2,
  });
  addNoteAt(editor, [Math.round(x / 8) * 8, Math.round(y / 8) * 8]);
}

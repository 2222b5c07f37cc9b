/** What opens the forms of the line and its gates. */

import { newGate } from "../gates/Gates";
import { removeGate } from "../store/commands-gates";
import type { Action, Desk } from "./desk";
import * as focus from "./focus";

const toggles = (desk: Desk, choose: () => void): void => {
  desk.fold("inspector", true);
  choose();
  requestAnimationFrame(focus.intoInspector);
};
const gateAlone = ({ editor }: Desk): boolean =>
  editor.state.selection.gate !== undefined && editor.state.selection.keys.length === 0;

export const FORMS: readonly Action[] = [
  {
    id: "lineSettings",
    word: "lineSettings",
    keys: ["Shift+L"],
    group: "groupLine",
    icon: "settings",
    on: ["canvas"],
    run: (desk) => toggles(desk, () => desk.editor.select({ keys: [], part: "configure" })),
  },
  {
    id: "inputs",
    word: "editInputs",
    keys: ["I"],
    group: "groupLine",
    icon: "edit",
    on: ["canvas"],
    run: (desk) => toggles(desk, () => desk.editor.select({ keys: [], part: "inputs" })),
  },
  {
    id: "gates",
    word: "gates",
    keys: ["G"],
    group: "groupLine",
    icon: "gate",
    on: ["canvas"],
    run: (desk) => toggles(desk, () => desk.editor.select({ keys: [], part: "gates" })),
  },
  {
    id: "addGate",
    word: "addGate",
    keys: ["Shift+G"],
    group: "groupChange",
    icon: "plus",
    on: ["canvas"],
    edits: true,
    run: (desk) => toggles(desk, () => newGate(desk.editor)),
  },
  {
    id: "removeGate",
    word: "deleteGate",
    keys: ["Del"],
    group: "groupChange",
    icon: "delete",
    where: "canvas",
    danger: true,
    edits: true,
    quiet: true,
    when: gateAlone,
    run: ({ editor }) => editor.run(removeGate(editor.state.selection.gate ?? ""), { keys: [] }),
  },
];

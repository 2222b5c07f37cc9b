/** What can be done in a test, as actions of the table: keys, palette and sheet have them from there. */
import type { Action, Desk } from "../shell/desk";
import { kindOf, stationOf } from "../store/document";
import { kindNamed } from "../store/kinds";
import type { Editor } from "../store/store";
import { testOf } from "./session";
import { trialsOf } from "./trials";

const inTest = ({ editor }: Desk): boolean => testOf(editor).state.open;
/** On the canvas the arrows go from station to station. */
const offCanvas = (desk: Desk): boolean =>
  inTest(desk) && !document.activeElement?.closest(".react-flow, [role=tablist]");

const by =
  (steps: 1 | -1) =>
  ({ editor }: Desk): void => {
    const test = testOf(editor);
    test.goTo(test.state.cursor + steps);
  };

export const TEST: readonly Action[] = [
  { id: "test", word: "test", keys: ["Shift+T"], group: "groupLine", icon: "flask", run: toggle },
  {
    id: "runStation",
    word: "runStation",
    keys: ["Shift+X"],
    group: "groupLine",
    icon: "run",
    edits: true,
    on: ["station"],
    when: ({ editor }) => runsAlone(editor),
    run: showRun,
  },
  { id: "testBack", word: "testBack", keys: ["Left"], group: "groupLine", quiet: true, when: offCanvas, run: by(-1) },
  {
    id: "testForward",
    word: "testForward",
    keys: ["Right"],
    group: "groupLine",
    quiet: true,
    when: offCanvas,
    run: by(1),
  },
  {
    id: "testBackAnywhere",
    word: "testBack",
    keys: [","],
    group: "groupLine",
    icon: "chevron-left",
    when: inTest,
    run: by(-1),
  },
  {
    id: "testForwardAnywhere",
    word: "testForward",
    keys: ["."],
    group: "groupLine",
    icon: "chevron-right",
    when: inTest,
    run: by(1),
  },
  {
    id: "testRestart",
    word: "testRestart",
    keys: ["Shift+R"],
    group: "groupLine",
    icon: "retry",
    when: inTest,
    run: ({ editor }) => testOf(editor).begin(),
  },
  {
    id: "testClose",
    word: "testClose",
    keys: ["Esc"],
    group: "groupLine",
    quiet: true,
    when: (desk) => inTest(desk) && Boolean(document.activeElement?.closest(".ed-test")),
    run: close,
  },
];

function runsAlone({ line, state }: Editor): boolean {
  const [key, ...more] = state.selection.keys;
  const station = key === undefined || more.length > 0 ? undefined : stationOf(line, key);
  return station !== undefined && kindNamed(kindOf(station))?.alone === true;
}

function showRun({ editor, fold }: Desk): void {
  fold("inspector", true);
  editor.showTab("run");
  trialsOf(editor).wantFocus();
}

function toggle(desk: Desk): void {
  const test = testOf(desk.editor);
  if (test.state.open) {
    close(desk);
    return;
  }
  test.begin();
  requestAnimationFrame(() => document.getElementById("ed-test-title")?.focus());
}

function close({ editor }: Desk): void {
  testOf(editor).close();
  requestAnimationFrame(() => document.getElementById("ed-do-test")?.focus());
}

/** What can be done in a test, as actions of the table: keys, palette and sheet have them from there. */
import type { Action, Desk } from "../shell/desk";
import { testOf } from "./session";

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

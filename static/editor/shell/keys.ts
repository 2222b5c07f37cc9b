/** From a key to an action of the table (actions.ts). Silent while something is typed and while a dialog or menu is open;
 * single letters can be switched off. */
import { ACTIONS, possible } from "./actions";
import type { Action, Desk } from "./desk";
import { choose, onCanvas, spotNow, spotOfChoice } from "./focus";
import { isSingle, matches, turns } from "./keystrokes";

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

const covered = (): boolean => document.querySelector("dialog[open], .menu:popover-open") !== null;

export const lettersOn = (): boolean => document.documentElement.dataset.letterKeys !== "off";

function actionFor(event: KeyboardEvent, desk: Desk): Action | undefined {
  if (event.defaultPrevented || event.isComposing || covered()) return undefined;
  const counts = ({ where = "anywhere" }: Action): boolean =>
    where === "always" || (!typing(event.target) && (where === "anywhere" || onCanvas(event.target)));
  const struck = (each: Action): boolean =>
    [...each.keys, ...(each.also ?? [])].some((keys) => matches(event, keys) && (lettersOn() || !isSingle(keys)));
  return ACTIONS.find((each) => !each.native && struck(each) && counts(each) && possible(each, desk));
}

/** What the keyboard comes to is what is chosen, so that the settings beside it are its own. */
function followed({ target }: FocusEvent, desk: Desk): void {
  if (
    !(target instanceof Element) ||
    !target.matches(".react-flow__node, .react-flow__edge") ||
    !target.matches(":focus-visible")
  )
    return;
  const spot = spotNow(desk.editor);
  const focusSpot = spotOfChoice(desk.editor);
  const among = spot?.kind === "node" && desk.editor.state.selection.keys.includes(spot.id);
  if (spot && !among && focusSpot?.id !== spot.id) choose(desk.editor, spot);
}

export function startKeys(desk: Desk): () => void {
  const down = (event: KeyboardEvent): void => {
    const match = actionFor(event, desk);
    // With nothing left to undo, too: a browser takes back what was typed last in whichever field, and garbles it.
    if (match || (turns(event) && !typing(event.target))) event.preventDefault();
    match?.run(desk);
  };
  const came = (event: FocusEvent): void => followed(event, desk);
  document.addEventListener("keydown", down);
  document.addEventListener("focusin", came);
  return () => {
    document.removeEventListener("keydown", down);
    document.removeEventListener("focusin", came);
  };
}

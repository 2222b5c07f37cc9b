/** What is drawn anew may take the focus with it, and with it the place of who works by keyboard: it comes back to the same
 * node, edge or control as soon as that is there again, else to what stands nearest to where it was. Never to the body. */

import { edgeId, edgesOf } from "../canvas/flow";
import { START_ID } from "../canvas/layout";
import type { Spot } from "../canvas/walking";
import { endsOf, rulesOf, stationOf, targetsOf } from "../store/document";
import { noteId, notesOf } from "../store/notes";
import type { Editor } from "../store/store";
import { backToCanvas, elementOf, firstOf, isShown, spotOfChoice } from "./focus";

interface Held {
  element: Element;
  spot: Spot | undefined;
  /** The parts of the page around it from the inside out, and which of their children it is in. */
  around: { part: Element; child: number }[];
}

/** Beyond these the whole page begins. */
const PAGE = ".ed, .ed-canvas, body";
const FRAMES = 20;
const FIELDS = "input, textarea, select, [contenteditable]";

/** Answers what stops it. */
export function startKeeping(editor: Editor): () => void {
  let focused: Held | undefined;
  let frame = 0;
  // The focus is gone some frames after the change: React Flow measures first, a button that is disabled is drawn.
  const watch = (left: number): void => {
    if (focused && isLost()) regain(editor, focused);
    if (focused && left > 0) frame = requestAnimationFrame(() => watch(left - 1));
  };
  const changed = (): void => {
    window.cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => watch(FRAMES));
  };
  const came = ({ target }: FocusEvent): void => {
    focused = target instanceof Element && target !== document.body ? holding(target) : undefined;
  };
  // Who points beside everything has put the focus away.
  const pointed = (): void => {
    focused = undefined;
  };
  const observer = new MutationObserver(changed);
  observer.observe(document.body, {
    subtree: true,
    childList: true,
    attributes: true,
    attributeFilter: ["disabled", "hidden", "open"],
  });
  document.addEventListener("focusin", came);
  document.addEventListener("pointerdown", pointed);
  return () => {
    window.cancelAnimationFrame(frame);
    observer.disconnect();
    document.removeEventListener("focusin", came);
    document.removeEventListener("pointerdown", pointed);
  };
}

const isLost = (): boolean =>
  document.activeElement === document.body && document.hasFocus() && !document.querySelector("dialog[open]");

function holding(element: Element): Held {
  const node = element.closest(".react-flow__node, .react-flow__edge");
  const id = node?.getAttribute("data-id");
  const around: Held["around"] = [];
  for (let inner = element; inner.parentElement && !inner.matches(PAGE); inner = inner.parentElement) {
    around.push({ part: inner.parentElement, child: [...inner.parentElement.children].indexOf(inner) });
  }
  return {
    element,
    spot: node && id ? { kind: node.matches(".react-flow__node") ? "node" : "edge", id } : undefined,
    around,
  };
}

function regain(editor: Editor, { element, spot, around }: Held): void {
  // What is in the line and not drawn yet is looked for again in the next frame.
  if (spot) {
    // What has another key now is what is chosen.
    const here = isInLine(editor, spot) ? spot : spotOfChoice(editor);
    if (here && isInLine(editor, here)) elementOf(here)?.focus({ preventScroll: true });
    else backToCanvas(editor);
    return;
  }
  if (isShown(element) && element instanceof HTMLElement && !element.matches(":disabled")) {
    element.focus({ preventScroll: true });
    return;
  }
  for (const { part, child } of around) {
    if (part.matches(PAGE)) break;
    const near = isShown(part)
      ? (firstOf(part.children[Math.min(child, part.children.length - 1)]) ?? firstOf(part))
      : undefined;
    // In a field that nobody opened the next key would be a letter of its text, and no shortcut.
    if (near && !near.matches(FIELDS)) {
      near.focus({ preventScroll: true });
      return;
    }
  }
  backToCanvas(editor);
}

function isInLine({ line, state }: Editor, { kind, id }: Spot): boolean {
  if (kind === "node")
    return (
      id === START_ID ||
      stationOf(line, id) !== undefined ||
      endsOf(line).includes(id) ||
      notesOf(line).some((note) => noteId(note.key) === id)
    );
  return (
    edgesOf(line, state.findings).some((edge) => edge.id === id) ||
    line.stations.some((station) =>
      rulesOf(station).some((rule) => targetsOf(rule).some((target) => edgeId(rule.id, target) === id)),
    )
  );
}

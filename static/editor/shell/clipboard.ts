/** Copying, pasting and deleting what is chosen. Stations travel as JSON, so between lines and windows too. */

import { parse, write } from "../../ts/json";
import { fresh, isEmpty, type Parts, partsOf, pasteParts, removeParts } from "../canvas/clips";
import { importOf } from "../saving/importing";
import * as commands from "../store/commands";
import { takeGateOff, takeStationGateOff } from "../store/commands-connect";
import type { Editor } from "../store/store";
import type { Desk } from "./desk";
import { say } from "./words";

export function removeChosen(editor: Editor): void {
  const { keys, rule, gate } = editor.state.selection;
  if (gate) {
    // It is taken off where it was chosen, and stays in the line for the others.
    if (rule) editor.run(takeGateOff(rule, gate));
    else if (keys[0]) editor.run(takeStationGateOff(keys[0], gate));
    editor.select({ keys, ...(rule ? { rule } : {}) });
  } else if (rule) {
    editor.run(commands.removeRule(rule));
    editor.select({ keys });
  } else if (keys.length > 0) {
    editor.run(removeParts(keys));
    editor.select({ keys: [] });
  }
}

export function duplicate(editor: Editor): void {
  pasted(editor, partsOf(editor.line, editor.state.selection.keys));
}

/** Pastes and chooses what was pasted. */
export function pasted(editor: Editor, parts: Parts): void {
  if (isEmpty(parts)) return;
  const before = editor.line;
  const nowhere = commands.leadingNowhere(before, parts);
  editor.run(pasteParts(parts));
  if (nowhere.length > 0) editor.tell(say("pasteLeft", nowhere.join("; ")));
  editor.select({ keys: fresh(before, editor.line) });
}

const isClip = (value: unknown): value is Parts =>
  typeof value === "object" &&
  value !== null &&
  (value as { gateline?: unknown }).gateline === "stations" &&
  Array.isArray((value as { stations?: unknown }).stations) &&
  haveKeys((value as { gates?: unknown }).gates ?? []) &&
  haveKeys((value as { ends?: unknown }).ends ?? []);

const haveKeys = (parts: unknown): boolean =>
  Array.isArray(parts) && parts.every((part) => typeof (part as { key?: unknown } | null)?.key === "string");

/** From a menu: the browser asks the person first, and answers whether it could be read. */
export async function pasteFromMenu(desk: Desk): Promise<boolean> {
  try {
    pasteText(desk, await navigator.clipboard.readText());
    return true;
  } catch {
    return false;
  }
}

/** Parts of a line, or a whole document, which is looked at before it takes the place of what is drawn. Whether it was
 * one of them. */
function pasteText(desk: Desk, text: string): boolean {
  const parts = parsed(text);
  if (isClip(parts)) pasted(desk.editor, parts);
  else if (looksWhole(text, parts)) importOf(desk.editor).offer(text);
  else return false;
  return true;
}

/** A list or object of JSON, or YAML with a member that holds the parts of a line, here or in another system. */
const looksWhole = (text: string, json: unknown): boolean =>
  (typeof json === "object" && json !== null) ||
  /^["']?(?:gateline|stations|stages|workflow|tasks|transitionRules|transitions|agents|rules)["']?\s*:/m.test(text);

export function startClipboard(desk: Desk): () => void {
  const { editor, mayEdit } = desk;
  const busy = (): boolean => {
    const active = document.activeElement;
    return (
      active instanceof HTMLInputElement ||
      active instanceof HTMLTextAreaElement ||
      (active instanceof HTMLElement && active.isContentEditable)
    );
  };
  const copy = (event: ClipboardEvent): void => {
    if (busy() || window.getSelection()?.toString()) return;
    const clipped = partsOf(editor.line, editor.state.selection.keys);
    if (isEmpty(clipped)) return;
    event.clipboardData?.setData("text/plain", write(clipped, 2));
    event.preventDefault();
    if (event.type === "cut" && mayEdit) removeChosen(editor);
  };
  const paste = (event: ClipboardEvent): void => {
    if (busy() || !mayEdit) return;
    if (document.querySelector("dialog[open]")) return;
    if (pasteText(desk, event.clipboardData?.getData("text/plain") ?? "")) event.preventDefault();
  };
  document.addEventListener("copy", copy);
  document.addEventListener("cut", copy);
  document.addEventListener("paste", paste);
  return () => {
    document.removeEventListener("copy", copy);
    document.removeEventListener("cut", copy);
    document.removeEventListener("paste", paste);
  };
}

function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

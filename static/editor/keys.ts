/** The keys of the canvas (screens §1). They are silent while something is typed; letters can be switched off. */
import type { ReactFlowInstance } from "@xyflow/react";

import * as commands from "./commands";
import { stationOf } from "./document";
import type { AnyNode, RuleEdge } from "./flow";
import type { Editor } from "./store";

export interface Actions {
  editor: Editor;
  flow: ReactFlowInstance<AnyNode, RuleEdge>;
  mayEdit: boolean;
  letters: boolean;
  fit(): void;
  openConnect(): void;
}

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

/** Whether the key was one of ours. */
export function pressed(event: KeyboardEvent, actions: Actions): boolean {
  if (typing(event.target) || document.querySelector("dialog[open]")) return false;
  const run = chosen(event, actions);
  if (!run) return false;
  run();
  return true;
}

function chosen(event: KeyboardEvent, actions: Actions): (() => void) | undefined {
  const { editor, flow, mayEdit, letters, fit } = actions;
  const held = event.ctrlKey || event.metaKey;
  if (held && mayEdit) return editing(event, editor);
  if (event.shiftKey && event.altKey && event.code === "KeyT" && mayEdit) {
    return () => {
      editor.run(commands.tidy());
      window.setTimeout(fit, 50);
    };
  }
  if (held || event.altKey) return undefined;
  if (event.key === "Escape") return () => editor.select({ keys: [] });
  if (event.key === "F2" && editor.state.selection.keys.length === 1) return () => document.getElementById("ed-name")?.focus();
  if ((event.key === "Delete" || event.key === "Backspace") && mayEdit) return () => removeChosen(editor);
  if (!letters) return undefined;
  if (event.key === "1") return fit;
  if (event.key === "0") return () => void flow.zoomTo(1);
  if (event.key === "+" || event.key === "=") return () => void flow.zoomIn();
  if (event.key === "-") return () => void flow.zoomOut();
  if (event.key.toLowerCase() === "l" && mayEdit && oneStation(editor)) return actions.openConnect;
  return undefined;
}

function editing(event: KeyboardEvent, editor: Editor): (() => void) | undefined {
  switch (event.key.toLowerCase()) {
    case "z":
      return () => (event.shiftKey ? editor.redo() : editor.undo());
    case "y":
      return () => editor.redo();
    case "d":
      return () => duplicate(editor);
    default:
      return undefined;
  }
}

const oneStation = (editor: Editor): boolean =>
  editor.state.selection.keys.length === 1 && stationOf(editor.line, editor.state.selection.keys[0] ?? "") !== undefined;

export function removeChosen(editor: Editor): void {
  const { keys, rule } = editor.state.selection;
  if (rule) {
    editor.run(commands.removeRule(rule));
    editor.select({ keys });
  } else if (keys.length > 0) {
    editor.run(commands.remove(keys));
    editor.select({ keys: [] });
  }
}

function duplicate(editor: Editor): void {
  pasted(editor, commands.clip(editor.line, editor.state.selection.keys));
}

/** Pastes and chooses what was pasted. */
export function pasted(editor: Editor, clip: commands.Clip): void {
  if (clip.stations.length === 0) return;
  const before = new Set(editor.line.stations.map((station) => station.key));
  editor.run(commands.paste(clip));
  editor.select({ keys: editor.line.stations.map((station) => station.key).filter((key) => !before.has(key)) });
}

export const isClip = (value: unknown): value is commands.Clip =>
  typeof value === "object" && value !== null && (value as { gateline?: unknown }).gateline === "stations" &&
  Array.isArray((value as { stations?: unknown }).stations);


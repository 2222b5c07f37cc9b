/** Keys as people write them: "Ctrl+Shift+Z", "Alt+Up", "L", "?". Ctrl is the command key of a Mac, too. */
import type { Editor } from "../store/store";

const KEY_NAMES: Record<string, string> = {
  Del: "Delete",
  Esc: "Escape",
  Up: "ArrowUp",
  Down: "ArrowDown",
  Left: "ArrowLeft",
  Right: "ArrowRight",
  Space: " ",
};
const ARROWS: Record<string, string> = { Up: "↑", Down: "↓", Left: "←", Right: "→" };

interface Stroke {
  ctrl: boolean;
  shift: boolean;
  alt: boolean;
  key: string;
}

function strokeOf(text: string): Stroke {
  const parts = text === "+" ? ["+"] : text.split("+");
  const key = parts.at(-1) ?? "";
  const modifiers = new Set(parts.slice(0, -1));
  return { ctrl: modifiers.has("Ctrl"), shift: modifiers.has("Shift"), alt: modifiers.has("Alt"), key };
}

export function matches(event: KeyboardEvent, text: string): boolean {
  const { ctrl, shift, alt, key } = strokeOf(text);
  if ((event.ctrlKey || event.metaKey) !== ctrl || event.altKey !== alt) return false;
  if (/^[A-Z]$/.test(key)) {
    // With Alt some systems type another letter: there the place of the key counts.
    const same = event.key.toUpperCase() === key || (alt && event.code === `Key${key}`);
    return same && event.shiftKey === shift;
  }
  // What stands over a digit or a sign is a matter of the keyboard's country: Shift does not count there.
  if (key.length === 1) return event.key === key;
  return event.key === (KEY_NAMES[key] ?? key) && event.shiftKey === shift;
}

const turnOf = (event: KeyboardEvent): "undo" | "redo" | undefined => {
  if (matches(event, "Ctrl+Z")) return "undo";
  return matches(event, "Ctrl+Shift+Z") || matches(event, "Ctrl+Y") ? "redo" : undefined;
};

export const turns = (event: KeyboardEvent): boolean => turnOf(event) !== undefined;

/** Undo or redo of the line, pressed in a field in which nothing is typed that the browser could take back. */
export function turn(editor: Editor, event: KeyboardEvent): void {
  const way = turnOf(event);
  if (!way) return;
  event.preventDefault();
  editor[way]();
}

/** A key that also writes: silent for who switched single letters off. */
export function isSingle(text: string): boolean {
  const { ctrl, alt, key } = strokeOf(text);
  return !ctrl && !alt && key.length === 1;
}

export function shown(text: string): string {
  const { ctrl, shift, alt, key } = strokeOf(text);
  return [ctrl && "Ctrl", shift && "Shift", alt && "Alt", ARROWS[key] ?? key].filter(Boolean).join("+");
}

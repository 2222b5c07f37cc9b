import { describe, expect, it } from "vitest";

import { isSingle, matches, shown } from "./keystrokes";

const pressed = (key: string, held: Partial<KeyboardEvent> = {}): KeyboardEvent =>
  ({ key, code: "", ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...held }) as KeyboardEvent;

describe("keys as people write them", () => {
  it.each([
    ["L", pressed("l"), true],
    ["L", pressed("L", { shiftKey: true }), false],
    ["Shift+L", pressed("L", { shiftKey: true }), true],
    ["Ctrl+Z", pressed("z", { ctrlKey: true }), true],
    ["Ctrl+Z", pressed("z", { metaKey: true }), true],
    ["Ctrl+Z", pressed("z"), false],
    ["Ctrl+Z", pressed("z", { ctrlKey: true, altKey: true }), false],
    ["Alt+C", pressed("ç", { altKey: true, code: "KeyC" }), true],
    ["?", pressed("?", { shiftKey: true }), true],
    ["+", pressed("+"), true],
    ["Del", pressed("Delete"), true],
    ["Alt+Up", pressed("ArrowUp", { altKey: true }), true],
    ["Up", pressed("ArrowUp", { shiftKey: true }), false],
  ])("%s", (text, event, does) => {
    expect(matches(event, text)).toBe(does);
  });

  it("are silent for who switched single letters off, where they would write", () => {
    expect(["L", "?", "Shift+L"].every(isSingle)).toBe(true);
    expect(["Ctrl+L", "Alt+L", "Del"].some(isSingle)).toBe(false);
  });

  it("are shown with arrows", () => {
    expect([shown("Ctrl+Shift+Z"), shown("Alt+Up"), shown("+")]).toEqual(["Ctrl+Shift+Z", "Alt+↑", "+"]);
  });
});

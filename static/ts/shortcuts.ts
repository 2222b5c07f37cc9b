import { install, uninstall } from "@github/hotkey";

import { each } from "./dom";

/** Keys without a modifier, sequences included; a person can switch these off (personal settings). */
function isLetter(keys: string): boolean {
  return !/(Mod|Control|Meta|Alt)\+/.test(keys);
}

/** `data-hotkey="Mod+k,/"` clicks or focuses its element. */
export function startShortcuts(): void {
  const letters = document.documentElement.dataset.letterKeys !== "off";
  each<HTMLElement>("[data-hotkey]", (element) => {
    const all = (element.dataset.hotkey ?? "").split(",").filter((keys) => letters || !isLetter(keys));
    if (all.length === 0) return;
    install(element, all.join(","));
    element.addEventListener("htmx:beforeCleanupElement", () => uninstall(element));
  });
}

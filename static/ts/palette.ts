import Combobox from "@github/combobox-nav";

import { each } from "./dom";

declare global {
  interface Window {
    htmx?: { trigger(element: Element, name: string): void };
  }
}

/** The command palette: htmx brings the results, the combobox walks them, links and buttons act. */
export function startPalette(): void {
  each<HTMLDialogElement>("[data-palette]", (dialog) => {
    const input = dialog.querySelector<HTMLInputElement>("input[role=combobox]");
    const list = dialog.querySelector<HTMLElement>("[role=listbox]");
    if (!input || !list) return;
    const nav = new Combobox(input, list, { firstOptionSelectionMode: "active" });
    dialog.addEventListener("gl:open", () => {
      input.select();
      nav.start();
      window.htmx?.trigger(input, "gl:ask");
    });
    dialog.addEventListener("close", () => nav.stop());
    list.addEventListener("htmx:afterSwap", () => nav.resetSelection?.());
    list.addEventListener("combobox-commit", (event) => act(dialog, event.target as HTMLElement));
  });
}

/** A result is a link, or names a dialog, or clicks a control of the page (`data-click="selector"`). */
function act(dialog: HTMLDialogElement, option: HTMLElement): void {
  dialog.close();
  const { click } = option.dataset;
  if (click) document.querySelector<HTMLElement>(click)?.click();
}

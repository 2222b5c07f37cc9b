import { announce, each } from "./dom";
import { say } from "./words";

/**
 * The decision bar: a button, or its key, only opens the panel (`data-decision-panel`) of its word; the button of the
 * panel or Ctrl+Enter submits, Escape closes and never decides. Word buttons carry `data-arm="a"`; what has
 * `data-when="word"` is shown for that word only.
 */
export function startDecision(): void {
  each<HTMLElement>("[data-decision]", (bar) => {
    const panel = (): HTMLElement | null => bar.querySelector("[data-decision-panel]");
    const buttons = (): HTMLButtonElement[] => [
      ...bar.querySelectorAll<HTMLButtonElement>("[data-arm]:not([disabled])"),
    ];
    const armed = (): HTMLButtonElement | undefined =>
      buttons().find((button) => button.getAttribute("aria-pressed") === "true");
    const confirm = (): HTMLButtonElement | null =>
      panel()?.querySelector<HTMLButtonElement>("button[type=submit]:not([hidden])") ?? null;

    const show = (chosen: HTMLButtonElement | undefined): void => {
      for (const button of buttons()) button.setAttribute("aria-pressed", String(button === chosen));
      for (const part of bar.querySelectorAll<HTMLElement>("[data-when]"))
        part.hidden = part.dataset.when !== chosen?.value;
      const decisionPanel = panel();
      if (decisionPanel) decisionPanel.hidden = !chosen;
    };
    const open = (chosen: HTMLButtonElement): void => {
      show(chosen);
      chosen.dispatchEvent(new CustomEvent("gl:armed", { bubbles: true }));
      announce(say("opened", chosen.querySelector(".button-word")?.textContent?.trim() ?? ""));
      (panel()?.querySelector<HTMLElement>("textarea") ?? chosen).focus();
    };
    const close = (): void => {
      const last = armed();
      const within = panel()?.contains(document.activeElement);
      show(undefined);
      if (within) last?.focus();
    };

    const tick = (): HTMLInputElement | null => bar.querySelector<HTMLInputElement>("[data-unopened]");
    let ticked = 0;
    bar.addEventListener("change", ({ target }) => {
      if (target === tick()) ticked = tick()?.checked ? unopened(tick()) : 0;
    });
    const swapped = (): void => {
      // Opening one of the files leaves fewer unopened: what was ticked for more of them covers the others.
      const renewed = tick();
      if (renewed && ticked && unopened(renewed) <= ticked) renewed.checked = true;
      if (bar.querySelector("[data-arm]")) {
        // New buttons beside an open panel: the word that it is open for stays chosen.
        const word = panel()?.hidden ? undefined : confirm()?.value;
        show(buttons().find((button) => button.value === word));
        return;
      }
      // Somebody was faster: what only serves to decide goes, and what was typed stays as text.
      const typed = bar.querySelector<HTMLElement>("[data-decision-typed]");
      const text = panel()?.querySelector("textarea")?.value ?? "";
      if (typed && text.trim() !== "") {
        const place = typed.querySelector("[data-decision-text]");
        if (place) place.textContent = text;
        typed.hidden = false;
      }
      panel()?.remove();
      bar.querySelector("[data-decision-keys]")?.remove();
    };
    for (const type of ["htmx:afterSwap", "htmx:oobAfterSwap"]) bar.addEventListener(type, swapped);
    bar.addEventListener("click", (event) => {
      const pressed = event.target as Element;
      if (pressed.closest("[data-decision-cancel]")) {
        event.preventDefault();
        return close();
      }
      const button = pressed.closest<HTMLButtonElement>("[data-arm]");
      if (!button || !panel()) return;
      event.preventDefault();
      open(button);
    });
    document.addEventListener("keydown", (event) => {
      if (!bar.isConnected || document.querySelector("dialog[open]")) return;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        const button = armed() && confirm();
        if (!button) return;
        event.preventDefault();
        button.form?.requestSubmit(button);
      } else if (event.key === "Escape") {
        close();
      } else if (!typing(event) && lettersOn() && !event.ctrlKey && !event.metaKey && !event.altKey) {
        const button = buttons().find((each) => each.dataset.arm === event.key.toLowerCase());
        if (!button) return;
        event.preventDefault();
        open(button);
      }
    });
  });
}

function unopened(tick: HTMLInputElement | null): number {
  return Number(tick?.dataset.unopened ?? 0);
}

function typing(event: KeyboardEvent): boolean {
  return event.target instanceof Element && event.target.matches("input, textarea, select, [contenteditable]");
}

function lettersOn(): boolean {
  return document.documentElement.dataset.letterKeys !== "off";
}

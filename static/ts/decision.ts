import { announce, each } from "./dom";
import { say } from "./words";

/**
 * The decision bar: a key only arms a button, Ctrl+Enter submits the armed one, Escape disarms and
 * never decides. Buttons carry `data-arm="a"`; with `data-reason="id"` arming shows that element
 * and puts the focus on its first field.
 */
export function startDecision(): void {
  each<HTMLElement>("[data-decision]", (bar) => {
    const buttons = (): HTMLButtonElement[] => [
      ...bar.querySelectorAll<HTMLButtonElement>("[data-arm]:not([disabled])"),
    ];
    const armed = (): HTMLButtonElement | undefined =>
      buttons().find((button) => button.getAttribute("aria-pressed") === "true");

    const arm = (chosen: HTMLButtonElement | undefined): void => {
      for (const button of buttons()) {
        const on = button === chosen;
        button.setAttribute("aria-pressed", String(on));
        const reason = document.getElementById(button.dataset.reason ?? "");
        if (reason) reason.hidden = !(chosen && chosen.dataset.reason === button.dataset.reason);
      }
      for (const help of bar.querySelectorAll<HTMLElement>("[data-when]"))
        help.hidden = help.dataset.when !== chosen?.value;
      if (!chosen) return;
      announce(say("armed", chosen.querySelector(".button-word")?.textContent?.trim() ?? ""));
      const reason = document.getElementById(chosen.dataset.reason ?? "");
      (reason?.querySelector<HTMLElement>("textarea, input, select") ?? chosen).focus();
    };

    // Somebody was faster: what only serves to decide goes, and what was typed stays as text.
    bar.addEventListener("htmx:afterSwap", () => {
      if (bar.querySelector("[data-arm]")) return;
      const reason = bar.querySelector<HTMLElement>(".decision-reason");
      const typed = bar.querySelector<HTMLElement>("[data-decision-typed]");
      const text = reason?.querySelector("textarea")?.value ?? "";
      if (typed && text.trim() !== "") {
        const place = typed.querySelector("[data-decision-text]");
        if (place) place.textContent = text;
        typed.hidden = false;
      }
      reason?.remove();
      bar.querySelector("[data-decision-keys]")?.remove();
    });
    // Without the reason that it needs, a click arms instead of submitting.
    bar.addEventListener("click", (event) => {
      const button = (event.target as Element).closest<HTMLButtonElement>("[data-arm]");
      if (!button?.dataset.reason || button === armed()) return;
      event.preventDefault();
      arm(button);
    });
    document.addEventListener("keydown", (event) => {
      if (!bar.isConnected || document.querySelector("dialog[open]")) return;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        const button = armed();
        if (!button) return;
        event.preventDefault();
        button.form?.requestSubmit(button);
      } else if (event.key === "Escape") {
        arm(undefined);
      } else if (!typing(event) && lettersOn() && !event.ctrlKey && !event.metaKey && !event.altKey) {
        const button = buttons().find((each) => each.dataset.arm === event.key.toLowerCase());
        if (!button) return;
        event.preventDefault();
        arm(button);
      }
    });
  });
}

function typing(event: KeyboardEvent): boolean {
  return event.target instanceof Element && event.target.matches("input, textarea, select, [contenteditable]");
}

function lettersOn(): boolean {
  return document.documentElement.dataset.letterKeys !== "off";
}

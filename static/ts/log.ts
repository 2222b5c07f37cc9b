import { each } from "./dom";

const NEAR = 24;

/** Wrapped or not is the reader's choice: it outlives the fragments that htmx brings (`data-log-wrap`). */
function startWrap(): void {
  let wrapped = false;
  const apply = (): void => {
    for (const box of document.querySelectorAll<HTMLInputElement>("[data-log-wrap]")) {
      box.checked = wrapped;
      const logs = (box.closest(".card, .log-panel, main") ?? document).querySelectorAll(".log");
      for (const log of logs) log.classList.toggle("log-wrapped", wrapped);
    }
  };
  document.addEventListener("change", (event) => {
    if (!(event.target instanceof HTMLInputElement) || !event.target.matches("[data-log-wrap]")) return;
    wrapped = event.target.checked;
    apply();
  });
  document.addEventListener("htmx:afterSwap", apply);
}

/** A log that follows its end for as long as the reader is at the end. */
export function startLog(): void {
  startWrap();
  each<HTMLElement>("[data-follow]", (log) => {
    let atEnd = true;
    const toEnd = (): void => {
      log.scrollTop = log.scrollHeight;
    };
    log.addEventListener("scroll", () => {
      atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR;
    });
    new MutationObserver(() => {
      if (atEnd) toEnd();
    }).observe(log, { childList: true, subtree: true });
    toEnd();
  });
}

import { each } from "./dom";

const NEAR = 24;

/** A log that follows its end for as long as the reader is at the end. */
export function startLog(): void {
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

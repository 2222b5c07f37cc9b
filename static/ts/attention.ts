/**
 * A review that this person may decide (`data-attention`) says every twenty seconds that somebody is there, as long as
 * the page is seen and something was touched within two minutes. What is touched is not told, nor by whom.
 */
const EVERY_MS = 20_000;
const IDLE_MS = 120_000;
const TOUCHES = ["pointerdown", "pointermove", "keydown", "wheel", "scroll", "touchstart"];

/** Tells the server every twenty seconds that somebody looks at the review, as long as they do. */
export function startAttention(): void {
  if (!document.querySelector("[data-attention]")) return;
  let touched = Date.now();
  for (const type of TOUCHES) {
    document.addEventListener(
      type,
      () => {
        touched = Date.now();
      },
      { passive: true, capture: true },
    );
  }
  setInterval(() => {
    if (document.hidden || Date.now() - touched > IDLE_MS) return;
    document.querySelector("[data-attention]")?.dispatchEvent(new CustomEvent("gl:attend"));
  }, EVERY_MS);
}

/**
 * Choosing several reviews of a list: X, or a box (`data-choose`), marks the row that has the focus or is open. What is
 * chosen outlasts a list that fetches itself anew; the bar (`data-chosen`) shows how many there are.
 */
export function startChoosing(): void {
  const chosen = new Set<string>();
  const boxes = (): HTMLInputElement[] => [...document.querySelectorAll<HTMLInputElement>("[data-choose]")];
  const draw = (): void => {
    for (const box of boxes()) box.checked = chosen.has(box.value);
    const there = boxes().filter((box) => box.checked).length;
    for (const bar of document.querySelectorAll<HTMLElement>("[data-chosen]")) {
      bar.hidden = there === 0;
      const count = bar.querySelector("[data-chosen-count]");
      if (count) count.textContent = String(there);
    }
  };
  document.addEventListener("change", (event) => {
    const box = event.target;
    if (!(box instanceof HTMLInputElement) || box.dataset.choose === undefined) return;
    if (box.checked) chosen.add(box.value);
    else chosen.delete(box.value);
    draw();
  });
  document.addEventListener("htmx:afterSwap", draw);
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.documentElement.dataset.letterKeys === "off" || document.querySelector("dialog[open]")) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.matches("textarea, select, [contenteditable], input:not([type=checkbox])")) return;
    const line = target.closest(".inbox-line") ?? document.querySelector(".inbox-line:has([aria-current=true])");
    line?.querySelector<HTMLInputElement>("[data-choose]")?.click();
  });
  draw();
}

/** A form that a key unfolds (`data-ask`) takes the focus to its text. */
export function startAsking(): void {
  document.addEventListener(
    "toggle",
    (event) => {
      const details = event.target;
      if (details instanceof HTMLDetailsElement && details.dataset.ask !== undefined && details.open)
        details.querySelector("textarea")?.focus();
    },
    true,
  );
}

/**
 * Choosing several reviews of a list: X, or a box (`data-choose`), marks the row that has the focus or is open; Shift+J
 * and Shift+K take the next or the previous one with it, and back over what is chosen they let it go. What is chosen outlasts a list that fetches itself anew; the bar (`data-chosen`) shows how many there are.
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
    const line =
      target.closest(".inbox-line, .task-card") ?? document.querySelector(".inbox-line:has([aria-current=true])");
    line?.querySelector<HTMLInputElement>("[data-choose]")?.click();
  });
  document.addEventListener("keydown", (event) => {
    const step = event.key === "J" ? 1 : event.key === "K" ? -1 : 0;
    if (step === 0 || !event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.documentElement.dataset.letterKeys === "off" || document.querySelector("dialog[open]")) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.matches("textarea, select, [contenteditable], input:not([type=checkbox])")) return;
    const lines = [...document.querySelectorAll<HTMLElement>(".inbox-line")];
    const focused = lines.findIndex((line) => line.contains(target));
    const open = lines.findIndex((line) => line.querySelector("[aria-current=true]") !== null);
    const at = focused === -1 ? open : focused;
    const next = lines[at + step];
    if (at === -1 || !next) return;
    event.preventDefault();
    extend(lines[at], next);
    next.querySelector<HTMLElement>("[data-item]")?.focus();
    next.scrollIntoView({ block: "nearest" });
    draw();
  });
  /** The row is chosen with the next one; back over a row that is chosen, the row is not chosen any more. */
  function extend(line: HTMLElement | undefined, next: HTMLElement): void {
    const box = line?.querySelector<HTMLInputElement>("[data-choose]");
    const following = next.querySelector<HTMLInputElement>("[data-choose]");
    if (box && following && chosen.has(box.value) && chosen.has(following.value)) chosen.delete(box.value);
    else for (const checkbox of [box, following]) if (checkbox) chosen.add(checkbox.value);
  }
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

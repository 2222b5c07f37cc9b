/** The count is asked for once; its other places on the page copy it. Nothing is shown for none. */
const COUNT = "data-needs-count";

export function startCounts(): void {
  document.addEventListener("htmx:afterSwap", (event) => {
    const source = event.target;
    if (!(source instanceof HTMLElement) || !source.hasAttribute(COUNT)) return;
    const text = source.textContent?.trim() ?? "";
    for (const badge of document.querySelectorAll(`[${COUNT}]`)) badge.textContent = text === "0" ? "" : text;
  });
}

/** A count is asked for once; its other places on the page copy it. Nothing is shown for none. */
const COUNTS = ["data-inbox-count", "data-needs-count"];

export function startCounts(): void {
  document.addEventListener("htmx:afterSwap", (event) => {
    const source = event.target;
    if (!(source instanceof HTMLElement)) return;
    const name = COUNTS.find((each) => source.hasAttribute(each));
    if (name === undefined) return;
    const text = source.textContent?.trim() ?? "";
    for (const badge of document.querySelectorAll(`[${name}]`)) badge.textContent = text === "0" ? "" : text;
  });
}

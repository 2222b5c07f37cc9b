/** The inbox count is asked for once; its other places on the page copy it. Nothing is shown for none. */
export function startInboxCount(): void {
  document.addEventListener("htmx:afterSwap", (event) => {
    const source = event.target;
    if (!(source instanceof HTMLElement) || source.dataset.inboxCount === undefined) return;
    const text = source.textContent?.trim() ?? "";
    for (const badge of document.querySelectorAll("[data-inbox-count]")) {
      badge.textContent = text === "0" ? "" : text;
    }
  });
}

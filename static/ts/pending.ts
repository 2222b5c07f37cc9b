/** Forms whose answer takes seconds: the note in them says meanwhile what happens. */
function show(form: EventTarget | null, shown: boolean): void {
  if (!(form instanceof HTMLElement)) return;
  for (const note of form.querySelectorAll<HTMLElement>("[data-pending]")) note.hidden = !shown;
}

/** Shows what a form says while it is being sent, and hides it when the page comes back. */
export function startPending(): void {
  document.addEventListener("submit", (event) => {
    if (!event.defaultPrevented) show(event.target, true);
  });
  // Back from the next page the browser shows this one as it was left.
  window.addEventListener("pageshow", () => show(document.body, false));
}

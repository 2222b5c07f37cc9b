/** Forms whose answer takes seconds: the note in them says meanwhile what happens. */
function show(form: EventTarget | null, shown: boolean): void {
  if (!(form instanceof HTMLElement)) return;
  for (const note of form.querySelectorAll<HTMLElement>("[data-pending]")) note.hidden = !shown;
}

/** Time in which a form that is sent leads to the next page; what is sent again within it is a second click. */
const SAME_CLICK_MS = 5_000;

/** Shows what a form says while it is being sent, sends it once however often its button is pressed, and begins anew when the
 * page comes back. */
export function startPending(): void {
  let sent = new WeakMap<HTMLFormElement, number>();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || !(form instanceof HTMLFormElement)) return;
    if (form.method === "post" && !form.target) {
      // The browser itself would send it once more, and show the answer to the second request
      if (Date.now() - (sent.get(form) ?? 0) < SAME_CLICK_MS) {
        event.preventDefault();
        return;
      }
      sent.set(form, Date.now());
    }
    show(form, true);
  });
  // Back from the next page the browser shows this one as it was left.
  window.addEventListener("pageshow", () => {
    sent = new WeakMap();
    show(document.body, false);
  });
}

/**
 * A part of the page that is drawn anew takes the focus with it: it comes back to the same link, button or field.
 * (htmx gives it back only to what has an id.)
 */
export function startFocus(): void {
  let held: { likeness: string; place: number } | null = null;
  const before = (event: Event): void => {
    const focused = document.activeElement;
    held = null;
    if (!(event.target instanceof Element) || !focused || !event.target.contains(focused)) return;
    const likeness = likenessOf(focused);
    held = { likeness, place: alike(focused.tagName, likeness).indexOf(focused) };
  };
  const after = (): void => {
    if (held && document.activeElement === document.body) {
      const again = alike(held.likeness.split("\n", 1)[0] ?? "", held.likeness)[held.place];
      if (again instanceof HTMLElement) again.focus({ preventScroll: true });
    }
    held = null;
  };
  for (const type of ["htmx:beforeSwap", "htmx:oobBeforeSwap"]) document.addEventListener(type, before);
  for (const type of ["htmx:afterSwap", "htmx:oobAfterSwap"]) document.addEventListener(type, after);
}

/** What stays the same of a control while its neighbourhood changes. */
function likenessOf(control: Element): string {
  const words = ["href", "name", "value", "aria-label"].map((name) => control.getAttribute(name) ?? "");
  const form = control.closest("form")?.getAttribute("action") ?? "";
  return [control.tagName, form, ...words, control.textContent?.trim() ?? ""].join("\n");
}

function alike(tag: string, likeness: string): Element[] {
  return [...document.querySelectorAll(tag)].filter((each) => likenessOf(each) === likeness);
}

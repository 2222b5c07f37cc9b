/**
 * A part of the page that is drawn anew takes the focus with it: it comes back to the same link, button or field.
 * (htmx gives it back only to what has an id.) What somebody unfolded in it stays unfolded.
 */
export function startFocus(): void {
  focusHeadingAfterVerb();
  // What comes along out of band is drawn while the part itself still waits.
  keep("htmx:beforeSwap", "htmx:afterSwap");
  keep("htmx:oobBeforeSwap", "htmx:oobAfterSwap");
}

/** A page that begins by telling what was done is reached by a verb: who used the keys goes on at its heading. */
function focusHeadingAfterVerb(): void {
  if (document.activeElement !== document.body || !document.querySelector("#toasts > *, #notices [data-tags]")) return;
  const heading = document.querySelector<HTMLElement>("#dossier-title") ?? document.querySelector<HTMLElement>("h1");
  if (!heading || window.location.hash) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function keep(beforehand: string, afterwards: string): void {
  let place: Place | null = null;
  let unfolded: Place[] = [];
  const before = (event: Event): void => {
    const focused = document.activeElement;
    place = null;
    unfolded = event.target instanceof Element ? [...event.target.querySelectorAll("details[open]")].map(placeOf) : [];
    if (!(event.target instanceof Element) || !focused || !event.target.contains(focused)) return;
    place = placeOf(focused);
  };
  const after = (): void => {
    for (const part of unfolded) {
      const again = elementAt(part);
      if (again instanceof HTMLDetailsElement) again.open = true;
    }
    unfolded = [];
    if (place && document.activeElement === document.body) {
      const again = elementAt(place);
      if (again instanceof HTMLElement) again.focus({ preventScroll: true });
    }
    place = null;
  };
  document.addEventListener(beforehand, before);
  document.addEventListener(afterwards, after);
}

export interface Place {
  likeness: string;
  place: number;
}

/** Place of an element, by which `elementAt` finds what comes there anew. */
export function placeOf(element: Element): Place {
  const likeness = likenessOf(element);
  return { likeness, place: alike(element.tagName, likeness).indexOf(element) };
}

/** Element that stands where another stood. */
export function elementAt({ likeness, place }: Place): Element | undefined {
  return alike(likeness.split("\n", 1)[0] ?? "", likeness)[place];
}

/** What stays the same of a control, or of what can be unfolded, while its neighbourhood changes. */
function likenessOf(control: Element): string {
  const words = ["href", "name", "value", "aria-label"].map((name) => control.getAttribute(name) ?? "");
  const form = control.closest("form")?.getAttribute("action") ?? "";
  const text = (control.querySelector(":scope > summary") ?? control).textContent;
  return [control.tagName, form, ...words, text?.trim() ?? ""].join("\n");
}

function alike(tag: string, likeness: string): Element[] {
  return [...document.querySelectorAll(tag)].filter((each) => likenessOf(each) === likeness);
}

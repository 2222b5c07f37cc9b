/**
 * Letters of the verbs of an item or a task: `data-letter="e t"`. A letter goes to its verb and does nothing by itself:
 * a button that sends gets the focus, a form its first field, what can be unfolded opens; a link is followed, and a
 * button that opens a dialog is pressed. Enter does it then.
 */
const FIELD = "textarea, select, input:not([type=hidden])";
const TYPING = "input, textarea, select, [contenteditable]";

/** Lets letters lead to the verbs of the page, unless the person switched letters off. */
export function startLetters(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (document.documentElement.dataset.letterKeys === "off" || document.querySelector("dialog[open]")) return;
    if (event.target instanceof Element && event.target.matches(TYPING)) return;
    const verb = /^[a-z1-9]$/.test(event.key) ? visibleVerb(event.key) : undefined;
    if (!verb) return;
    event.preventDefault();
    goTo(verb);
  });
}

function visibleVerb(letter: string): HTMLElement | undefined {
  return [...document.querySelectorAll<HTMLElement>(`[data-letter~="${letter}"]`)].find((verb) =>
    verb.checkVisibility(),
  );
}

function goTo(verb: HTMLElement): void {
  if (verb instanceof HTMLAnchorElement) {
    verb.click();
  } else if (verb instanceof HTMLButtonElement) {
    if (verb.type === "submit") verb.focus();
    else verb.click();
  } else if (verb instanceof HTMLDetailsElement) {
    verb.open = true;
    focusFirst(verb, `:is(${FIELD})`);
  } else {
    focusFirst(verb, `:is(${FIELD}), button, a[href]`);
  }
}

function focusFirst(place: HTMLElement, selector: string): void {
  place.querySelector<HTMLElement>(selector)?.focus();
}

/**
 * Lists of items: J and K go to the next and the previous one (`data-item`; what is an address or takes the focus), Enter
 * opens the one that has the focus by its first link.
 * A form that is unfolded in an item gets the cursor. A list that fetches itself anew (`data-keep-typing`) waits while somebody types in one of its forms.
 */
export function startItems(): void {
  document.addEventListener("keydown", (event) => {
    const item =
      event.target instanceof HTMLElement && event.target.matches("[data-item]:not(a)") ? event.target : null;
    if (!item || event.key !== "Enter" || event.defaultPrevented || event.altKey || event.shiftKey) return;
    const link = item.querySelector<HTMLAnchorElement>("a[href]");
    if (!link) return;
    event.preventDefault();
    // As a click on it: held, the browser opens another tab.
    link.dispatchEvent(
      new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: event.ctrlKey, metaKey: event.metaKey }),
    );
  });
  document.addEventListener("keydown", (event) => {
    const step = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
    if (step === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.documentElement.dataset.letterKeys === "off" || document.querySelector("dialog[open]")) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.matches("input, textarea, select, [contenteditable]")) return;
    const items = allItems();
    if (items.length === 0) return;
    const focused = items.findIndex((item) => item.contains(target));
    const here = focused === -1 ? items.findIndex((item) => item.getAttribute("aria-current") === "true") : focused;
    const next = items[here === -1 ? (step === 1 ? 0 : items.length - 1) : here + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  });
  startFollowing();
  // `toggle` does not bubble. What a page opens by itself was not asked for just now, but for a form that was refused.
  document.addEventListener(
    "toggle",
    ({ target }) => {
      if (!(target instanceof HTMLDetailsElement) || !target.open || !target.closest("[data-item]")) return;
      target.querySelector<HTMLElement>(FIELD)?.focus();
    },
    true,
  );
  startWaitingForTyping();
}

/** Lets a list wait while somebody types in it, and fetches it when they have sent it, or given it up; until then the page says
 * that it is behind (`gl:waiting`, with how many wait). */
function startWaitingForTyping(): void {
  const waiting = new Set<HTMLElement>();
  const tell = (): void => {
    document.dispatchEvent(new CustomEvent("gl:waiting", { detail: waiting.size }));
  };
  // Before it asks, and once more before the answer replaces what somebody began to type meanwhile.
  for (const type of ["htmx:beforeRequest", "htmx:beforeSwap"]) {
    document.addEventListener(type, (event) => {
      const list = event.target;
      if (!(list instanceof HTMLElement) || list.dataset.keepTyping === undefined || !busy(list)) return;
      event.preventDefault();
      waiting.add(list);
      tell();
    });
  }
  const look = (): void => {
    if (waiting.size === 0) return;
    const free = [...waiting].filter((list) => !list.isConnected || !busy(list));
    for (const list of free) waiting.delete(list);
    tell();
    if (free.length > 0) document.body.dispatchEvent(new CustomEvent("gl:resync"));
  };
  // What ends typing: a dialog or a form that is folded up, a text that is taken back, another place that has the focus.
  for (const type of ["close", "toggle", "input", "change", "focusout"])
    document.addEventListener(type, () => setTimeout(look), true);
}

/** Where the last item fetches those that come after it and has the focus, the first of them gets it. */
function startFollowing(): void {
  let replaced = -1;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.target;
    replaced = allItems().findIndex((item) => item === target && item === document.activeElement);
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (replaced !== -1) allItems()[replaced]?.focus();
    replaced = -1;
  });
}

function allItems(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[data-item]")];
}

const CHOICE = "[type=radio], [type=checkbox]";
const FIELD = "form :is(textarea, select, input:not([type=hidden]))";
/** A slider has a value always: nobody typed it. */
const FILLED = `:is(textarea, input:not([type=hidden], [type=range], ${CHOICE}), input:is(${CHOICE}):checked)`;

/** Whether a dialog of this list is open, a form of it holds something, or the focus is in one that can be folded. */
function busy(list: HTMLElement): boolean {
  if (list.querySelector("dialog[open]")) return true;
  const fields = list.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(
    `details[open] ${FILLED}, form:not(details *) ${FILLED}`,
  );
  if ([...fields].some((field) => field.value.trim() !== "")) return true;
  const open = document.activeElement?.closest("details[open]");
  return open != null && list.contains(open) && open.querySelector("form") != null;
}

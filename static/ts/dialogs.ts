import { each, on } from "./dom";
import { elementAt, placeOf } from "./focus";

function openByAddress(hash: string): boolean {
  const dialog = document.getElementById(new URLSearchParams(hash.slice(1)).get("open") ?? "");
  if (!(dialog instanceof HTMLDialogElement) || dialog.dataset.byAddress === undefined) return false;
  const address = window.location.href;
  openDialog(dialog.id);
  // Of a page that was loaded with it the browser knows no opener: closed, it leads back to the link to it, which may
  // be drawn only after the page was.
  leadBack(dialog, () => linkTo(address));
  return true;
}

/** Gives the focus to an element when the dialog is closed and the browser itself knew nothing to give it to. */
function leadBack(dialog: HTMLDialogElement, find: () => Element | undefined): void {
  const lead = () => {
    // Told late of an earlier time: it is open again.
    if (dialog.open) return;
    dialog.removeEventListener("close", lead);
    const focused = document.activeElement;
    // What had the focus within keeps it until the browser draws next.
    if (focused !== document.body && !dialog.contains(focused)) return;
    const element = find();
    if (element instanceof HTMLElement) element.focus({ preventScroll: true });
  };
  dialog.addEventListener("close", lead);
}

function linkTo(address: string): HTMLElement | undefined {
  return [...document.querySelectorAll<HTMLElement>("a[href*='#open=']")].find(
    (one) => new URL(one.getAttribute("href") ?? "", document.baseURI).href === address && one.checkVisibility(),
  );
}

/** Closed dialogs in which something asked to be renewed meanwhile. */
const stale = new WeakSet<Element>();

function waitUntilOpen(event: Event): void {
  const dialog = event.target instanceof Element && event.target.closest("dialog:not([open])");
  if (!dialog || !(event.target as HTMLElement).matches("[data-quiet]")) return;
  event.preventDefault();
  stale.add(dialog);
}

function openDialog(id: string): void {
  const dialog = document.getElementById(id);
  if (!(dialog instanceof HTMLDialogElement) || dialog.open) return;
  show(dialog);
}

function show(dialog: HTMLDialogElement): void {
  const opener = document.activeElement;
  if (opener && opener !== document.body) {
    // A live page may draw it anew meanwhile, and the browser knows only the one that is gone.
    const place = placeOf(opener);
    leadBack(dialog, () => elementAt(place));
  }
  dialog.showModal();
  // The browser takes the close button; who opens a form wants its first field, or the first that is wrong.
  const fields = ".dialog-body :is(input:not([type=hidden]), textarea, select)";
  const wrong = dialog.querySelector<HTMLElement>(`${fields}[aria-invalid="true"]`);
  (wrong ?? dialog.querySelector<HTMLElement>(fields))?.focus();
  dialog.dispatchEvent(new CustomEvent("gl:open"));
  if (stale.delete(dialog)) dialog.dispatchEvent(new CustomEvent("gl:stale"));
}

/** `data-dialog="id"` opens, `data-close` and a click beside it close. Escape is the browser's. A dialog with
 * `data-by-address` is open where the address ends in `#open=id`. What renews itself (`data-quiet`) waits in a closed
 * one until `gl:stale from:closest dialog`. */
export function startDialogs(): void {
  document.addEventListener("htmx:beforeRequest", waitUntilOpen);
  openByAddress(window.location.hash);
  // A form that came back with what is wrong in it is open before any script is there, and not above the page.
  each<HTMLDialogElement>("dialog[open]", (dialog) => {
    if (dialog.matches(":modal")) return;
    dialog.close();
    show(dialog);
  });
  // The browser stays where it is, where it is at this address already.
  on("click", "a[href*='#open=']", (link, event) => {
    const { href, hash } = new URL(link.getAttribute("href") ?? "", document.baseURI);
    if (href === window.location.href && openByAddress(hash)) event.preventDefault();
  });
  on("click", "[data-dialog]", (button, event) => {
    event.preventDefault();
    openDialog(button.dataset.dialog ?? "");
  });
  on("click", "dialog [data-close]", (button) => button.closest("dialog")?.close());
  document.addEventListener("click", (event) => {
    const dialog = event.target;
    if (!(dialog instanceof HTMLDialogElement) || !dialog.open || dialog.dataset.stay !== undefined) return;
    const box = dialog.getBoundingClientRect();
    const inside =
      event.clientX >= box.left &&
      event.clientX <= box.right &&
      event.clientY >= box.top &&
      event.clientY <= box.bottom;
    if (!inside) dialog.close();
  });
}

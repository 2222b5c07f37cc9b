/** Brings a form in the page to what the server answered, element by element: focus, caret, what is unfolded and what is
 * being typed stay as they are. */

/** Controls whose value is left alone. */
export type Keeps = (name: string) => boolean;

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const sources = new WeakMap<Element, string>();

/** What enhances itself in the page (a combobox) is compared by its source, and replaced as a whole. */
const REPLACED = "[data-combobox], [data-preview]";

export function remember(root: Element): void {
  for (const source of root.querySelectorAll(REPLACED)) sources.set(source, source.outerHTML);
}

export function morph(live: Element, fresh: Element, keeps: Keeps): void {
  if (live.matches(REPLACED)) {
    whole(live, fresh, keeps);
    return;
  }
  attributes(live, fresh);
  if (isControl(live) && keeps(live.name)) return;
  // Read before the children: text and options go over to the page.
  const state = isControl(fresh)
    ? { value: fresh.value, checked: fresh instanceof HTMLInputElement && fresh.checked }
    : undefined;
  children(live, fresh, keeps);
  if (isControl(live) && state) hold(live, state);
}

export function isControl(element: unknown): element is Control {
  return (
    element instanceof HTMLInputElement ||
    element instanceof HTMLSelectElement ||
    element instanceof HTMLTextAreaElement
  );
}

function whole(live: Element, fresh: Element, keeps: Keeps): void {
  const source = fresh.outerHTML;
  const name = live.querySelector<HTMLInputElement>("input[type=hidden]")?.name;
  if (sources.get(live) === source || (name && keeps(name))) return;
  const focused = live.contains(document.activeElement) ? document.activeElement?.id : undefined;
  live.replaceWith(fresh);
  sources.set(fresh, source);
  if (focused) document.getElementById(focused)?.focus();
}

function hold(live: Control, held: { value: string; checked: boolean }): void {
  if (live instanceof HTMLInputElement && live.type === "checkbox") live.checked = held.checked;
  else if (live.value !== held.value) live.value = held.value;
}

function attributes(live: Element, fresh: Element): void {
  for (const { name, value } of fresh.attributes) {
    if (live.getAttribute(name) !== value && !(name === "open" && !fresh.hasAttribute("data-faulty"))) {
      live.setAttribute(name, value);
    }
  }
  for (const { name } of [...live.attributes]) {
    if (name !== "open" && !fresh.hasAttribute(name)) live.removeAttribute(name);
  }
}

function children(live: Element, fresh: Element, keeps: Keeps): void {
  const known = new Map([...live.children].flatMap((each) => (each.id ? [[each.id, each] as const] : [])));
  const ids = new Set([...fresh.children].map((each) => each.id));
  let at = live.firstChild;
  for (const next of [...fresh.childNodes]) {
    const same = partner(next, at, known, ids);
    if (!same) {
      live.insertBefore(next, at);
      if (next instanceof Element) remember(next.parentElement ?? next);
      continue;
    }
    if (same === at) at = at.nextSibling;
    else live.insertBefore(same, at);
    if (same instanceof Element) morph(same, next as Element, keeps);
    else if (same.nodeValue !== next.nodeValue) same.nodeValue = next.nodeValue;
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

/** The node of the page that stands for the fresh one: by id, else the one that is next in order. */
function partner(
  next: Node,
  at: ChildNode | null,
  known: Map<string, Element>,
  wanted: Set<string>,
): ChildNode | undefined {
  if (next instanceof Element && next.id) {
    const existing = known.get(next.id);
    return existing?.nodeName === next.nodeName ? existing : undefined;
  }
  const free = at && at.nodeName === next.nodeName && !(at instanceof Element && at.id && wanted.has(at.id));
  return free && !(at instanceof Element && at.id) ? at : undefined;
}

/** Calls `found` for every match now and in whatever htmx brings later, once per element. */
export function each<T extends Element>(selector: string, found: (element: T) => void): void {
  const done = new WeakSet<Element>();
  const visit = (root: ParentNode): void => {
    const own = root instanceof Element && root.matches(selector) ? [root] : [];
    for (const element of [...own, ...root.querySelectorAll(selector)]) {
      if (done.has(element)) continue;
      done.add(element);
      found(element as T);
    }
  };
  visit(document);
  document.addEventListener("htmx:load", (event) => visit(event.target as Element));
}

/** Listens on the document, for elements that come and go. */
export function on<K extends keyof DocumentEventMap>(
  type: K,
  selector: string,
  heard: (element: HTMLElement, event: DocumentEventMap[K]) => void,
): void {
  document.addEventListener(type, (event) => {
    const target = event.target instanceof Element ? event.target.closest<HTMLElement>(selector) : null;
    if (target) heard(target, event);
  });
}

/** What was said before stays beside it: two things that happen at once are both read. */
const MOST_MESSAGES = 3;

/** Says a change to those who do not see it. */
export function announce(text: string): void {
  const place = document.getElementById("announcer");
  if (!place) return;
  const message = document.createElement("p");
  message.textContent = text;
  place.append(message);
  while (place.childElementCount > MOST_MESSAGES) place.firstElementChild?.remove();
}

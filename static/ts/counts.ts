/**
 * The number beside Inbox. A page does not ask for it by itself: it is kept for this tab of the browser, and asked for
 * when a hint says that something moved (`gl:inbox`), when it is a minute old, and after this person sent a form.
 * A hint ends the kept number at once (`gl:task`): the page may be left before the gathered hints ask for another.
 * Its other places on the page copy it: badges, the title and the icon of the tab. Nothing is shown for none.
 */
const COUNT = "data-needs-count";
const KEPT_MS = 60_000;

/** Keeps the number of what needs somebody up to date, shared by the tabs of a browser. */
export function startCounts(): void {
  const source = document.querySelector<HTMLElement>(`[${COUNT}][hx-get]`);
  if (!source) return;
  const name = `gl-needs ${source.dataset.reader ?? ""} ${source.getAttribute("hx-get")}`;
  let isStale = false;
  document.body.addEventListener("gl:inbox", () => {
    isStale = true;
  });
  const forget = (): void => sessionStorage.removeItem(name);
  document.body.addEventListener("gl:task", forget);
  document.addEventListener("submit", (event) => {
    if (event.target instanceof HTMLFormElement && event.target.method === "post") forget();
  });
  source.addEventListener("htmx:beforeRequest", (event) => {
    const stored = isStale ? null : keptAt(name);
    isStale = false;
    if (stored === null) return;
    event.preventDefault();
    show(stored);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target !== source) return;
    const text = source.textContent?.trim() ?? "";
    sessionStorage.setItem(name, `${Date.now()} ${text}`);
    show(text);
  });
}

/** What was answered less than a minute ago, else null. */
function keptAt(name: string): string | null {
  const [at, text] = (sessionStorage.getItem(name) ?? "").split(" ");
  return at && Date.now() - Number(at) < KEPT_MS ? (text ?? "") : null;
}

function show(text: string): void {
  const count = text === "0" ? "" : text;
  for (const badge of document.querySelectorAll(`[${COUNT}]`)) badge.textContent = count;
  document.title = titled(document.title, count);
  mark(count !== "");
}

/** The title of a page with the number in front of it, whatever number stood there before. */
export function titled(title: string, count: string): string {
  const bare = title.replace(/^\(\d+\+?\) /, "");
  return count === "" ? bare : `(${count}) ${bare}`;
}

/** A dot on the icon of the tab. */
function mark(dotted: boolean): void {
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon][data-dotted]");
  if (!icon) return;
  icon.dataset.plain ??= icon.href;
  const image = dotted ? (icon.dataset.dotted ?? "") : icon.dataset.plain;
  if (icon.getAttribute("href") !== image) icon.setAttribute("href", image);
}

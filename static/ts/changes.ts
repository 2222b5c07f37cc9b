/** The list of changed files stays where its reader scrolled it while another file is shown, with that one in view. */
function keepListScrolled(): void {
  let scrolled = 0;
  const list = (): HTMLElement | null => document.getElementById("changed-files");
  document.addEventListener("htmx:beforeSwap", () => {
    scrolled = list()?.scrollTop ?? 0;
  });
  document.addEventListener("htmx:afterSettle", ({ target }) => {
    if (!(target instanceof Element) || target.id !== "changes") return;
    const files = list();
    if (!files) return;
    files.scrollTop = scrolled;
    showCurrent(files);
  });
  const files = list();
  if (files) showCurrent(files);
}

/** Enter in the filter opens the first file that matches, and goes on at its heading: keys are no text any more. */
function leaveFilterByEnter(): void {
  let opening = false;
  document.addEventListener("submit", ({ target }) => {
    if (!(target instanceof Element) || !target.matches(".changed-search")) return;
    opening = true;
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  document.addEventListener("htmx:afterSettle", ({ target }) => {
    if (!opening || !(target instanceof Element) || target.id !== "changes") return;
    opening = false;
    const heading = document.getElementById("changed-path");
    if (!heading || document.activeElement !== document.body) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  });
}

/** Scrolls the list alone: `scrollIntoView` would move the page, too. */
function showCurrent(files: HTMLElement): void {
  const current = files.querySelector<HTMLElement>("[aria-current=true]");
  if (!current) return;
  const [box, row] = [files.getBoundingClientRect(), current.getBoundingClientRect()];
  if (row.top < box.top + 3 * row.height) files.scrollTop -= box.top + 3 * row.height - row.top;
  else if (row.bottom > box.bottom) files.scrollTop += row.bottom - box.bottom + row.height;
}

/**
 * Ctrl+Enter sends the form that is being written, such as a comment, where it has one button, and never decides.
 * Changes of a task: C goes to the first line that can be commented on, and the arrows to the next and the one before.
 */
export function startChanges(): void {
  keepListScrolled();
  leaveFilterByEnter();
  document.addEventListener(
    "keydown",
    (event) => {
      if (!(event.target instanceof Element)) return;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        const button = onlyButtonOfPostedForm(event.target);
        if (!button) return;
        event.preventDefault();
        event.stopPropagation();
        button.form?.requestSubmit(button);
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const lines = [...document.querySelectorAll<HTMLElement>("#changes [data-line]")];
      const here = lines.indexOf(event.target as HTMLElement);
      const letters = document.documentElement.dataset.letterKeys !== "off";
      const typing = event.target.matches("input, textarea, select, [contenteditable]");
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      const next =
        event.key === "c" && letters && !typing ? lines[0] : step !== 0 && here !== -1 ? lines[here + step] : undefined;
      if (!next) return;
      event.preventDefault();
      next.focus();
      next.scrollIntoView({ block: "nearest" });
    },
    { capture: true },
  );
}

function onlyButtonOfPostedForm(field: Element): HTMLButtonElement | null {
  const form = field instanceof HTMLTextAreaElement && !field.closest("[data-decision]") ? field.form : null;
  if (!form?.hasAttribute("action") || form.method !== "post") return null;
  const buttons = [...form.elements].filter(
    (element): element is HTMLButtonElement => element instanceof HTMLButtonElement && element.type === "submit",
  );
  return buttons.length === 1 ? (buttons[0] ?? null) : null;
}

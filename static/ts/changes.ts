/**
 * Changes of a task: Ctrl+Enter adds the comment that is being written and never decides; C goes to the first line that
 * can be commented on, and the arrows to the next and the one before.
 */
export function startChanges(): void {
  document.addEventListener(
    "keydown",
    (event) => {
      if (!(event.target instanceof Element)) return;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("[data-submits]")) {
        event.preventDefault();
        event.stopPropagation();
        event.target.closest("form")?.requestSubmit();
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

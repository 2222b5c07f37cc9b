// The text area of a line document: line numbers beside it, problems marked at their line, and a jump from a
// problem to its place. Without this file the problems still name their lines.
import { on } from "../dom";

function lineTop(area: HTMLTextAreaElement, line: number): number {
  const height = parseFloat(getComputedStyle(area).lineHeight);
  return (line - 1) * height;
}

function marked(): Map<number, string> {
  const lines = new Map<number, string>();
  for (const problem of document.querySelectorAll<HTMLElement>(".problem[data-line]")) {
    lines.set(Number(problem.dataset.line), problem.querySelector("p")?.textContent?.trim() ?? "");
  }
  return lines;
}

function draw(gutter: HTMLElement, area: HTMLTextAreaElement, problems: Map<number, string>): void {
  const lines = area.value.split("\n").length;
  if (gutter.childElementCount === lines) return;
  gutter.replaceChildren(
    ...Array.from({ length: lines }, (_, index) => {
      const row = document.createElement("span");
      row.textContent = String(index + 1);
      const words = problems.get(index + 1);
      if (words !== undefined) {
        row.dataset.problem = "yes";
        row.title = words;
      }
      return row;
    }),
  );
}

function start(box: HTMLElement): void {
  const area = box.querySelector("textarea");
  const gutter = box.querySelector<HTMLElement>("[data-gutter]");
  if (!area || !gutter) return;
  const problems = marked();
  draw(gutter, area, problems);
  // After a change the marks may stand at other lines: they go with the next check.
  area.addEventListener("input", () => draw(gutter, area, new Map()));
  area.addEventListener("scroll", () => {
    gutter.scrollTop = area.scrollTop;
  });
}

for (const box of document.querySelectorAll<HTMLElement>("[data-document]")) start(box);

on("click", "[data-go-line]", (button) => {
  const area = document.querySelector<HTMLTextAreaElement>("[data-document] textarea");
  if (!area) return;
  const line = Number(button.dataset.goLine);
  const before = area.value
    .split("\n")
    .slice(0, line - 1)
    .join("\n").length;
  const begin = line > 1 ? before + 1 : 0;
  const end = area.value.indexOf("\n", begin);
  area.focus();
  area.setSelectionRange(begin, end < 0 ? area.value.length : end);
  area.scrollTop = Math.max(0, lineTop(area, line) - area.clientHeight / 3);
});

// Leaving with something typed that was not saved is asked about by the browser.
const form = document.querySelector<HTMLFormElement>("form[data-unsaved]");
const text = form?.querySelector("textarea");
if (form && text) {
  let sending = false;
  form.addEventListener("submit", () => {
    sending = true;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!sending && text.value !== text.defaultValue) event.preventDefault();
  });
}

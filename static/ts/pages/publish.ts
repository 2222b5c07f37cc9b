// The Publish page: a part that could not be loaded says so in its own place, and can be asked for again; what is ticked is
// asked for no more.
import { on } from "../dom";

const failed = document.getElementById("part-failed");
const loading = document.getElementById("part-loading");

function put(part: Element, template: HTMLElement | null): void {
  if (template instanceof HTMLTemplateElement) part.replaceChildren(template.content.cloneNode(true));
}

for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => {
    const { target } = (event as CustomEvent<{ target?: Element }>).detail;
    const part = target?.closest("[data-part]");
    if (part) put(part, failed);
  });
}

on("click", "[data-again]", (button) => {
  const part = button.closest("[data-part]");
  if (!part) return;
  put(part, loading);
  part.dispatchEvent(new Event("gl:again"));
});

// Two clicks are one: what is sent stays sent.
document.getElementById("publish-form")?.addEventListener("submit", (event) => {
  const { submitter } = event as SubmitEvent;
  if (submitter instanceof HTMLButtonElement) window.setTimeout(() => (submitter.disabled = true));
});

const warnings = (count: number): string => `${count} ${count === 1 ? "warning" : "warnings"}`;

/** Says how many warnings are left to be ticked, beside the button and above them. */
function countWarnings(): void {
  const boxes = [...document.querySelectorAll<HTMLInputElement>('#findings [name="warnings"]')];
  const left = boxes.filter((box) => !box.checked).length;
  const asks = document.querySelector<HTMLElement>("#warnings-left");
  const link = asks?.querySelector("a");
  const title = document.getElementById("warnings-title");
  if (!asks || !link || !title) return;
  asks.hidden = left === 0;
  link.textContent = `Acknowledge ${warnings(left)} to publish`;
  title.textContent = left > 0 ? `Acknowledge ${warnings(left)}` : `${warnings(boxes.length)} acknowledged`;
}

on("change", '[name="warnings"]', countWarnings);
// What was ticked before a page was refused is ticked when it comes again.
document.addEventListener("htmx:afterSettle", countWarnings);

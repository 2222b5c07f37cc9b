// The Publish page: a part that could not be loaded says so in its own place, and can be asked for again.
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

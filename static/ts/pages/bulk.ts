// One command for several chosen tasks, or all that match: the dialog is filled and planned here; the server does the
// work in the background, and its part of the dialog renews itself (templates/tasks/bulk/state.html).
import { announce, on } from "../dom";
import { titles } from "./bulk-words";

const dialog = (): HTMLDialogElement | null => document.querySelector<HTMLDialogElement>("#bulk");
const form = (): HTMLFormElement | null => document.querySelector<HTMLFormElement>("#bulk-form");

function fill(name: string, value: string): void {
  const input = form()?.elements.namedItem(name);
  if (input instanceof HTMLInputElement) input.value = value;
}

function open(action: string): void {
  const chosen = [...document.querySelectorAll<HTMLInputElement>("[data-choose]:checked")];
  fill("action", action);
  fill("chosen", chosen.map((box) => box.value).join("\n"));
  fill("matching", location.search);
  for (const part of document.querySelectorAll<HTMLElement>("[data-bulk-for]")) {
    part.hidden = part.dataset.bulkFor !== action;
  }
  const title = dialog()?.querySelector("[data-bulk-title]");
  if (title) title.textContent = titles[action] ?? "";
  document.querySelector("#bulk-command")?.replaceChildren();
  show("planning");
  dialog()?.showModal();
  form()?.requestSubmit();
}

/** Shows the form until the command begins: until then it can be changed. */
function show(state: string): void {
  const request = form();
  if (request) request.hidden = state !== "planning" && state !== "planned";
}

let announced = "";

document.addEventListener("htmx:afterSettle", () => {
  const part = document.querySelector<HTMLElement>("[data-bulk-part]");
  const state = part?.dataset.bulkState ?? "";
  if (!part || !state) return;
  show(state);
  // Each state is said once, and not each step of the progress
  const heading = part.querySelector("[data-bulk-heading]")?.textContent ?? "";
  if (state !== announced && state !== "planning" && state !== "running") announce(heading);
  announced = state;
});

on("click", "[data-bulk]", (button, event) => {
  event.preventDefault();
  open(button.dataset.bulk ?? "");
});

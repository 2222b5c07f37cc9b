// The slider over the past of a task (templates/tasks/task/scrubber.html). The page goes on asking for what is new
// meanwhile. Each request says at which moment the slider stands, and an answer that shows another moment is not drawn
// but asked for again: else one that was on its way would draw now over the moment that somebody has chosen.

import { on } from "../dom";

const ASKING = ["task-live", "scrubber"];

interface Request {
  elt?: Element;
  parameters: Record<string, unknown>;
}

interface Swap {
  requestConfig?: Request;
  shouldSwap?: boolean;
}

function slider(): HTMLInputElement | null {
  return document.querySelector<HTMLInputElement>("#moment-range");
}

/** Place of the slider; "" for now, also where that has gone on since the page was drawn. */
function chosen(): string {
  const range = slider();
  return range && range.value !== range.max ? range.value : "";
}

document.addEventListener("htmx:configRequest", (event) => {
  const { elt, parameters } = (event as CustomEvent<Request>).detail;
  if (!elt || !ASKING.includes(elt.id)) return;
  delete parameters.at;
  delete parameters.step;
  if (chosen()) parameters.step = chosen();
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const swap = (event as CustomEvent<Swap>).detail;
  const request = swap.requestConfig;
  if (!swap.shouldSwap || !request?.elt || !ASKING.includes(request.elt.id)) return;
  if (String(request.parameters.step ?? "") === chosen()) return;
  swap.shouldSwap = false;
  if (request.elt.id === "task-live") {
    setTimeout(() => document.body.dispatchEvent(new CustomEvent("gl:resync")));
  }
});

on("click", "[data-moment-by]", (link, event) => {
  const range = slider();
  if (!range || !(event instanceof MouseEvent) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  range.value = String(Number(range.value) + Number(link.dataset.momentBy));
  range.dispatchEvent(new Event("input", { bubbles: true }));
});

// Cards of a board are moved by hand: dragged to another column, or with M. The dialog with the plan comes first; what
// happens to the task meanwhile is said in it (templates/tasks/task/move.html).
import { announce, on } from "./dom";

let dragged: HTMLElement | null = null;

function card(element: EventTarget | null): HTMLElement | null {
  return element instanceof Element ? element.closest<HTMLElement>("[data-move]") : null;
}

/** Opens the dialog of the card, with the station to which it may go. */
function ask(moved: HTMLElement, station = ""): void {
  const address = `${moved.dataset.move}${station && `?to=${encodeURIComponent(station)}`}`;
  void window.htmx?.ajax("GET", address, { target: "#move-place" });
}

/** The column under the pointer, if the card may be dropped there: no move passes a gate, or ends a task. */
function columnOf(event: DragEvent): HTMLElement | null {
  const column = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-column]") : null;
  const isStation = column?.dataset.column?.startsWith("station:");
  return isStation && dragged && !column?.contains(dragged) ? column : null;
}

function mark(column: HTMLElement | null): void {
  for (const one of document.querySelectorAll("[data-drop]")) one.toggleAttribute("data-drop", one === column);
  column?.setAttribute("data-drop", "");
}

document.addEventListener("dragstart", (event) => {
  dragged = card(event.target);
  if (!dragged || !event.dataTransfer) return;
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", dragged.dataset.task ?? "");
});
document.addEventListener("dragover", (event) => {
  const column = columnOf(event);
  mark(column);
  if (column) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  const column = columnOf(event);
  if (!column || !dragged) return;
  event.preventDefault();
  ask(dragged, column.dataset.column?.slice("station:".length));
});
document.addEventListener("dragend", () => {
  dragged = null;
  mark(null);
});

on("keydown", ".task-card-title", (link, event) => {
  const { altKey, ctrlKey, metaKey, key } = event as KeyboardEvent;
  if (key.toLowerCase() !== "m" || altKey || ctrlKey || metaKey) return;
  if (document.documentElement.dataset.letterKeys === "off") return;
  const moved = card(link);
  if (moved) ask(moved);
});

document.addEventListener("gl:moved", (event) => {
  document.querySelector<HTMLDialogElement>("#move-place dialog")?.close();
  announce((event as CustomEvent<{ text: string }>).detail.text);
  document.body.dispatchEvent(new CustomEvent("gl:resync"));
});

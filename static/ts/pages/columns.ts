// The board's columns: on a phone one at a time, by the switch; everywhere each column keeps where it was
// scrolled to when a new snapshot takes the place of the old one.
import { each } from "../dom";

const KEY = "gl-board-column";
const scrolled = new Map<string, number>();
let chosen = "";

function storageKey(): string {
  return `${KEY}:${location.pathname}`;
}

/** The column that was chosen, else the first that has cards. */
function show(board: Element): void {
  const columns = [...board.querySelectorAll<HTMLElement>("[data-column]")];
  const columnNames =
    columns.find((column) => column.dataset.column === chosen) ??
    columns.find((column) => !column.classList.contains("board-collapsed")) ??
    columns[0];
  for (const column of columns) column.toggleAttribute("data-shown", column === columnNames);
  const select = document.querySelector<HTMLSelectElement>("[data-board-switch]");
  if (select && columnNames?.dataset.column) select.value = columnNames.dataset.column;
}

function remember(select: HTMLSelectElement): void {
  chosen = select.value;
  sessionStorage.setItem(storageKey(), chosen);
  const board = document.querySelector(".board");
  if (board) show(board);
}

chosen = sessionStorage.getItem(storageKey()) ?? "";

document.addEventListener("change", (event) => {
  const select = event.target;
  if (!(select instanceof HTMLSelectElement) || select.dataset.boardSwitch === undefined) return;
  event.stopPropagation();
  remember(select);
});

document.addEventListener("htmx:beforeSwap", () => {
  for (const column of document.querySelectorAll<HTMLElement>("[data-scroll]")) {
    scrolled.set(column.dataset.scroll ?? "", column.scrollTop);
  }
  const board = document.querySelector(".board");
  if (board) scrolled.set("board", board.scrollLeft);
});

// A board that stays where it is may have other columns.
document.addEventListener("htmx:afterSwap", () => {
  const board = document.querySelector(".board");
  if (board) show(board);
});

each<HTMLElement>(".board", (board) => {
  show(board);
  board.scrollLeft = scrolled.get("board") ?? 0;
  for (const column of board.querySelectorAll<HTMLElement>("[data-scroll]")) {
    column.scrollTop = scrolled.get(column.dataset.scroll ?? "") ?? 0;
  }
});

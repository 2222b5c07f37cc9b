// The live board: moves are fetched by htmx after a hint (live.ts). This file keeps what a new snapshot would lose:
// where each column was scrolled to, which column a phone shows, and the eye on a card that moved (at most 300 ms,
// transform and opacity only).

const MOVE_MS = 300;
const EASE = "cubic-bezier(0.2, 0, 0, 1)";

function cards(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[data-card]")];
}

function places(): Map<string, DOMRect> {
  return new Map(cards().map((card) => [card.dataset.card ?? "", card.getBoundingClientRect()]));
}

function animate(before: Map<string, DOMRect>): void {
  for (const card of cards()) {
    const from = before.get(card.dataset.card ?? "");
    const to = card.getBoundingClientRect();
    if (!from) {
      card.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE_MS, easing: EASE });
      continue;
    }
    const x = from.left - to.left;
    const y = from.top - to.top;
    if (x === 0 && y === 0) continue;
    card.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], {
      duration: MOVE_MS,
      easing: EASE,
    });
  }
}

function scrolls(): Map<string, [number, number]> {
  const all = [...document.querySelectorAll<HTMLElement>("[data-scroll]")];
  return new Map(all.map((place) => [place.dataset.scroll ?? "", [place.scrollTop, place.scrollLeft]]));
}

function scrollBack(before: Map<string, [number, number]>): void {
  for (const place of document.querySelectorAll<HTMLElement>("[data-scroll]")) {
    [place.scrollTop, place.scrollLeft] = before.get(place.dataset.scroll ?? "") ?? [0, 0];
  }
}

/** The column that a phone shows; until somebody chooses, the first with a task in it. */
let chosen: string | undefined;

function show(): void {
  const choice = document.querySelector<HTMLSelectElement>("[data-board-switch]");
  const columns = [...document.querySelectorAll<HTMLElement>("[data-column]")];
  if (!choice || columns.length === 0) return;
  const busy = columns.find((column) => column.querySelector("[data-card]"));
  const wanted = chosen ?? busy?.dataset.column;
  const column = columns.find((each) => each.dataset.column === wanted) ?? columns[0];
  for (const each of columns) each.toggleAttribute("data-shown", each === column);
  choice.value = column?.dataset.column ?? "";
}

document.addEventListener("change", (event) => {
  if (!(event.target instanceof HTMLSelectElement) || !event.target.matches("[data-board-switch]")) return;
  // The switch is no filter: the form around it must not send it.
  event.stopPropagation();
  chosen = event.target.value;
  show();
});

let cardsBefore = new Map<string, DOMRect>();
let scrollsBefore = new Map<string, [number, number]>();
let focused = "";

document.addEventListener("htmx:beforeSwap", () => {
  cardsBefore = places();
  scrollsBefore = scrolls();
  focused = document.activeElement?.closest<HTMLElement>("[data-card]")?.dataset.card ?? "";
});
document.addEventListener("htmx:afterSwap", () => {
  show();
  scrollBack(scrollsBefore);
  // Who walks the cards by keyboard stays on theirs when the board is drawn anew.
  const card = focused && document.activeElement === document.body ? cards().find((each) => each.dataset.card === focused) : null;
  card?.querySelector<HTMLElement>("a, button")?.focus({ preventScroll: true });
  if (cardsBefore.size > 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches) animate(cardsBefore);
  cardsBefore = new Map();
});
show();

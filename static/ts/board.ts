// The live board: moves are fetched by htmx after a hint (live.ts). This file keeps the eye and the focus on a card that
// moved (at most 300 ms, transform and opacity only); the columns are kept by pages/columns.ts.

import "./moving";

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

let cardsBefore = new Map<string, DOMRect>();

document.addEventListener("htmx:beforeSwap", () => {
  cardsBefore = places();
});
document.addEventListener("htmx:afterSwap", () => {
  if (cardsBefore.size > 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches) animate(cardsBefore);
  cardsBefore = new Map();
});

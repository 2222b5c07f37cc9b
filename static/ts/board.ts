// The live board: moves are fetched by htmx after a hint (live.ts). This file keeps the eye and the focus on a card that
// moved (at most 300 ms, transform and opacity only); the columns are kept by pages/columns.ts.

import "./moving";
import "./windows";

const MOVE_MS = 300;
const EASE = "cubic-bezier(0.2, 0, 0, 1)";

function cards(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[data-card]")];
}

function places(): Map<string, DOMRect> {
  return new Map(cards().map((card) => [card.dataset.card ?? "", card.getBoundingClientRect()]));
}

/** A column of thousands is a screen high: what is beyond it need not move for anybody. */
function isOnScreen(place: DOMRect): boolean {
  return place.bottom > 0 && place.top < innerHeight && place.right > 0 && place.left < innerWidth;
}

function animate(before: Map<string, DOMRect>): void {
  // All are measured before any is animated: each animation in between would have the page laid out anew
  for (const [card, to] of cards().map((each): [HTMLElement, DOMRect] => [each, each.getBoundingClientRect()])) {
    const from = before.get(card.dataset.card ?? "");
    if (!isOnScreen(to) && !(from && isOnScreen(from))) continue;
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

// The live board: moves are fetched by htmx after a hint (live.ts). This file keeps the eye and the focus on a card that
// moved (at most 300 ms, transform and opacity only); the columns are kept by pages/columns.ts.

import "./moving";
import "./windows";

const MOVE_MS = 300;
/** More at once nobody follows by eye, and each that moves is a layer of its own to the browser. */
const MAX_MOVES = 24;
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

/** Returns the keyframes of a card on its way to its place; null where nobody sees it move. */
function moveOf(from: DOMRect | undefined, to: DOMRect): Keyframe[] | null {
  if (!isOnScreen(to) && !(from && isOnScreen(from))) return null;
  if (!from) return [{ opacity: 0 }, { opacity: 1 }];
  const x = from.left - to.left;
  const y = from.top - to.top;
  return x === 0 && y === 0 ? null : [{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }];
}

function animate(before: Map<string, DOMRect>): void {
  // All are measured before any is animated: each animation in between would have the page laid out anew
  const moves: [HTMLElement, Keyframe[]][] = [];
  for (const card of cards()) {
    const move = moveOf(before.get(card.dataset.card ?? ""), card.getBoundingClientRect());
    if (move) moves.push([card, move]);
  }
  if (moves.length > MAX_MOVES) return;
  for (const [card, move] of moves) card.animate(move, { duration: MOVE_MS, easing: EASE });
}

let cardsBefore = new Map<string, DOMRect>();

document.addEventListener("htmx:beforeSwap", () => {
  cardsBefore = places();
});
document.addEventListener("htmx:afterSwap", () => {
  if (cardsBefore.size > 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches) animate(cardsBefore);
  cardsBefore = new Map();
});

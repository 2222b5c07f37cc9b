// The live board: moves are fetched by htmx after a hint (live.ts); this file moves a card from its old
// place to its new one instead of letting it jump (at most 300 ms, transform only).

const MOVE_MS = 300;

function reduced(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

function places(root: ParentNode): Map<string, DOMRect> {
  const found = new Map<string, DOMRect>();
  for (const card of root.querySelectorAll<HTMLElement>("[data-card]")) {
    found.set(card.dataset.card ?? "", card.getBoundingClientRect());
  }
  return found;
}

function animate(root: ParentNode, before: Map<string, DOMRect>): void {
  for (const card of root.querySelectorAll<HTMLElement>("[data-card]")) {
    const from = before.get(card.dataset.card ?? "");
    const to = card.getBoundingClientRect();
    if (!from) {
      card.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE_MS, easing: "ease-out" });
      continue;
    }
    const x = from.left - to.left;
    const y = from.top - to.top;
    if (x === 0 && y === 0) continue;
    card.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], {
      duration: MOVE_MS,
      easing: "cubic-bezier(0.2, 0, 0, 1)",
    });
  }
}

let before = new Map<string, DOMRect>();

document.addEventListener("htmx:beforeSwap", () => {
  before = places(document);
});
document.addEventListener("htmx:afterSettle", () => {
  if (before.size && !reduced()) animate(document, before);
  before = new Map();
});

// The columns of a board are windows: of each the first cards are there, more come when it is scrolled to them, and those
// far below go again when it is scrolled back. What is fetched anew is asked for with the cards that stand there, so
// that only what changed is sent.
import { startKeyed } from "./keyed";

/** Cards beyond the last that is seen, and the steps in which their number grows. */
const AHEAD = 10;
const STEP = 20;
/** Number of digests that fit into a header that every proxy passes. */
const DIGEST_LIMIT = 600;

interface Asking {
  elt: Element;
  parameters: Record<string, unknown>;
  headers: Record<string, string>;
}

function board(): HTMLElement | null {
  return document.querySelector<HTMLElement>("#board[hx-swap=keyed]");
}

function cardsIn(column: Element): NodeListOf<Element> {
  return column.querySelectorAll(":scope > [data-drawn]");
}

/** Cards that a column needs for where it is scrolled to: in itself, or with the page on a phone. */
function wantedCards(column: HTMLElement): number {
  const place = column.getBoundingClientRect();
  const isScrolled = column.scrollHeight > column.clientHeight + 1;
  const visibleShare = isScrolled
    ? (column.scrollTop + column.clientHeight) / column.scrollHeight
    : (innerHeight - place.top) / Math.max(1, place.height);
  const cards = Math.ceil(cardsIn(column).length * Math.min(1, Math.max(0, visibleShare)));
  return Math.ceil((cards + AHEAD) / STEP) * STEP;
}

function columns(part: Element): HTMLElement[] {
  return [...part.querySelectorAll<HTMLElement>(".board-cards")].filter((column) => cardsIn(column).length > 0);
}

function ask(event: Event): void {
  const { elt, parameters, headers } = (event as CustomEvent<Asking>).detail;
  const part = board();
  if (!part || elt !== part) return;
  const rows = columns(part).map((column) => `${wantedCards(column)}:${column.dataset.scroll}`);
  if (rows.length > 0) parameters.rows = rows.filter((row) => !row.startsWith(`${STEP}:`));
  const drawn = [...part.querySelectorAll<HTMLElement>("[data-drawn]")].slice(0, DIGEST_LIMIT);
  headers["Gateline-Cards"] = drawn.map((card) => card.dataset.drawn).join(",");
}

let isAsking = false;

function lookForMore(): void {
  const part = board();
  if (!part || isAsking) return;
  const short = columns(part).some(
    (column) => column.querySelector("[data-more]") && wantedCards(column) > cardsIn(column).length,
  );
  if (!short) return;
  isAsking = true;
  window.htmx?.trigger(part, "gl:rows");
}

startKeyed();
document.addEventListener("htmx:configRequest", ask);
document.addEventListener("scroll", () => requestAnimationFrame(lookForMore), { capture: true, passive: true });
document.addEventListener("htmx:afterRequest", () => {
  isAsking = false;
});

import { each } from "./dom";

/** A row of tabs that is wider than the page begins where the tab stands on which one is. */
export function startTabs(): void {
  each<HTMLElement>(".tabs > [aria-current], .tabs > [aria-selected='true']", (tab) => {
    const row = tab.parentElement;
    if (row) row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
  });
}

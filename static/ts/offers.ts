import { each } from "./dom";
import type { Asked } from "./palette";

/** Controls of the page that the palette offers by the words of their `data-offer`. */
export function startOffers(): void {
  document.addEventListener("gl:palette", (event) => {
    const { words, offers } = (event as CustomEvent<Asked>).detail;
    const terms = words.toLowerCase().split(/\s+/).filter(Boolean);
    each<HTMLElement>("[data-offer]", (control) => {
      const label = control.dataset.offer ?? "";
      if (terms.every((term) => label.toLowerCase().includes(term)))
        offers.push({ label, icon: "pause", run: () => control.click() });
    });
  });
}

/**
 * A list that fetches itself anew (`data-keeps-rows`) asks for as many rows as stand there (`data-paged`: those that come
 * by pages), so that what was fetched by scrolling does not go, nor what is chosen among it.
 */
export function startKeptRows(): void {
  document.addEventListener("htmx:configRequest", (event) => {
    const { elt, parameters } = (event as CustomEvent<{ elt: Element; parameters: Record<string, string> }>).detail;
    if (!(elt instanceof HTMLElement) || elt.dataset.keepsRows === undefined) return;
    parameters.rows = String(elt.querySelectorAll("[data-paged]").length);
  });
}

/** F1 opens what the help says about the field that has the focus, or else about the page, in a tab of its own: nothing
 * that is typed is lost. The links beside the fields are for the mouse, so that they are no stops on the way through a form. */
export function startHelp(): void {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "F1" || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const link = nearest(document.activeElement) ?? document.querySelector<HTMLAnchorElement>("[data-help-page]");
    if (!link) return;
    event.preventDefault();
    window.open(link.href, "_blank", "noopener");
  });
}

function nearest(from: Element | null): HTMLAnchorElement | null {
  for (let field = from?.closest(".field"); field; field = field.parentElement?.closest(".field")) {
    const link = field.querySelector<HTMLAnchorElement>(".field-more");
    if (link) return link;
  }
  return null;
}

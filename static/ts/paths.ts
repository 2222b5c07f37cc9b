/**
 * Shows where each choice leads: a radio button (`data-path-of`, the id of the element that the drawing reads) puts what it
 * marks (`data-path`) there. To arm a word of the decision bar chooses its path, too.
 */
export function startPaths(): void {
  const choices = (): HTMLInputElement[] => [...document.querySelectorAll<HTMLInputElement>("[data-path-of]")];
  const show = (chosen: HTMLInputElement): void => {
    const place = document.getElementById(chosen.dataset.pathOf ?? "");
    if (!place) return;
    place.dataset.told = chosen.dataset.path ?? "";
    document.dispatchEvent(new CustomEvent("gl:path"));
  };
  document.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLInputElement && target.dataset.pathOf !== undefined) show(target);
  });
  document.addEventListener("gl:armed", ({ target }) => {
    const word = target instanceof HTMLButtonElement ? target.value : "";
    const chosen = choices().find((each) => each.value === word);
    if (!chosen) return;
    chosen.checked = true;
    show(chosen);
  });
}

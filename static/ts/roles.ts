import { each } from "./dom";
import { say } from "./words";

/**
 * Roles are a set (`data-roles`): what a ticked role includes (`data-includes`) is ticked with it, and says by which.
 * What was ticked by hand comes back when the wider role goes.
 */
export function startRoles(): void {
  each<HTMLElement>("[data-roles]", (group) => {
    const boxes = [...group.querySelectorAll<HTMLInputElement>("input[data-includes]")];
    const own = new Set(boxes.filter((box) => box.checked && !box.disabled));
    const nameOf = (box: HTMLInputElement): string => box.labels?.[0]?.textContent?.trim() ?? box.value;
    const includes = (box: HTMLInputElement, role: string): boolean =>
      (box.dataset.includes ?? "").split(" ").includes(role);

    group.addEventListener("change", (event) => {
      const changed = event.target as HTMLInputElement;
      if (changed.checked) own.add(changed);
      else own.delete(changed);
      for (const box of boxes) {
        const by = boxes.filter((other) => own.has(other) && includes(other, box.value)).at(-1);
        box.disabled = by !== undefined;
        box.checked = by !== undefined || own.has(box);
        const note = document.getElementById(box.getAttribute("aria-describedby") ?? "");
        if (note) note.textContent = by ? say("includedIn", nameOf(by)) : "";
      }
    });
  });
}

import { each, on } from "./dom";

const TOAST_MS = 6000;

/**
 * Toasts go by themselves unless somebody is on them; banners stay until they are dismissed. One that says what a
 * decision starts (`while-…` among its tags) goes when the task of the page stands otherwise (`data-standing`).
 */
export function startNotices(): void {
  on("click", "[data-dismiss]", (button) => button.closest(".toast, .banner")?.remove());
  each<HTMLElement>("[data-standing]", (task) => {
    for (const banner of document.querySelectorAll<HTMLElement>(".banner[data-tags*='while-']"))
      if (!banner.dataset.tags?.split(" ").includes(`while-${task.dataset.standing}`)) banner.remove();
  });
  each<HTMLElement>("[data-toast]", (toast) => {
    const leave = (): void => {
      if (toast.matches(":hover, :focus-within")) setTimeout(leave, TOAST_MS);
      else toast.remove();
    };
    setTimeout(leave, TOAST_MS);
  });
}

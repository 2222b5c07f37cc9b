import { on } from "./dom";

const YEAR = 365 * 24 * 3600;

/** The sidebar as a rail: a cookie, so that the server draws the next page right at once. */
export function startRail(): void {
  on("click", "[data-rail-toggle]", (button) => {
    const shell = document.querySelector<HTMLElement>("[data-shell]");
    if (!shell) return;
    const rail = shell.dataset.rail !== "on";
    shell.dataset.rail = rail ? "on" : "off";
    button.setAttribute("aria-pressed", String(rail));
    // biome-ignore lint/suspicious/noDocumentCookie: cookieStore is not in all browsers that are served.
    document.cookie = `gl_rail=${rail ? "on" : "off"}; path=/; max-age=${YEAR}; samesite=lax`;
  });
}

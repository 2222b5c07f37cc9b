// Lines, only to look at: drawn as on the canvas, wherever a page shows one. The server says what is drawn and what is
// marked: what differs between two documents, or what a task did. What a mark says anew is painted without a new layout.
import "../vendor.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { each } from "../../ts/dom";
import { ask } from "../api/door";
import { takeSprite } from "../shell/Icon";
import { type KindOfWork, takeKinds } from "../store/kinds";
import { LineCanvas, type Path } from "./LineCanvas";
import type { StoredPicture } from "./still";

interface Given extends StoredPicture {
  icons: string;
  kinds: KindOfWork[];
}

/** Drawn before it comes into view, and not at all where nobody looks. */
const NEAR = "1500px";
const kinds = new Map<string, KindOfWork>();

function know(given: Given): void {
  takeSprite(given.icons);
  for (const kind of given.kinds) kinds.set(kind.key, kind);
  takeKinds([...kinds.values()]);
}

const nearby = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting || !(target instanceof HTMLElement)) continue;
      nearby.unobserve(target);
      draw(target);
    }
  },
  { rootMargin: NEAR },
);

/** What htmx brings anew comes in an attribute: scripts are taken out of its answers. */
const parsedJson = <T,>(json: string | null | undefined): T | undefined => (json ? (JSON.parse(json) as T) : undefined);

function draw(figure: HTMLElement): void {
  const place = figure.querySelector("[data-line-canvas]");
  const settings = parsedJson<Given>(figure.querySelector(":scope > script")?.textContent);
  if (!place || !settings) return;
  know(settings);
  const { links, linksEnd = "", gateLinks, path, drawing: look, handOver } = figure.dataset;
  const root = createRoot(place);
  const small = look === "small";
  const grows = !small && !getComputedStyle(figure).getPropertyValue("--held");
  // The line stands there as it is stored until then, as large.
  const stands = (): void => {
    figure.querySelector("[data-line-still]")?.remove();
    if (handOver) void import("./handing-over").then((its) => its.handOver(settings, handOver));
  };
  const leads = links ? { before: links, after: linksEnd } : undefined;
  const render = (): void => {
    const way = path ? parsedJson<Path>(document.getElementById(path)?.dataset.told) : undefined;
    const label = figure.getAttribute("aria-label") ?? "";
    root.render(
      <StrictMode>
        <LineCanvas
          picture={settings}
          label={label}
          path={way}
          links={leads}
          grows={grows}
          small={small}
          onDrawn={stands}
        />
      </StrictMode>,
    );
  };
  render();
  if (path) for (const type of ["htmx:afterSwap", "gl:path"]) document.addEventListener(type, render);
  figure.addEventListener("click", ({ target }) => {
    const gate = target instanceof Element ? target.closest<HTMLElement>("[data-gate]")?.dataset.gate : undefined;
    if (gate && gateLinks) location.href = `${gateLinks}${encodeURIComponent(gate)}`;
  });
}

async function compare(figure: HTMLElement, place: Element): Promise<void> {
  const failed = figure.querySelector<HTMLElement>("[data-diff-failed]");
  // What says that it is loading keeps its room until the line stands there: the answer and the layout take their time.
  const waiting = place.querySelector(".skeleton");
  if (waiting) place.before(waiting);
  const stands = (): void => {
    waiting?.remove();
    figure.querySelector("[data-line-still]")?.remove();
    figure.setAttribute("aria-busy", "false");
  };
  const root = createRoot(place);
  const load = async (): Promise<void> => {
    const answer = await ask<Given>("GET", figure.dataset.diff ?? "");
    if (failed) failed.hidden = answer.is === "ok";
    if (answer.is !== "ok") {
      stands();
      return root.render(null);
    }
    know(answer.said);
    const label = figure.getAttribute("aria-label") ?? "";
    root.render(
      <StrictMode>
        <LineCanvas picture={answer.said} label={label} grows onDrawn={stands} />
      </StrictMode>,
    );
  };
  figure.querySelector("[data-diff-again]")?.addEventListener("click", () => void load());
  await load();
}

each<HTMLElement>("[data-drawing]", (figure) => nearby.observe(figure));
each<HTMLElement>("[data-diff]", (figure) => {
  const place = figure.querySelector("[data-diff-canvas]");
  if (place) void compare(figure, place);
});

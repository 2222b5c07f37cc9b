// The picture of what differs between two documents of a line: drawn as on the canvas, but only to look at. The server
// says what differs; here it is shown, and found by those who choose it in the list beside.
import "../vendor.css";

import { ReactFlowProvider } from "@xyflow/react";
import { StrictMode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { ask } from "../api/door";

import { takeSprite } from "../shell/Icon";
import { type KindOfWork, takeKinds } from "../store/kinds";
import { DiffCanvas, type Picture } from "./DiffCanvas";

interface Given extends Picture {
  icons: string;
  kinds: KindOfWork[];
}

async function load(figure: HTMLElement, root: Root): Promise<void> {
  const failed = figure.querySelector<HTMLElement>("[data-diff-failed]");
  try {
    const answer = await ask<Given>("GET", figure.dataset.diff ?? "");
    if (answer.is !== "ok") throw new Error(answer.is);
    const given = answer.said;
    takeSprite(given.icons);
    takeKinds(given.kinds);
    if (failed) failed.hidden = true;
    root.render(
      <StrictMode>
        <ReactFlowProvider>
          <DiffCanvas picture={given} label={figure.getAttribute("aria-label") ?? ""} />
        </ReactFlowProvider>
      </StrictMode>,
    );
  } catch {
    root.render(null);
    if (failed) failed.hidden = false;
  }
}

for (const figure of document.querySelectorAll<HTMLElement>("[data-diff]")) {
  const place = figure.querySelector("[data-diff-canvas]");
  if (!place) continue;
  place.replaceChildren();
  const root = createRoot(place);
  figure.querySelector("[data-diff-again]")?.addEventListener("click", () => void load(figure, root));
  void load(figure, root);
}

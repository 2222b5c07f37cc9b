import "./vendor.css";

import { ReactFlowProvider } from "@xyflow/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { parse } from "../ts/json";
import { App } from "./App";
import type { Stored } from "./drawing/frames";
import { takeStored } from "./drawing/layouts";
import { togetherOf } from "./saving/together";
import { takeSprite } from "./shell/Icon";
import { Guard } from "./shell/States";
import { canBeDrawn } from "./store/document";
import { type KindOfWork, takeKinds } from "./store/kinds";
import { Editor, type Given } from "./store/store";

interface Page extends Given {
  icons: string;
  kinds: KindOfWork[];
  /** Layout of the draft, if the server has one. */
  stored: Stored | null;
}

const place = document.getElementById("editor");
const page = parse(document.getElementById("editor-data")?.textContent ?? "null") as Page | null;

if (place && page && canBeDrawn(page.document)) {
  takeSprite(page.icons);
  takeKinds(page.kinds);
  takeStored(page.stored);
  const editor = new Editor(page);
  togetherOf(editor).start();
  // What the server wrote there for pages without a canvas; here it is kept up to date.
  document.getElementById("editor-draft")?.remove();
  createRoot(place).render(
    <StrictMode>
      <ReactFlowProvider>
        <Guard code={page.mayEdit ? page.urls.code : undefined}>
          <App editor={editor} mayEdit={page.mayEdit} />
        </Guard>
      </ReactFlowProvider>
    </StrictMode>,
  );
}

import "./vendor.css";

import { ReactFlowProvider } from "@xyflow/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { parse } from "../ts/json";
import { App } from "./App";
import { togetherOf } from "./saving/together";
import { takeSprite } from "./shell/Icon";
import { Guard } from "./shell/States";
import { canBeDrawn } from "./store/document";
import { type KindOfWork, takeKinds } from "./store/kinds";
import { Editor, type Given } from "./store/store";

interface Page extends Given {
  icons: string;
  kinds: KindOfWork[];
}

const place = document.getElementById("editor");
const given = parse(document.getElementById("editor-data")?.textContent ?? "null") as Page | null;

if (place && given && canBeDrawn(given.document)) {
  takeSprite(given.icons);
  takeKinds(given.kinds);
  const editor = new Editor(given);
  togetherOf(editor).start();
  // What the server wrote there for pages without a canvas; here it is kept up to date.
  document.getElementById("editor-draft")?.remove();
  createRoot(place).render(
    <StrictMode>
      <ReactFlowProvider>
        <Guard code={given.mayEdit ? given.urls.code : undefined}>
          <App editor={editor} mayEdit={given.mayEdit} />
        </Guard>
      </ReactFlowProvider>
    </StrictMode>,
  );
}

import { useReactFlow } from "@xyflow/react";
import { useCallback, useEffect, useState } from "react";
import { createPortal } from "react-dom";

import { History, SaveState, SaveTrouble, Zoom } from "./Bar";
import { Canvas } from "./Canvas";
import { clip } from "./commands";
import { Connect } from "./Connect";
import type { AnyNode, RuleEdge } from "./flow";
import { Inspector } from "./Inspector";
import { isClip, pasted, pressed, removeChosen } from "./keys";
import { Palette } from "./Palette";
import { Problems } from "./Problems";
import { type Editor, useEditor } from "./store";
import { say } from "./words";

export function App({ editor, kinds, mayEdit }: { editor: Editor; kinds: readonly string[]; mayEdit: boolean }) {
  const flow = useReactFlow<AnyNode, RuleEdge>();
  const [connecting, setConnecting] = useState(false);
  const { history } = useEditor(editor);
  const fit = useCallback(() => void flow.fitView({ maxZoom: 1, padding: 0.12, duration: 200 }), [flow]);
  const show = useCallback(
    (key: string) => void flow.fitView({ nodes: [{ id: key }], maxZoom: 1, padding: 2, duration: 200 }),
    [flow],
  );

  useEffect(() => {
    const letters = document.documentElement.dataset.letterKeys !== "off";
    const down = (event: KeyboardEvent): void => {
      const openConnect = (): void => setConnecting(true);
      if (pressed(event, { editor, flow, mayEdit, letters, fit, openConnect })) event.preventDefault();
    };
    document.addEventListener("keydown", down);
    const stop = clipboard(editor, mayEdit);
    return () => {
      document.removeEventListener("keydown", down);
      stop();
    };
  }, [editor, flow, mayEdit, fit]);

  const place = document.getElementById("editor-save");
  return (
    <div className="ed">
      {mayEdit ? <Palette editor={editor} kinds={kinds} /> : null}
      <div className="ed-middle">
        <SaveTrouble editor={editor} />
        <div className="ed-canvas">
          <Canvas editor={editor} mayEdit={mayEdit} />
          <div className="ed-corner ed-corner-top">{mayEdit ? <History editor={editor} fit={fit} /> : null}</div>
          <div className="ed-corner ed-corner-bottom">
            <Zoom fit={fit} />
          </div>
          {history.line.stations.length === 0 ? <p className="ed-empty">{say("empty")}</p> : null}
        </div>
        <Problems editor={editor} show={show} />
      </div>
      <Inspector editor={editor} mayEdit={mayEdit} />
      {connecting ? <Connect editor={editor} close={() => setConnecting(false)} /> : null}
      {place ? createPortal(<SaveState editor={editor} />, place) : null}
    </div>
  );
}

/** Stations travel as JSON through the clipboard, so between lines and windows too. */
function clipboard(editor: Editor, mayEdit: boolean): () => void {
  const busy = (): boolean => {
    const active = document.activeElement;
    return active instanceof HTMLInputElement || active instanceof HTMLTextAreaElement;
  };
  const copy = (event: ClipboardEvent): void => {
    if (busy() || window.getSelection()?.toString()) return;
    const taken = clip(editor.line, editor.state.selection.keys);
    if (taken.stations.length === 0) return;
    event.clipboardData?.setData("text/plain", JSON.stringify(taken, null, 2));
    event.preventDefault();
    if (event.type === "cut" && mayEdit) removeChosen(editor);
  };
  const paste = (event: ClipboardEvent): void => {
    if (busy() || !mayEdit) return;
    const found = parsed(event.clipboardData?.getData("text/plain") ?? "");
    if (!isClip(found)) return;
    event.preventDefault();
    pasted(editor, found);
  };
  document.addEventListener("copy", copy);
  document.addEventListener("cut", copy);
  document.addEventListener("paste", paste);
  return () => {
    document.removeEventListener("copy", copy);
    document.removeEventListener("cut", copy);
    document.removeEventListener("paste", paste);
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

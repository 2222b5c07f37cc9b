import { useReactFlow } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { createPortal } from "react-dom";

import { type Desk, type Side } from "./actions";
import { History, SaveState, SaveTrouble, Zoom } from "./Bar";
import { Canvas } from "./Canvas";
import { startClipboard } from "./clipboard";
import { Connect } from "./Connect";
import type { AnyNode, RuleEdge } from "./flow";
import { startKeeping } from "./focus";
import { Inspector } from "./Inspector";
import { startKeys } from "./keys";
import { ContextMenu, type MenuAt, menuAt, menuHere } from "./Menu";
import { startOffers } from "./offers";
import { Palette } from "./Palette";
import { Problems } from "./Problems";
import { Sheet } from "./Sheet";
import { type Editor, useEditor } from "./store";
import { say } from "./words";

export interface Page {
  editor: Editor;
  kinds: readonly string[];
  mayEdit: boolean;
}

export function App({ editor, kinds, mayEdit }: Page) {
  const flow = useReactFlow<AnyNode, RuleEdge>();
  const { history, selection, findings } = useEditor(editor);
  const [panel, setPanel] = useState("");
  const [menu, setMenu] = useState<MenuAt>();
  const [folded, setFolded] = useState<Partial<Record<Side, boolean>>>({});
  const fit = useCallback(() => void flow.fitView({ maxZoom: 1, padding: 0.12, duration: 200 }), [flow]);
  const show = useCallback(
    (key: string) => void flow.fitView({ nodes: [{ id: key }], maxZoom: 1, padding: 2, duration: 200 }),
    [flow],
  );
  const trail = useRef<Desk["trail"]>({});
  const desk = useMemo<Desk>(() => {
    const made: Desk = {
      editor,
      flow,
      mayEdit,
      urls: editor.given.urls,
      fit,
      open: (wanted) => (wanted === "menu" ? setMenu(menuHere(made)) : setPanel(wanted)),
      fold: (side, open) => setFolded((now) => ({ ...now, [side]: open === undefined ? !now[side] : !open })),
      trail: trail.current,
    };
    return made;
  }, [editor, flow, mayEdit, fit]);
  const closeMenu = useCallback(() => setMenu(undefined), []);

  useEffect(() => {
    const asked = (event: MouseEvent): void => {
      const at = menuAt(desk, event);
      if (!at) return;
      event.preventDefault();
      setMenu(at);
    };
    document.addEventListener("contextmenu", asked);
    const stops = [startKeys(desk), startOffers(desk), startClipboard(editor, mayEdit)];
    return () => {
      document.removeEventListener("contextmenu", asked);
      for (const stop of stops) stop();
    };
  }, [desk, editor, mayEdit]);

  const keeping = useRef<ReturnType<typeof startKeeping>>(undefined);
  useEffect(() => {
    keeping.current = startKeeping();
    return keeping.current.stop;
  }, []);
  useEffect(() => keeping.current?.kept(), [history.line, selection, findings]);

  const place = document.getElementById("editor-save");
  return (
    <div className="ed">
      {mayEdit && !folded.palette ? <Palette editor={editor} kinds={kinds} /> : null}
      <div className="ed-middle">
        <SaveTrouble editor={editor} />
        <div className="ed-canvas" tabIndex={-1}>
          <Canvas editor={editor} mayEdit={mayEdit} />
          <div className="ed-corner ed-corner-top">{mayEdit ? <History desk={desk} /> : null}</div>
          <div className="ed-corner ed-corner-bottom">
            <Zoom desk={desk} />
          </div>
          {history.line.stations.length === 0 ? <p className="ed-empty">{say("empty")}</p> : null}
        </div>
        {folded.problems ? null : <Problems {...{ editor, show, mayEdit }} />}
      </div>
      {folded.inspector ? null : <Inspector editor={editor} mayEdit={mayEdit} />}
      {panel === "connect" ? <Connect editor={editor} close={() => setPanel("")} /> : null}
      {menu ? <ContextMenu desk={desk} at={menu} close={closeMenu} /> : null}
      <Sheet mayEdit={mayEdit} />
      {place ? createPortal(<SaveState editor={editor} />, place) : null}
    </div>
  );
}

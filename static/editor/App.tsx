import { useReactFlow } from "@xyflow/react";
import { type CSSProperties, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Arrange, Fold, History, Views, Zoom } from "./canvas/Bar";
import { Canvas, viewOf } from "./canvas/Canvas";
import { Connect } from "./canvas/Connect";
import type { DropPoint } from "./canvas/connecting";
import type { AnyNode, RuleEdge } from "./canvas/flow";
import { gliding } from "./canvas/gliding";
import { Marks } from "./canvas/Marks";
import { Offered } from "./canvas/Offered";
import { CodeView, TextTrouble } from "./code/CodeView";
import { Drawer } from "./inspector/Drawer";
import { Inspector } from "./inspector/Inspector";
import { PastGate } from "./inspector/PastGate";
import { InspectorRail } from "./inspector/Rail";
import { arrive } from "./saving/arriving";
import { Import } from "./saving/Import";
import { startDrops } from "./saving/importing";
import { Notice } from "./saving/People";
import { SaveTrouble } from "./saving/Saved";
import { startClipboard } from "./shell/clipboard";
import type { Desk } from "./shell/desk";
import { bringIntoView } from "./shell/focus";
import { startKeeping } from "./shell/keeping";
import { startKeys } from "./shell/keys";
import { ContextMenu, type MenuAt, menuAt, menuHere } from "./shell/Menu";
import { Outline } from "./shell/Outline";
import { startOffers } from "./shell/offers";
import { Palette, useDrops } from "./shell/Palette";
import { Resizer } from "./shell/Resizer";
import { Sheet } from "./shell/Sheet";
import { Empty, ReadOnly } from "./shell/States";
import { type Side, useMedia, useNarrow, useSides } from "./shell/sides";
import { TopBar } from "./shell/TopBar";
import { useView, VIEWS, type View, WIDE } from "./shell/view";
import { stationOf } from "./store/document";
import { type Editor, useEditor } from "./store/store";
import { testOf, useTest } from "./testmode/session";
import { TestLayer } from "./testmode/TestLayer";
import { TestPanel } from "./testmode/TestPanel";

export interface Page {
  editor: Editor;
  mayEdit: boolean;
}

export function App({ editor, mayEdit }: Page) {
  const flow = useReactFlow<AnyNode, RuleEdge>();
  const { history, selection, asked } = useEditor(editor);
  const { open: testing, brought } = useTest(editor);
  const [panel, setPanel] = useState("");
  const [dropped, setDropped] = useState<DropPoint>();
  const [menu, setMenu] = useState<MenuAt>();
  const [form, setForm] = useState(false);
  const sides = useSides();
  const narrow = useNarrow();
  const wide = useMedia(WIDE);
  const [view, setView] = useView();
  const fit = useCallback(() => {
    const { clientWidth: width = 0, clientHeight: height = 0 } = document.querySelector(".ed-flow") ?? {};
    // Beside the code alone there is no canvas: without a size it would get a view of no numbers.
    if (width === 0 || height === 0) return;
    const { history: now, findings: said } = editor.state;
    void flow.setViewport(viewOf(now.line, said, { width, height }), { duration: gliding() });
  }, [editor, flow]);
  const show = useCallback(
    (key: string) => void flow.fitView({ nodes: [{ id: key }], maxZoom: 1, padding: 2, duration: gliding() }),
    [flow],
  );
  const { fold: foldSide } = sides;
  const fold = useCallback(
    (side: Side, open?: boolean) => {
      if (side === "inspector" && narrow) setForm((now) => open ?? !now);
      else foldSide(side, open);
    },
    [foldSide, narrow],
  );
  /** Problems below the canvas are shown where they are put right: on the canvas, and in the settings. */
  const showPlace = useCallback(
    (key: string) => {
      if (!narrow) foldSide("inspector", true);
      if (key !== "") show(key);
    },
    [foldSide, narrow, show],
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
      openMenu: setMenu,
      fold,
      view,
      setView,
      trail: trail.current,
    };
    return made;
  }, [editor, flow, mayEdit, fit, fold, view, setView]);
  const openTargets = useCallback(
    (station: string, at?: DropPoint) => {
      editor.select({ keys: [station] });
      setDropped(at);
      setPanel("connect");
    },
    [editor],
  );
  const lastView = useRef(view);
  useEffect(() => {
    if (lastView.current === view) return undefined;
    lastView.current = view;
    // The canvas has another width now, which it learns after it was drawn.
    const later = window.setTimeout(fit, 100);
    return () => window.clearTimeout(later);
  }, [view, fit]);
  const closeConnect = useCallback(() => {
    setPanel("");
    setDropped(undefined);
  }, []);
  const closeMenu = useCallback(() => setMenu(undefined), []);

  useEffect(() => {
    const onSimulate = (event: MouseEvent): void => {
      const at = menuAt(desk, event);
      if (!at) return;
      event.preventDefault();
      setMenu(at);
    };
    document.addEventListener("contextmenu", onSimulate);
    const stops = [startKeys(desk), startOffers(desk), startClipboard(desk), startDrops(desk)];
    return () => {
      document.removeEventListener("contextmenu", onSimulate);
      for (const stop of stops) stop();
    };
  }, [desk]);

  useEffect(() => arrive(editor, show), [editor, show]);

  const broughtBefore = useRef(0);
  // At once, before the focus that goes with the form is brought back to somewhere else.
  useLayoutEffect(() => {
    if (brought === broughtBefore.current) return;
    if (form) return setForm(false);
    broughtBefore.current = brought;
    document.getElementById("ed-test-title")?.focus();
  }, [brought, form]);

  const wasTesting = useRef(testing);
  useEffect(() => {
    if (wasTesting.current !== testing) window.setTimeout(fit, 50);
    wasTesting.current = testing;
  }, [testing, fit]);

  // What was just put on the canvas is seen, wherever the layout gave it its place.
  const known = useRef(history.line);
  useEffect(() => {
    const before = new Set(known.current.stations.map((each) => each.key));
    known.current = history.line;
    const [first] = selection.keys;
    if (first !== undefined && !before.has(first) && stationOf(history.line, first)) {
      requestAnimationFrame(() => bringIntoView(editor, flow, { kind: "node", id: first }));
    }
  }, [history.line, selection.keys, editor, flow]);

  useEffect(() => startKeeping(editor), [editor]);

  const naming = asked?.naming;
  useEffect(() => {
    if (naming && !narrow) foldSide("inspector", true);
  }, [naming, narrow, foldSide]);

  // A test without anything chosen leaves its room to the canvas.
  const nothing = selection.keys.length === 0 && !selection.gate && !selection.part;
  const showsTests = testing && !nothing;
  useEffect(() => {
    if (!showsTests) return undefined;
    // The settings took room from the canvas: the test still stands in view.
    const later = window.setTimeout(() => {
      const here = testOf(editor).state.walked?.tokens.find((each) => !each.over)?.station;
      if (here) bringIntoView(editor, flow, { kind: "node", id: here });
    }, 100);
    return () => window.clearTimeout(later);
  }, [showsTests, editor, flow]);
  const drops = useDrops(editor);
  const empty = history.line.stations.length === 0;
  const picture = (
    <div className="ed-canvas" tabIndex={-1} {...drops}>
      <Canvas editor={editor} mayEdit={mayEdit && !narrow} openTargets={openTargets} />
      <Marks editor={editor} />
      <Notice editor={editor} />
      {narrow ? null : (
        <>
          <div className="ed-corner ed-corner-top">
            {mayEdit && !testing ? <Fold side="palette" desk={desk} open={!sides.folded.palette} /> : null}
            {mayEdit ? <History desk={desk} /> : null}
            {mayEdit ? <Arrange desk={desk} /> : null}
          </div>
          <div className="ed-corner ed-corner-end">
            {view === "form" ? <Views desk={desk} /> : null}
            {view === "form" || wide ? <Fold side="inspector" desk={desk} open={!sides.folded.inspector} /> : null}
          </div>
          <div className="ed-corner ed-corner-bottom">
            <Zoom desk={desk} />
          </div>
        </>
      )}
      {empty ? <Empty desk={desk} /> : null}
    </div>
  );
  const problems = (
    <Drawer
      {...{ editor, mayEdit, narrow }}
      show={showPlace}
      open={!sides.folded.problems}
      fold={() => fold("problems")}
    />
  );
  const inspector = <Inspector editor={editor} mayEdit={mayEdit} />;
  const palette = <Palette editor={editor} rail={!narrow && sides.folded.palette === true} />;
  const switchView = useCallback(() => setView(nextView(view, narrow)), [setView, view, narrow]);
  const code = (
    <div className="ed-code-side">
      <div className="ed-views-bar">
        <Views desk={desk} />
      </div>
      <CodeView {...{ editor, mayEdit, switchView }} />
    </div>
  );
  const trouble = (
    <>
      {mayEdit ? <PastGate editor={editor} /> : <ReadOnly />}
      <SaveTrouble editor={editor} />
      <TextTrouble editor={editor} show={() => setView(view === "form" ? (narrow ? "code" : "both") : view)} />
    </>
  );
  const drawn = narrow || view !== "code";
  return (
    <div className="ed" style={sizes(sides.size)}>
      {narrow && view === "code" ? (
        <div className="ed-middle">
          {trouble}
          {code}
          {problems}
        </div>
      ) : narrow ? (
        <div className="ed-middle">
          {trouble}
          <div className="ed-views-bar">
            <Views desk={desk} narrow />
          </div>
          {testing && !form ? (
            <>
              {picture}
              <TestPanel desk={desk} />
            </>
          ) : (
            <Outline {...{ desk, picture, problems, palette }} form={inspector} open={form} setOpen={setForm} />
          )}
        </div>
      ) : (
        <>
          {testing ? (
            <TestPanel desk={desk} />
          ) : mayEdit && drawn ? (
            <>
              {palette}
              {sides.folded.palette ? null : <Resizer side="palette" sides={sides} of=".ed-palette" />}
            </>
          ) : null}
          <div className="ed-middle">
            {trouble}
            <div className="ed-stage" data-view={view}>
              {picture}
              {view === "form" ? null : code}
            </div>
            {sides.folded.problems ? null : <Resizer side="problems" sides={sides} of=".ed-drawer-list" />}
            {problems}
          </div>
          {(testing && nothing) || view === "code" || (view === "both" && !wide) ? null : sides.folded.inspector ? (
            <InspectorRail desk={desk} />
          ) : (
            <>
              <Resizer side="inspector" sides={sides} of=".ed-inspector" />
              {inspector}
            </>
          )}
        </>
      )}
      {panel === "connect" ? <Connect editor={editor} close={closeConnect} dropped={dropped} /> : null}
      <Offered editor={editor} />
      {menu ? <ContextMenu desk={desk} at={menu} close={closeMenu} /> : null}
      <Import desk={desk} />
      <TestLayer editor={editor} />
      <Sheet mayEdit={mayEdit} />
      <TopBar desk={desk} />
    </div>
  );
}

/** Beside each other there is no room for both on a small screen. */
function nextView(view: View, narrow: boolean): View {
  if (narrow) return view === "code" ? "form" : "code";
  return VIEWS[(VIEWS.indexOf(view) + 1) % VIEWS.length] ?? "form";
}

/** The sizes that a person chose, in place of the style sheet's. */
function sizes(chosen: Partial<Record<Side, number>>): CSSProperties {
  return Object.fromEntries(Object.entries(chosen).map(([side, size]) => [`--${side}`, `${size}px`]));
}

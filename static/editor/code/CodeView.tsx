import { lazy, Suspense, useCallback, useEffect, useState } from "react";

import { backToCanvas } from "../focus";
import { Icon } from "../Icon";
import { type Editor, useEditor } from "../store";
import { say } from "../words";

const Pane = lazy(() => import("./Pane"));

/** The text of the line; its editor comes with the first look at it. */
export function CodeView({ editor, mayEdit, switchView }: { editor: Editor; mayEdit: boolean; switchView(): void }) {
  const { text } = useEditor(editor);
  const leave = useCallback(() => backToCanvas(editor), [editor]);
  useEffect(() => {
    if (text.text === undefined) void editor.text.open();
  }, [editor, text.text]);
  const waiting = <p className="ed-code-waiting muted">{say("loadingText")}</p>;
  return (
    <section className="ed-code" aria-label={say("textOf")}>
      {text.text === undefined ? waiting : <Suspense fallback={waiting}><Pane {...{ editor, mayEdit, leave, switchView }} /></Suspense>}
    </section>
  );
}

const A_WHILE = 1200;

/** Half a word is no trouble worth moving the page for: whether something has been so for a while. */
function useLasting(now: boolean): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    if (!now) return setLasts(false);
    const later = window.setTimeout(() => setLasts(true), A_WHILE);
    return () => window.clearTimeout(later);
  }, [now]);
  return lasts;
}

/** The text is ahead of the canvas, because nobody can read it yet. */
export function TextTrouble({ editor, show }: { editor: Editor; show(): void }) {
  const { text } = useEditor(editor);
  const lasts = useLasting(text.fault !== undefined);
  if (!text.fault || !lasts) return null;
  const go = (): void => {
    show();
    editor.text.seekFault();
  };
  return (
    <div className="banner banner-attention" role="alert">
      <Icon name="warning" />
      <p className="grow">{say("textBehind", String(text.fault.line), text.fault.message)}</p>
      <button type="button" className="button button-small" onClick={go}>
        {say("goThere")}
      </button>
      <button type="button" className="button button-small button-quiet" onClick={() => void editor.text.giveUp()}>
        {say("giveUpText")}
      </button>
    </div>
  );
}

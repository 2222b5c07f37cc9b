import { useCallback, useEffect, useState } from "react";

import { backToCanvas } from "../shell/focus";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type Editor, useEditor } from "../store/store";

type PaneView = typeof import("./Pane").default;

const AGAIN = 2000;

let loaded: PaneView | undefined;

/** The text's editor, loaded with the first look at it; and whether it cannot be loaded now, which is tried again for as
 * long as somebody looks. `lazy` would keep the failure for the life of the page. */
function usePane(): [PaneView | undefined, boolean] {
  const [pane, setPane] = useState(() => loaded);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let [gone, timer] = [false, 0];
    const load = async (): Promise<void> => {
      try {
        loaded ??= (await import("./Pane")).default;
        if (!gone) setPane(() => loaded);
      } catch {
        if (gone) return;
        setFailed(true);
        timer = window.setTimeout(() => void load(), AGAIN);
      }
    };
    void load();
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
  }, []);
  return [pane, failed && !pane];
}

/** The text of the line; its editor comes with the first look at it. */
export function CodeView({ editor, mayEdit, switchView }: { editor: Editor; mayEdit: boolean; switchView(): void }) {
  const { text } = useEditor(editor);
  const [Pane, failed] = usePane();
  const leave = useCallback(() => backToCanvas(editor), [editor]);
  useEffect(() => {
    if (text.text === undefined) void editor.text.open();
  }, [editor, text.text]);
  return (
    <section className="ed-code" aria-label={say("textOf")}>
      {Pane && text.text !== undefined ? (
        <Pane {...{ editor, mayEdit, leave, switchView }} />
      ) : (
        <p className="ed-code-waiting muted" role="status">
          {say(failed ? "textNotLoaded" : "loadingText")}
        </p>
      )}
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

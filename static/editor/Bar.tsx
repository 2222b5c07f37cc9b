import { useViewport } from "@xyflow/react";

import { action, type Desk, possible } from "./actions";
import type { Json } from "./document";
import { Icon } from "./Icon";
import { shown } from "./keystrokes";
import type { Clash, Saving } from "./saving";
import { type Editor, useEditor } from "./store";
import { say } from "./words";

/** Tools are actions of the table: their names, keys and when they can be done stand there. */
function Tools({ label, ids, desk }: { label: string; ids: string[]; desk: Desk }) {
  return (
    <div className="ed-tools" role="group" aria-label={label}>
      {ids.map(action).map((each) => (
        <button
          key={each.id}
          type="button"
          className="button button-quiet button-icon"
          aria-label={say(each.word)}
          title={each.keys[0] ? `${say(each.word)} (${shown(each.keys[0])})` : say(each.word)}
          disabled={!possible(each, desk)}
          onClick={() => each.run(desk)}
        >
          <Icon name={each.icon ?? "dot"} />
        </button>
      ))}
    </div>
  );
}

export function History({ desk }: { desk: Desk }) {
  useEditor(desk.editor);
  return <Tools label={say("changes")} ids={["undo", "redo", "tidy"]} desk={desk} />;
}

export function Zoom({ desk }: { desk: Desk }) {
  const { zoom } = useViewport();
  return (
    <div className="ed-zoom">
      <Tools label={say("zoomOut")} ids={["zoomOut"]} desk={desk} />
      <output className="small">{Math.round(zoom * 100)} %</output>
      <Tools label={say("zoomIn")} ids={["zoomIn", "fit"]} desk={desk} />
    </div>
  );
}

/** Shows or hides a side of the page. */
export function Fold({ side, desk, open }: { side: "palette" | "inspector"; desk: Desk; open: boolean }) {
  const each = action(side === "palette" ? "togglePalette" : "toggleInspector");
  const name = say(`${open ? "hide" : "show"}${side === "palette" ? "Palette" : "Inspector"}`);
  return (
    <div className="ed-tools">
      <button
        type="button"
        className="button button-quiet button-icon"
        aria-label={name}
        aria-expanded={open}
        title={`${name} (${shown(each.keys[0] ?? "")})`}
        onClick={() => each.run(desk)}
      >
        <Icon name={side === "palette" ? "rail" : "rail-end"} />
      </button>
    </div>
  );
}

/** The same line, drawn or written. */
export function Views({ desk }: { desk: Desk }) {
  if (!desk.mayEdit) return null;
  return (
    <div className="segments ed-views" role="group" aria-label={say("view")}>
      <span className="segment" aria-current="page">
        {say("formView")}
      </span>
      <a className="segment" href={desk.urls.code}>
        {say("codeView")}
      </a>
    </div>
  );
}

export function SaveState({ editor }: { editor: Editor }) {
  const { saving } = useEditor(editor);
  const icon = { saved: "check", waiting: "retry", saving: "retry", failed: "offline", refused: "danger", conflict: "actor-people" }[saving.state];
  return (
    <span className="ed-save small muted" data-state={saving.state} role="status">
      <Icon name={icon} size={14} /> {wordsOf(saving)}
    </span>
  );
}

function wordsOf(saving: Saving): string {
  if (saving.state === "saved") return say("saved");
  if (saving.state === "waiting" || saving.state === "saving") return say("saving");
  return say("notSaved");
}

/** What keeps the draft from being stored, with a way on. Nothing typed is lost meanwhile. */
export function SaveTrouble({ editor }: { editor: Editor }) {
  const { saving } = useEditor(editor);
  if (saving.state === "failed") {
    return (
      <div className="banner banner-attention" role="alert">
        <Icon name="offline" />
        <p className="grow">{say("saveFailed")}</p>
        <button type="button" className="button button-small" onClick={() => editor.retry()}>
          {say("retry")}
        </button>
      </div>
    );
  }
  if (saving.state === "refused") {
    return (
      <div className="banner banner-danger" role="alert">
        <Icon name="danger" />
        <p className="grow">{say("saveRefused", saving.why)}</p>
      </div>
    );
  }
  if (saving.state === "conflict") return <Conflict editor={editor} by={saving.by} clashes={saving.clashes} />;
  return null;
}

/** The places that two people changed at once, side by side. Everything else of both is kept whatever is chosen. */
function Conflict({ editor, by, clashes }: { editor: Editor; by: string; clashes: Clash[] }) {
  return (
    <section className="ed-conflict" role="alert" aria-label={say("conflictTitle")}>
      <header className="row">
        <Icon name="actor-people" />
        <p className="grow">{say("conflict", by || say("somebody"))}</p>
        <button type="button" className="button button-small" onClick={() => editor.settle("theirs")}>
          {say("takeTheirs")}
        </button>
        <button type="button" className="button button-small" onClick={() => editor.settle("mine")}>
          {say("keepMine")}
        </button>
      </header>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{say("place")}</th>
            <th scope="col">{say("theirs")}</th>
            <th scope="col">{say("mine")}</th>
          </tr>
        </thead>
        <tbody>
          {clashes.map((clash) => (
            <tr key={clash.path}>
              <td>
                <code>{clash.path}</code>
              </td>
              <td>{valued(clash.theirs)}</td>
              <td>{valued(clash.mine)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function valued(value: Json) {
  return value === null ? <span className="muted">{say("notThere")}</span> : <code>{JSON.stringify(value)}</code>;
}

import { useReactFlow, useViewport } from "@xyflow/react";

import * as commands from "./commands";
import type { Json } from "./document";
import { Icon } from "./Icon";
import type { Clash, Saving } from "./saving";
import { type Editor, useEditor } from "./store";
import { say } from "./words";

interface Tool {
  icon: string;
  name: string;
  keys: string;
  off?: boolean;
  run(): void;
}

function Tools({ label, tools }: { label: string; tools: Tool[] }) {
  return (
    <div className="ed-tools" role="group" aria-label={label}>
      {tools.map((tool) => (
        <button
          key={tool.name}
          type="button"
          className="button button-quiet button-icon"
          aria-label={tool.name}
          title={`${tool.name} (${tool.keys})`}
          disabled={tool.off}
          onClick={tool.run}
        >
          <Icon name={tool.icon} />
        </button>
      ))}
    </div>
  );
}

export function History({ editor, fit }: { editor: Editor; fit(): void }) {
  const { history } = useEditor(editor);
  const tidy = (): void => {
    editor.run(commands.tidy());
    window.setTimeout(fit, 50);
  };
  return (
    <Tools
      label={say("changes")}
      tools={[
        { icon: "undo", name: say("undo"), keys: "Ctrl+Z", off: history.done.length === 0, run: () => editor.undo() },
        { icon: "redo", name: say("redo"), keys: "Ctrl+Shift+Z", off: history.undone.length === 0, run: () => editor.redo() },
        { icon: "tidy", name: say("tidy"), keys: "Shift+Alt+T", run: tidy },
      ]}
    />
  );
}

export function Zoom({ fit }: { fit(): void }) {
  const flow = useReactFlow();
  const { zoom } = useViewport();
  return (
    <div className="ed-zoom">
      <Tools label={say("zoomOut")} tools={[{ icon: "minus", name: say("zoomOut"), keys: "-", run: () => void flow.zoomOut() }]} />
      <output className="small">{Math.round(zoom * 100)} %</output>
      <Tools
        label={say("zoomIn")}
        tools={[
          { icon: "plus", name: say("zoomIn"), keys: "+", run: () => void flow.zoomIn() },
          { icon: "fit", name: say("fit"), keys: "1", run: fit },
        ]}
      />
    </div>
  );
}

export function SaveState({ editor }: { editor: Editor }) {
  const { saving } = useEditor(editor);
  return (
    <span className="ed-save small muted" data-state={saving.state} role="status">
      {wordsOf(saving)}
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
              <td>{shown(clash.theirs)}</td>
              <td>{shown(clash.mine)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function shown(value: Json) {
  return value === null ? <span className="muted">{say("notThere")}</span> : <code>{JSON.stringify(value)}</code>;
}

import { useEffect, useState } from "react";

import * as commands from "./commands";
import { kindOf, nameOf, startOf, type Station, stationOf } from "./document";
import { Icon } from "./Icon";
import { Rules } from "./Rules";
import { type Editor, useEditor } from "./store";
import { say } from "./words";

/** What is chosen on the canvas, with its rules. */
export function Inspector({ editor, mayEdit }: { editor: Editor; mayEdit: boolean }) {
  const { history, selection, findings } = useEditor(editor);
  const line = history.line;
  const station = selection.keys.length === 1 ? stationOf(line, selection.keys[0] ?? "") : undefined;
  if (!station) return null;
  const visits = findings.visits[station.key];
  return (
    <aside className="ed-inspector" aria-label={say("inspector", nameOf(station))}>
      <header className="ed-inspector-head">
        <span className="ed-palette-shape">
          <Icon name={`station-${kindOf(station)}`} />
        </span>
        <div className="grow">
          <Name key={station.key} editor={editor} station={station} mayEdit={mayEdit} />
          <p className="muted small">
            {say(`kind_${kindOf(station)}` as "kind_other")} · <code>{station.key}</code>
          </p>
        </div>
        <button type="button" className="button button-quiet button-icon" aria-label={say("close")} title={say("close")} onClick={() => editor.select({ keys: [] })}>
          <Icon name="x" />
        </button>
      </header>
      <Rules {...{ editor, line, station, findings, mayEdit }} chosen={selection.rule} />
      <footer className="ed-inspector-foot">
        {visits !== undefined ? <p className="muted small">{say("visits", String(visits))}</p> : null}
        {mayEdit && startOf(line) !== station.key ? (
          <button type="button" className="button button-small" onClick={() => editor.run(commands.startAt(station.key))}>
            <Icon name="run" size={14} /> <span>{say("startHere")}</span>
          </button>
        ) : null}
        {mayEdit ? (
          <button type="button" className="button button-small" onClick={() => editor.run(commands.remove([station.key]))}>
            <Icon name="delete" size={14} /> <span>{say("deleteStation")}</span>
          </button>
        ) : null}
      </footer>
    </aside>
  );
}

function Name({ editor, station, mayEdit }: { editor: Editor; station: Station; mayEdit: boolean }) {
  const [typed, setTyped] = useState(nameOf(station));
  useEffect(() => setTyped(nameOf(station)), [station]);
  const keep = (): void => {
    const name = typed.trim();
    if (name && name !== nameOf(station)) editor.run(commands.renameStation(station.key, name));
    else setTyped(nameOf(station));
  };
  return (
    <input
      id="ed-name"
      className="input ed-name-input"
      aria-label={say("name")}
      value={typed}
      maxLength={200}
      readOnly={!mayEdit}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={keep}
      onKeyDown={(event) => {
        if (event.key === "Enter") event.currentTarget.blur();
        if (event.key === "Escape") {
          setTyped(nameOf(station));
          event.stopPropagation();
        }
      }}
    />
  );
}

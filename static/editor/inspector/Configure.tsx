import { GateForm } from "../gates/Gates";
import { removeChosen } from "../shell/clipboard";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import * as commands from "../store/commands";
import { ALWAYS_ENDS, type End, type LineDocument, type Station, startOf, stationOf } from "../store/document";
import { partName } from "../store/names";
import { noteKey, notesOf } from "../store/notes";
import { ServerForm } from "./ServerForm";
import { severalSubject } from "./several";
import { endSubject, inputsSubject, lineSubject, stationSubject } from "./subjects";
import type { TabProps } from "./tab";

/** The form of what is chosen. */
export function Configure({ chosen, ...rest }: TabProps) {
  switch (chosen.what) {
    case "station":
      return (
        <>
          <ServerForm editor={rest.editor} subject={stationSubject(chosen.station.key)} />
          <StationFoot station={chosen.station} {...rest} />
        </>
      );
    case "gate":
      return <GateForm gate={chosen.gate} {...rest} />;
    case "end":
      return (
        <>
          <ServerForm editor={rest.editor} subject={endSubject(chosen.end.key)} />
          <EndFoot end={chosen.end} {...rest} />
        </>
      );
    case "line":
      return <ServerForm editor={rest.editor} subject={lineSubject()} />;
    default:
      return <Several keys={chosen.keys} {...rest} />;
  }
}

/** What is set at all of them at once, and what else can be done with them. */
function Several({ editor, line, keys, mayEdit }: Omit<TabProps, "chosen"> & { keys: readonly string[] }) {
  const stations = keys.filter((key) => stationOf(line, key));
  const isOnlyStations = stations.length === keys.length;
  return (
    <>
      <div className="ed-several">
        <p>{keys.map((key) => noteOf(line, key) ?? partName(line, key)).join(", ")}</p>
        <p className="muted small">{say(isOnlyStations ? "setAtAll" : "onlySome")}</p>
      </div>
      {isOnlyStations ? <ServerForm editor={editor} subject={severalSubject(stations, editor.given.common)} /> : null}
      {mayEdit ? (
        <footer className="ed-inspector-foot">
          <button type="button" className="button button-small" onClick={() => removeChosen(editor)}>
            <Icon name="delete" size={14} /> <span>{say("deleteSeveral", String(keys.length))}</span>
          </button>
        </footer>
      ) : null}
    </>
  );
}

const noteOf = (line: LineDocument, key: string): string | undefined =>
  noteKey(key) === undefined ? undefined : notesOf(line).find((note) => note.key === noteKey(key))?.text || say("note");

/** The fields of the form that starts a task, and that form as people will see it. */
export function InputsTab({ editor }: TabProps) {
  return <ServerForm editor={editor} subject={inputsSubject()} />;
}

function StationFoot({ editor, line, findings, station, mayEdit }: Omit<TabProps, "chosen"> & { station: Station }) {
  const visits = findings.visits[station.key];
  return (
    <footer className="ed-inspector-foot">
      {visits !== undefined ? <p className="muted small">{say("visits", String(visits))}</p> : null}
      {mayEdit && startOf(line) !== station.key ? (
        <button type="button" className="button button-small" onClick={() => editor.run(commands.startAt(station.key))}>
          <Icon name="run" size={14} /> <span>{say("startHere")}</span>
        </button>
      ) : null}
      {mayEdit ? (
        <button
          type="button"
          className="button button-small"
          onClick={() => editor.run(commands.remove([station.key]), { keys: [] })}
        >
          <Icon name="delete" size={14} /> <span>{say("deleteStation")}</span>
        </button>
      ) : null}
    </footer>
  );
}

function EndFoot({ editor, end, mayEdit }: Omit<TabProps, "chosen"> & { end: End }) {
  if (!mayEdit || ALWAYS_ENDS.some((each) => each.key === end.key)) return null;
  return (
    <footer className="ed-inspector-foot">
      <button
        type="button"
        className="button button-small"
        onClick={() => editor.run(commands.remove([end.key]), { keys: [] })}
      >
        <Icon name="delete" size={14} /> <span>{say("deleteEnd")}</span>
      </button>
    </footer>
  );
}

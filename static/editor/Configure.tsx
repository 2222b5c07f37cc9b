import * as commands from "./commands";
import { startOf, type Station } from "./document";
import { Icon } from "./Icon";
import { ServerForm } from "./ServerForm";
import { stationSubject } from "./subjects";
import type { TabProps } from "./tabs";
import { say } from "./words";

export function Configure({ chosen, ...rest }: TabProps) {
  if (chosen.what !== "station") return null;
  return (
    <>
      <ServerForm editor={rest.editor} subject={stationSubject(chosen.station.key)} />
      <StationFoot station={chosen.station} {...rest} />
    </>
  );
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
          onClick={() => {
            editor.run(commands.remove([station.key]));
            editor.select({ keys: [] });
          }}
        >
          <Icon name="delete" size={14} /> <span>{say("deleteStation")}</span>
        </button>
      ) : null}
    </footer>
  );
}

import { useViewport } from "@xyflow/react";
import { action, possible } from "../shell/actions";
import { ARRANGE, movable } from "../shell/actions-canvas";
import type { Desk } from "../shell/desk";
import { Icon } from "../shell/Icon";
import { shown } from "../shell/keystrokes";
import { VIEWS, type View } from "../shell/view";
import { say } from "../shell/words";
import { useEditor } from "../store/store";

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

/** Only while there is something to set in line. */
export function Arrange({ desk }: { desk: Desk }) {
  useEditor(desk.editor);
  if (movable(desk).length < 2) return null;
  return <Tools label={say("arrange")} ids={[...ARRANGE.map((each) => each.id), "group"]} desk={desk} />;
}

export function Zoom({ desk }: { desk: Desk }) {
  const { zoom } = useViewport();
  return (
    <div className="ed-zoom">
      <Tools label={say("zoomOut")} ids={["zoomOut"]} desk={desk} />
      <output className="small">{Math.round(zoom * 100)}%</output>
      <Tools label={say("zoomIn")} ids={["zoomIn", "fit"]} desk={desk} />
    </div>
  );
}

/** Shows or hides a side of the page. */
export function Fold({ side, desk, open }: { side: "palette" | "inspector"; desk: Desk; open: boolean }) {
  const toggle = action(side === "palette" ? "togglePalette" : "toggleInspector");
  const name = say(`${open ? "hide" : "show"}${side === "palette" ? "Palette" : "Inspector"}`);
  return (
    <div className="ed-tools">
      <button
        type="button"
        className="button button-quiet button-icon"
        aria-label={name}
        aria-expanded={open}
        title={`${name} (${shown(toggle.keys[0] ?? "")})`}
        onClick={() => toggle.run(desk)}
      >
        <Icon name={side === "palette" ? "rail" : "rail-end"} />
      </button>
    </div>
  );
}

/** The same line, drawn or written, or both beside each other. */
export function Views({ desk, narrow = false }: { desk: Desk; narrow?: boolean }) {
  const names: Record<View, string> = { form: say("formView"), both: say("bothViews"), code: say("codeView") };
  const keys = action("code").keys[0];
  return (
    <div
      className="segments ed-views"
      role="group"
      aria-label={say("switchView")}
      title={keys ? `${say("switchView")} (${shown(keys)})` : undefined}
    >
      {VIEWS.filter((view) => !narrow || view !== "both").map((view) => (
        <button
          key={view}
          type="button"
          className="segment"
          aria-pressed={view === desk.view || (narrow && view === "form" && desk.view === "both")}
          onClick={() => desk.setView(view)}
        >
          {names[view]}
        </button>
      ))}
    </div>
  );
}

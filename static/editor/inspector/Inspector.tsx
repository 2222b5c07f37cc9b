import { type KeyboardEvent, useDeferredValue, useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { backToCanvas } from "../shell/focus";
import { Icon } from "../shell/Icon";
import { turn } from "../shell/keystrokes";
import { say } from "../shell/words";
import { kindOf, type LineDocument, nameOf, type Station } from "../store/document";
import { rename } from "../store/following";
import { kindIcon, kindName } from "../store/kinds";
import { endName } from "../store/names";
import { type Editor, useEditor } from "../store/store";
import type { Chosen, Tab } from "./tab";
import { chosenOf, TABS } from "./tabs";

/** What is chosen on the canvas; the line itself, where nothing is. */
export function Inspector({ editor, mayEdit }: { editor: Editor; mayEdit: boolean }) {
  const { history, selection, findings, asked } = useEditor(editor);
  const line = history.line;
  const chosen = chosenOf(line, selection);
  const [wanted, setWanted] = useState("rules");
  useEffect(() => {
    if (selection.rule) setWanted("rules");
  }, [selection.rule]);
  useEffect(() => {
    if (!selection.part) return;
    setFresh(undefined);
    setWanted(selection.part);
  }, [selection]);
  // What was just made opens on its form; the others stay on the tab that somebody chose.
  const [fresh, setFresh] = useState<string>();
  useEffect(() => {
    setFresh(asked?.opened);
    if (asked && asked.opened === undefined) setWanted(asked.tab);
  }, [asked]);
  const choose = (id: string): void => {
    setFresh(undefined);
    setWanted(id);
  };
  const tabs = TABS.filter((tab) => tab.shows(chosen));
  const isFresh = chosen.what === "station" && chosen.rule === undefined && chosen.station.key === fresh;
  const selectedTab = tabs.find((each) => each.id === (isFresh ? "configure" : wanted));
  // Inputs and gates are parts of the line's settings.
  const tab = selectedTab ?? tabs.find((each) => each.id === "settings") ?? tabs[0];
  // Of a page that opens the canvas comes first.
  const filled = useDeferredValue(true, false);
  return (
    <aside className="ed-inspector" aria-label={say("inspector", titleOf(chosen, line))}>
      <header className="ed-inspector-head">
        <Head {...{ editor, line, chosen, mayEdit }} />
        {chosen.what === "line" ? null : (
          <button
            type="button"
            className="button button-quiet button-icon"
            aria-label={say("close")}
            title={say("close")}
            onClick={() => editor.select({ keys: [] })}
          >
            <Icon name="x" />
          </button>
        )}
      </header>
      {tab ? (
        <>
          <TabList {...{ editor, shown: tabs, chosen, line }} current={tab} onChoose={choose} />
          <div className="ed-tab-panel" role="tabpanel" id="ed-tab-panel" aria-labelledby={`ed-tab-${tab.id}`}>
            {filled ? <tab.component {...{ editor, line, findings, chosen, mayEdit }} /> : null}
          </div>
        </>
      ) : null}
    </aside>
  );
}

interface Tabs {
  editor: Editor;
  shown: readonly Tab[];
  current: Tab;
  chosen: Chosen;
  line: LineDocument;
  onChoose(id: string): void;
}

/** One stop for the Tab key; the arrows go from tab to tab. */
function TabList({ editor, shown, current, chosen, line, onChoose }: Tabs) {
  const go = (event: KeyboardEvent): void => {
    const at = shown.indexOf(current);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: shown.length - 1 }[event.key];
    const next = to === undefined ? undefined : shown.at(to % shown.length);
    if (!next) return;
    event.preventDefault();
    onChoose(next.id);
    document.getElementById(`ed-tab-${next.id}`)?.focus();
  };
  return (
    <div className="tabs ed-tabs" role="tablist" aria-label={say("inspectorTabs")} onKeyDown={go}>
      {shown.map((tab) => (
        <button
          key={tab.id}
          id={`ed-tab-${tab.id}`}
          type="button"
          role="tab"
          className="tab ed-tab"
          aria-selected={tab === current}
          aria-controls="ed-tab-panel"
          tabIndex={tab === current ? 0 : -1}
          onClick={() => onChoose(tab.id)}
        >
          {say(tab.word)}
          {tab.count ? <span className="muted">{tab.count(chosen, line)}</span> : null}
          {tab.badge ? <tab.badge {...{ editor, line, chosen }} /> : null}
        </button>
      ))}
    </div>
  );
}

const lineName = (line: LineDocument): string => String(line.name || line.key || say("line"));

function titleOf(chosen: Chosen, line: LineDocument): string {
  switch (chosen.what) {
    case "station":
      return nameOf(chosen.station);
    case "gate":
      return chosen.gate.name || chosen.gate.key;
    case "end":
      return endName(chosen.end.label || chosen.end.key);
    case "several":
      return say("several", String(chosen.keys.length));
    default:
      return lineName(line);
  }
}

/** Icon, name, and what kind of thing it is. */
function Head({
  editor,
  line,
  chosen,
  mayEdit,
}: {
  editor: Editor;
  line: LineDocument;
  chosen: Chosen;
  mayEdit: boolean;
}) {
  const { icon, kind } = wordsOf(chosen);
  const station = chosen.what === "station" ? chosen.station : undefined;
  return (
    <>
      <span className={`ed-palette-shape${chosen.what === "end" ? " ed-palette-end" : ""}`}>
        <Icon name={icon} />
      </span>
      <div className="grow">
        {station ? (
          <Name key={station.key} editor={editor} station={station} mayEdit={mayEdit} />
        ) : (
          <h2 className="ed-inspector-title">{titleOf(chosen, line)}</h2>
        )}
        <p className="muted small">{kind}</p>
      </div>
    </>
  );
}

function wordsOf(chosen: Chosen): { icon: string; kind: string } {
  switch (chosen.what) {
    case "station": {
      const kind = kindOf(chosen.station);
      return { icon: kindIcon(kind), kind: kindName(kind) };
    }
    case "gate":
      return { icon: "gate", kind: say("gate") };
    case "end":
      return {
        icon: `end-${chosen.end.kind ?? "completed"}`,
        kind: say(`end_${chosen.end.kind ?? "completed"}` as "end_completed"),
      };
    case "several":
      return { icon: "tasks", kind: say("severalChosen") };
    default:
      return { icon: "lines", kind: say("line") };
  }
}

function Name({ editor, station, mayEdit }: { editor: Editor; station: Station; mayEdit: boolean }) {
  const name = nameOf(station);
  // Only what is half typed is held here: it stays while somebody else renames the station; all else is the line's.
  const [typed, setTyped] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const naming = useEditor(editor, ({ asked }) => (asked?.naming === station.key ? asked : undefined));
  useEffect(() => {
    if (!naming) return undefined;
    // After a dialog has given the focus back to where it came from.
    const later = requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.select();
      editor.named();
    });
    return () => cancelAnimationFrame(later);
  }, [naming, editor]);
  const keep = (): void => {
    const typedName = typed?.trim();
    const before = editor.line;
    if (typedName && typedName !== name) {
      const command = rename(before, editor.given.document, station.key, typedName);
      const { selection } = editor.state;
      const keys = selection.keys.map((key) => (key === station.key ? command.key : key));
      editor.run(command, { ...selection, keys });
    }
    if (!typedName || typedName === name || editor.line !== before) setTyped(undefined);
  };
  return (
    <input
      ref={field}
      id="ed-name"
      className="input ed-name-input"
      aria-label={say("name")}
      value={typed ?? name}
      maxLength={200}
      readOnly={!mayEdit}
      onChange={(event) => setTyped(event.target.value === name ? undefined : event.target.value)}
      onBlur={keep}
      onKeyDown={(event) => {
        if (event.key === "Enter") {
          // Kept first: the station may have another key then, and is drawn anew.
          flushSync(keep);
          backToCanvas(editor);
        }
        // At once: the focus goes back to the canvas next, and leaving the field keeps what is in it.
        if (event.key === "Escape") flushSync(() => setTyped(undefined));
        if (typed === undefined) turn(editor, event.nativeEvent);
      }}
    />
  );
}

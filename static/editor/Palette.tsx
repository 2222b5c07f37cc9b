import { useReactFlow } from "@xyflow/react";
import { useMemo, useState } from "react";

import * as commands from "./commands";
import { Icon } from "./Icon";
import type { Editor } from "./store";
import { say } from "./words";

interface Made {
  what: "station" | "end";
  kind: string;
  name: string;
}

const TYPE = "application/x-gateline";
const ENDS = ["completed", "failed", "cancelled"] as const;

export function dropped(event: React.DragEvent): Made | undefined {
  const text = event.dataTransfer.getData(TYPE);
  return text ? (JSON.parse(text) as Made) : undefined;
}

/** What can be put on the canvas: dragged there, or added behind the chosen station by Enter or a click. */
export function Palette({ editor, kinds }: { editor: Editor; kinds: readonly string[] }) {
  const [search, setSearch] = useState("");
  const flow = useReactFlow();
  const all = useMemo<Made[]>(
    () => [
      ...kinds.map((kind): Made => ({ what: "station", kind, name: say(`kind_${kind}` as "kind_other") })),
      ...ENDS.map((kind): Made => ({ what: "end", kind, name: say(`end_${kind}`) })),
    ],
    [kinds],
  );
  const found = all.filter((each) => each.name.toLowerCase().includes(search.trim().toLowerCase()));

  function add(made: Made): void {
    if (made.what === "end") {
      const pane = document.querySelector(".react-flow")?.getBoundingClientRect();
      const centre = pane ? { x: pane.x + pane.width / 2, y: pane.y + pane.height / 2 } : { x: 0, y: 0 };
      const at = flow.screenToFlowPosition(centre);
      editor.run(commands.addEnd(made.kind, made.name, [Math.round(at.x), Math.round(at.y)]));
      return;
    }
    const after = editor.state.selection.keys.find((key) => editor.line.stations.some((each) => each.key === key));
    const before = new Set(editor.line.stations.map((each) => each.key));
    editor.run(commands.addStation(made.kind, made.name, undefined, after));
    const fresh = editor.line.stations.find((each) => !before.has(each.key));
    if (fresh) editor.select({ keys: [fresh.key] });
  }

  const group = (what: Made["what"], label: string) => {
    const items = found.filter((each) => each.what === what);
    if (items.length === 0) return null;
    return (
      <section aria-label={label}>
        <h2 className="ed-palette-head">{label}</h2>
        {items.map((each) => (
          <button
            key={each.kind}
            type="button"
            className="ed-palette-item"
            draggable
            onDragStart={(event) => event.dataTransfer.setData(TYPE, JSON.stringify(each))}
            onClick={() => add(each)}
          >
            <span className={`ed-palette-shape ed-palette-${each.what}`}>
              <Icon name={each.what === "end" ? `end-${each.kind}` : `station-${each.kind}`} />
            </span>
            {each.name}
          </button>
        ))}
      </section>
    );
  };

  return (
    <aside className="ed-palette" aria-label={say("palette")}>
      <label className="ed-search">
        <Icon name="search" />
        <input
          id="ed-search"
          className="input"
          type="search"
          placeholder={say("search")}
          aria-label={say("searchPalette")}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && found[0]) add(found[0]);
          }}
        />
      </label>
      {group("station", say("stations"))}
      {group("end", say("ends"))}
      {found.length === 0 ? <p className="muted small">{say("nothingFound")}</p> : null}
    </aside>
  );
}

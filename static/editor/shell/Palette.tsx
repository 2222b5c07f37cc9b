import { useReactFlow } from "@xyflow/react";
import { useMemo, useState } from "react";

import { askOnTheWay, placesOfGates, stationsToLeadFrom } from "../canvas/asking";
import { edgeId } from "../canvas/flow";
import { END, STATION } from "../canvas/layout";
import { mark } from "../canvas/pointer";
import * as commands from "../store/commands";
import { type NewGate, type Onto, putGate } from "../store/commands-canvas";
import { connectToNew, insertOn } from "../store/commands-connect";
import { ruleOf, rulesOf, stationOf, targetsOf } from "../store/document";
import { allKinds } from "../store/kinds";
import { addNote, freshNoteKey, NOTE, noteId } from "../store/notes";
import { type Editor, useEditor } from "../store/store";
import { Icon } from "./Icon";
import { say } from "./words";

interface Made {
  what: "station" | "gate" | "end" | "note";
  kind: string;
  name: string;
  about?: string;
}

const TYPE = "application/x-gateline";
/** While something is dragged only the types of what it is can be read. */
const GATE_TYPE = "application/x-gateline-gate";
const STATION_TYPE = "application/x-gateline-station";
const ENDS = ["completed", "failed", "cancelled"] as const;
const GATES = ["auto", "manual", "checks_then_manual"] as const;

/** For the whole canvas with all that lies over it, which would take a drop from what is below. */
export function useDrops(editor: Editor): {
  onDrop(event: React.DragEvent): void;
  onDragOver(event: React.DragEvent): void;
  onDragLeave(event: React.DragEvent): void;
} {
  const flow = useReactFlow();
  return {
    onDrop: (event) => {
      mark(undefined);
      showGhost(undefined, 1);
      const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
      if (dropOn(editor, event, [x, y])) event.preventDefault();
    },
    onDragOver: (event) => {
      event.preventDefault();
      const over = overWhat(event);
      mark(over);
      const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
      const lands = event.dataTransfer.types.includes(STATION_TYPE) && !over;
      showGhost(lands ? flow.flowToScreenPosition(cornerOf(STATION, at.x, at.y)) : undefined, flow.getZoom());
    },
    onDragLeave: (event) => {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) showGhost(undefined, 1);
    },
  };
}

/** Puts on the canvas what was let go there, at this place of it. Whether it was something of ours. */
function dropOn(editor: Editor, event: React.DragEvent, [x, y]: [number, number]): boolean {
  const text = event.dataTransfer.getData(TYPE);
  if (!text) return false;
  const made = JSON.parse(text) as Made;
  const size = { station: STATION, end: END, note: NOTE, gate: END }[made.what];
  const corner = cornerOf(size, x, y);
  const at: [number, number] = [corner.x, corner.y];
  const branch = made.what === "station" ? branchAt(editor, event.target as Element) : undefined;
  if (branch) chooseFresh(editor, () => editor.run(insertOn(branch.rule, branch.target, made.kind, made.name)));
  else if (made.what === "station")
    chooseFresh(editor, () => editor.run(commands.addStation(made.kind, made.name, at)));
  else if (made.what === "end") endAt(editor, made, stationUnder(event.target as Element), at);
  else if (made.what === "note") addNoteAt(editor, at);
  else putOn(editor, made, ontoOf(event));
  return true;
}

/** What a gate would be put on, or the edge that a station would go between, if it were let go here. */
function overWhat(event: React.DragEvent): Element | undefined {
  if (event.dataTransfer.types.includes(STATION_TYPE))
    return (event.target as Element).closest("[data-rule]") ?? undefined;
  if (!event.dataTransfer.types.includes(GATE_TYPE)) return undefined;
  return (event.target as Element).closest("[data-rule], .react-flow__node-station") ?? undefined;
}

function ontoOf(event: React.DragEvent): Onto | undefined {
  const target = event.target as Element;
  const rule = target.closest<HTMLElement | SVGElement>("[data-rule]")?.dataset.rule;
  if (rule !== undefined) return { rule };
  const station = stationUnder(target);
  return station === undefined ? undefined : { station };
}

const stationUnder = (target: Element): string | undefined =>
  target.closest<HTMLElement>(".react-flow__node-station")?.dataset.id;

/** An end that the station leads to; without one it stands there, chosen, and is asked where from. */
function endAt(editor: Editor, { kind, name }: Made, station: string | undefined, at?: [number, number]): void {
  if (station !== undefined) {
    editor.run(connectToNew(say("added", name), station, { what: "end", kind, name }));
    return;
  }
  editor.run(commands.addEnd(kind, name, at));
  const end = editor.line.ends?.at(-1)?.key;
  if (end === undefined) return;
  editor.select({ keys: [end] });
  const choices = stationsToLeadFrom(editor.line);
  const take = (from: string): void => editor.run(commands.connect(from, end));
  if (choices.length > 0) editor.offer({ title: say("endFrom", name), choices, take, left: say("endNeeds") });
  else editor.tell(say("endNeeds"));
}

const cornerOf = (size: { width: number; height: number }, x: number, y: number) => ({
  x: snap(x - size.width / 2),
  y: snap(y - size.height / 2),
});

/** Where a station will stand when it is let go; it says nothing to who does not see it, and takes no pointer. */
function showGhost(at: { x: number; y: number } | undefined, zoom: number): void {
  const canvas = document.querySelector<HTMLElement>(".ed-canvas");
  const known = canvas?.querySelector<HTMLElement>(".ed-landing");
  if (!canvas || !at) {
    known?.remove();
    return;
  }
  const ghost = known ?? canvas.appendChild(Object.assign(document.createElement("div"), { className: "ed-landing" }));
  const box = canvas.getBoundingClientRect();
  ghost.style.width = `${STATION.width * zoom}px`;
  ghost.style.height = `${STATION.height * zoom}px`;
  ghost.style.transform = `translate(${at.x - box.x}px, ${at.y - box.y}px)`;
}

const snap = (value: number): number => Math.round(value / 8) * 8;

const gateOf = ({ kind, name }: Made): NewGate =>
  GATES.some((mode) => mode === kind) ? { mode: kind, name } : { key: kind };

/** Puts it where it was let go: on an edge, or after the work of a station. Elsewhere it is asked where it belongs. */
function putOn(editor: Editor, made: Made, onto: Onto | undefined): void {
  if (onto && "station" in onto) choosingGate(editor, made, onto.station, putGate(onto, gateOf(made)));
  else if (onto && ruleOf(editor.line, onto.rule)) putOnWay(editor, made, onto.rule);
  else offerGate(editor, made);
}

/** Puts it, as the palette shows it, on the edge of this rule, or on that by which a task leaves this station when all goes well. */
function putOnWay(editor: Editor, made: Made, key: string): void {
  const station = ruleOf(editor.line, key)?.station.key;
  const put = station ? putGate({ rule: key }, gateOf(made)) : askOnTheWay(key, gateOf(made), editor.state.findings);
  choosingGate(editor, made, station ?? key, put);
}

function offerGate(editor: Editor, made: Made): void {
  const choices = placesOfGates(editor.line, editor.state.findings);
  const take = (key: string): void => putOnWay(editor, made, key);
  if (choices.length > 0) editor.offer({ title: say("gateWhere", made.name), choices, take, left: "" });
  else editor.tell(say("gateNeeds"));
}

/** The gate is chosen then: its form opens in the inspector. */
function choosingGate(editor: Editor, made: Made, station: string, put: commands.Command): void {
  const before = new Set(editor.line.gates?.map((gate) => gate.key));
  editor.run(put);
  const gate = editor.line.gates?.find((each) => !before.has(each.key))?.key ?? made.kind;
  const rule = rulesOf(stationOf(editor.line, station) ?? { key: station }).find((each) => each.gates?.includes(gate));
  editor.select({ keys: [station], ...(rule ? { rule: rule.id } : {}), gate });
}

function chooseFresh(editor: Editor, add: () => void): void {
  const before = new Set(editor.line.stations.map((each) => each.key));
  add();
  const fresh = editor.line.stations.find((each) => !before.has(each.key));
  if (fresh) editor.begin(fresh.key);
}

/** The branch of a rule, where it is one: what is put there goes between. */
function branchAt(editor: Editor, target: Element): { rule: string; target: string } | undefined {
  const part = target.closest<HTMLElement | SVGElement>("[data-rule]");
  const ofRule = ruleOf(editor.line, part?.dataset.rule ?? "");
  if (!part || !ofRule) return undefined;
  const edge = part.dataset.edge ?? target.closest("[data-id]")?.getAttribute("data-id") ?? "";
  const targets = targetsOf(ofRule.rule);
  const hit = targets.find((each) => edge === edgeId(ofRule.rule.id, each)) ?? targets[0];
  return hit === undefined ? undefined : { rule: ofRule.rule.id, target: hit };
}

export function addNoteAt(editor: Editor, at: [number, number]): void {
  const key = freshNoteKey(editor.line);
  editor.run(addNote(at));
  editor.select({ keys: [noteId(key)] });
}

/** What can be put on the canvas: dragged there, or added behind the chosen station by Enter or a click. */
export function Palette({ editor, rail = false }: { editor: Editor; rail?: boolean }) {
  const [search, setSearch] = useState("");
  const flow = useReactFlow();
  const all = useMemo<Made[]>(
    () => [
      ...allKinds().map(({ key, name, about }): Made => ({ what: "station", kind: key, name, about })),
      ...GATES.map((kind): Made => ({ what: "gate", kind, name: say(`gate_${kind}`) })),
      ...ENDS.map((kind): Made => ({ what: "end", kind, name: say(`end_${kind}`) })),
      { what: "note", kind: "note", name: say("note") },
    ],
    [],
  );
  const { selection } = useEditor(editor);
  const onto: Onto | undefined =
    selection.rule !== undefined
      ? { rule: selection.rule }
      : stationOf(editor.line, selection.keys[0] ?? "") && selection.keys.length === 1
        ? { station: selection.keys[0] ?? "" }
        : undefined;
  const matching = all.filter((each) => each.name.toLowerCase().includes(search.trim().toLowerCase()));

  function add(made: Made): void {
    if (made.what === "gate") {
      if (onto) putOnWay(editor, made, "rule" in onto ? onto.rule : onto.station);
      else offerGate(editor, made);
      return;
    }
    if (made.what === "end") {
      endAt(editor, made, onto && ("station" in onto ? onto.station : ruleOf(editor.line, onto.rule)?.station.key));
      return;
    }
    if (made.what === "note") {
      const pane = document.querySelector(".react-flow")?.getBoundingClientRect();
      const centre = pane ? { x: pane.x + pane.width / 2, y: pane.y + pane.height / 2 } : { x: 0, y: 0 };
      const { x, y } = flow.screenToFlowPosition(centre);
      addNoteAt(editor, [snap(x), snap(y)]);
      return;
    }
    const chosenRule = ruleOf(editor.line, editor.state.selection.rule ?? "")?.rule;
    const [target, ...more] = chosenRule ? targetsOf(chosenRule) : [];
    if (chosenRule && target !== undefined && more.length === 0 && editor.state.selection.gate === undefined) {
      chooseFresh(editor, () => editor.run(insertOn(chosenRule.id, target, made.kind, made.name)));
      return;
    }
    const after = editor.state.selection.keys.find((key) => editor.line.stations.some((each) => each.key === key));
    chooseFresh(editor, () => editor.run(commands.addStation(made.kind, made.name, undefined, after)));
  }

  const group = (what: Made["what"], label: string) => {
    const items = matching.filter((each) => each.what === what);
    if (items.length === 0) return null;
    return (
      <section aria-label={label}>
        <h2 className="ed-palette-head">{label}</h2>
        {items.map((each) => (
          <button
            key={each.kind}
            type="button"
            className="ed-palette-item"
            title={rail ? [each.name, each.about].filter(Boolean).join(": ") : each.about}
            draggable
            onDragStart={(event) => {
              event.dataTransfer.setData(TYPE, JSON.stringify(each));
              if (what === "gate") event.dataTransfer.setData(GATE_TYPE, "");
              if (what === "station") event.dataTransfer.setData(STATION_TYPE, "");
            }}
            onClick={() => add(each)}
          >
            <span className={`ed-palette-shape ed-palette-${each.what}`}>
              <Icon name={each.what === "note" ? "note" : `${each.what}-${each.kind}`} />
            </span>
            <span>{each.name}</span>
          </button>
        ))}
      </section>
    );
  };

  return (
    <aside className="ed-palette" data-rail={rail || undefined} aria-label={say("palette")}>
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
            if (event.key === "Enter" && matching[0]) add(matching[0]);
          }}
        />
      </label>
      {group("station", say("stations"))}
      {group("gate", say("gates"))}
      {group("end", say("ends"))}
      {group("note", say("notesHead"))}
      {matching.length === 0 ? <p className="muted small">{say("nothingFound")}</p> : null}
    </aside>
  );
}

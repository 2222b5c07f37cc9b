import { useEffect, useRef, useState } from "react";
import {
  kindOf,
  type LineDocument,
  nameOf,
  type Rule,
  rulesOf,
  type Station,
  startOf,
  targetsOf,
} from "../store/document";
import { type Findings, PILLS, type RuleSays } from "../store/findings";
import { kindIcon, kindName } from "../store/kinds";
import { gateName, targetName } from "../store/names";
import type { Selection } from "../store/selection";
import { useEditor } from "../store/store";
import { DialogHead } from "./DialogHead";
import type { Desk, Place } from "./desk";
import { Icon } from "./Icon";
import { say } from "./words";

interface Parts {
  desk: Desk;
  /** The settings of what is chosen are open, instead of the list. */
  open: boolean;
  setOpen(open: boolean): void;
  picture: React.ReactNode;
  form: React.ReactNode;
  problems: React.ReactNode;
  palette: React.ReactNode;
}

/** The line as a list, for where a canvas is too small to draw on: below 900 px. The forms are the same. */
export function Outline({ desk, open, setOpen, picture, form, problems, palette }: Parts) {
  const { history, findings, selection } = useEditor(desk.editor);
  const line = history.line;
  const [adding, setAdding] = useState(false);
  const openOn = (chosen: Selection): void => {
    desk.editor.select(chosen);
    setOpen(true);
  };
  // What was just added is chosen, and its form comes next.
  const count = useRef(line.stations.length);
  useEffect(() => {
    if (adding && line.stations.length > count.current) {
      setAdding(false);
      setOpen(true);
    }
    count.current = line.stations.length;
  }, [adding, line.stations.length, setOpen]);

  if (open) {
    return (
      <div className="ed-outline">
        <button type="button" className="button ed-outline-back" onClick={() => setOpen(false)}>
          <Icon name="arrow-left" /> <span>{say("toOutline")}</span>
        </button>
        {form}
      </div>
    );
  }
  return (
    <div className="ed-outline">
      {picture}
      <div className="ed-outline-tools">
        <button type="button" className="button" onClick={() => openOn({ keys: [] })}>
          <Icon name="settings" /> <span>{say("lineSettings")}</span>
        </button>
        {desk.mayEdit ? (
          <button type="button" className="button" onClick={() => setAdding(true)}>
            <Icon name="plus" /> <span>{say("addHere")}</span>
          </button>
        ) : null}
      </div>
      <ol className="ed-outline-list" aria-label={say("stations")}>
        {line.stations.map((station) => (
          <StationItem
            key={station.key}
            {...{ desk, line, station, findings, openOn }}
            chosen={selection.keys.includes(station.key)}
          />
        ))}
      </ol>
      {problems}
      {adding ? <Adding close={() => setAdding(false)}>{palette}</Adding> : null}
    </div>
  );
}

function Adding({ close, children }: { close(): void; children: React.ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="dialog drawer ed-adding" aria-label={say("addHere")} onClose={close}>
      <DialogHead title={say("addHere")} close={() => dialog.current?.close()} />
      {children}
    </dialog>
  );
}

interface Item {
  desk: Desk;
  line: LineDocument;
  station: Station;
  findings: Findings;
  chosen: boolean;
  openOn(chosen: Selection): void;
}

function StationItem({ desk, line, station, findings, chosen, openOn }: Item) {
  const own = findings.findings.filter((each) => each.station === station.key && each.severity !== "info");
  const grave = own.some((each) => each.severity === "error");
  return (
    <li className="ed-outline-station" data-chosen={chosen || undefined}>
      <div className="ed-outline-head">
        <button type="button" className="ed-outline-name" onClick={() => openOn({ keys: [station.key] })}>
          <Icon name={kindIcon(kindOf(station))} />
          <span className="grow">
            <strong>{nameOf(station)}</strong>
            <span className="muted small">
              {kindName(kindOf(station))}
              {startOf(line) === station.key ? ` · ${say("start")}` : ""}
              {station.gate ? ` · ${gateName(line, station.gate)}` : ""}
            </span>
          </span>
          {own.length > 0 ? (
            <span className={`pill pill-${grave ? "danger" : "attention"}`}>
              <Icon name={grave ? "danger" : "warning"} size={14} /> {own.length}
              <span className="visually-hidden"> {say("problems")}</span>
            </span>
          ) : null}
        </button>
        <Actions desk={desk} of={nameOf(station)} place="station" chosen={{ keys: [station.key] }} />
      </div>
      <ol className="ed-outline-rules">
        {rulesOf(station).map((rule, index) => (
          <RuleItem
            key={rule.id}
            {...{ desk, line, station, rule, index }}
            says={findings.rules[rule.id]}
            open={() => openOn({ keys: [station.key], rule: rule.id })}
          />
        ))}
        <li className="ed-outline-rule muted small">
          {say("otherwise")}: {findings.otherwise[station.key] ?? say("byPolicy")}
        </li>
      </ol>
    </li>
  );
}

/** The menu that the canvas opens by the right button. */
function Actions({ desk, of, place, chosen }: { desk: Desk; of: string; place: Place; chosen: Selection }) {
  if (!desk.mayEdit) return null;
  return (
    <button
      type="button"
      className="button button-quiet button-icon"
      aria-haspopup="menu"
      aria-label={say("actionsFor", of)}
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        desk.editor.select(chosen);
        desk.openMenu({ x: box.left, y: box.bottom, place });
      }}
    >
      <Icon name="ellipsis" />
    </button>
  );
}

interface RuleParts {
  desk: Desk;
  line: LineDocument;
  station: Station;
  rule: Rule;
  index: number;
  says: RuleSays | undefined;
  open(): void;
}

function RuleItem({ desk, line, station, rule, index, says, open }: RuleParts) {
  const names = { origin: say("origin"), blocked: say("blocked") };
  const pill = says && says.status !== "live" ? PILLS[says.status] : undefined;
  return (
    <li className="ed-outline-head">
      <button type="button" className="ed-outline-rule" onClick={open}>
        <span className="ed-number">{index + 1}</span>
        <span className="grow">
          <span>{says?.words || rule.label || rule.id}</span>
          <span className="ed-rule-to muted">
            <Icon name="arrow-right" size={14} />
            {targetsOf(rule)
              .map((key) => targetName(line, key, names))
              .join(", ") || say("nowhere")}
            {(rule.gates ?? []).map((key) => (
              <span key={key} className="ed-rule-gate">
                <Icon name="gate" size={14} /> {gateName(line, key)}
              </span>
            ))}
          </span>
        </span>
        {pill && says ? (
          <span className={`pill pill-${pill[0]}`}>
            <Icon name={pill[1]} size={14} /> {say(`status_${says.status.replace(" ", "_")}` as "status_live")}
          </span>
        ) : null}
      </button>
      <Actions desk={desk} of={rule.label || rule.id} place="rule" chosen={{ keys: [station.key], rule: rule.id }} />
    </li>
  );
}

import { useState } from "react";

import * as commands from "./commands";
import { type LineDocument, rulesOf, type Rule, type Station, targetsOf } from "./document";
import type { Findings, RuleSays } from "./findings";
import { gateName, targetName } from "./flow";
import { Icon } from "./Icon";
import { endsOf } from "./layout";
import type { Editor } from "./store";
import type { TabProps } from "./tabs";
import { say } from "./words";

const PILLS: Record<RuleSays["status"], [tone: string, icon: string]> = {
  live: ["ok", "check"],
  "partly shadowed": ["attention", "warning"],
  dead: ["danger", "danger"],
  unknown: ["neutral", "info"],
};

interface Shown {
  editor: Editor;
  line: LineDocument;
  station: Station;
  findings: Findings;
  chosen: string | undefined;
  mayEdit: boolean;
}

export function RulesTab({ chosen, ...rest }: TabProps) {
  return chosen.what === "station" ? <Rules station={chosen.station} chosen={chosen.rule} {...rest} /> : null;
}

/** The rules of a station in their order: the first that matches wins. `Alt+↑/↓` and the handle move a row. */
export function Rules({ editor, line, station, findings, chosen, mayEdit }: Shown) {
  const rules = rulesOf(station);
  const [dragged, setDragged] = useState<string>();
  const otherwise = findings.otherwise[station.key];
  return (
    <section className="ed-rules" aria-label={say("rules")}>
      <p className="muted small">{say("firstWins")}</p>
      <ol className="ed-rule-list">
        {rules.map((rule, index) => (
          <RuleRow
            key={rule.id}
            {...{ editor, line, rule, index, mayEdit }}
            last={index === rules.length - 1}
            says={findings.rules[rule.id]}
            open={chosen === rule.id}
            station={station}
            onDrag={setDragged}
            onDrop={() => {
              if (dragged && dragged !== rule.id) editor.run(commands.moveRule(dragged, index));
              setDragged(undefined);
            }}
          />
        ))}
        <li className="ed-rule ed-rule-otherwise">
          <span className="ed-number ed-number-otherwise" aria-hidden="true">
            <Icon name="arrow-right" size={12} />
          </span>
          <div>
            <strong>{say("otherwise")}</strong>
            <p className="muted small">{otherwise ?? say("byPolicy")}</p>
          </div>
        </li>
      </ol>
    </section>
  );
}

interface Row {
  editor: Editor;
  line: LineDocument;
  station: Station;
  rule: Rule;
  index: number;
  last: boolean;
  says: RuleSays | undefined;
  open: boolean;
  mayEdit: boolean;
  onDrag(id: string): void;
  onDrop(): void;
}

function RuleRow({ editor, line, station, rule, index, last, says, open, mayEdit, onDrag, onDrop }: Row) {
  const names = { origin: say("origin"), blocked: say("blocked") };
  const pill = says ? PILLS[says.status] : undefined;
  return (
    <li
      className="ed-rule"
      data-open={open || undefined}
      data-dead={says?.status === "dead" || undefined}
      draggable={mayEdit}
      onDragStart={() => onDrag(rule.id)}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
      onKeyDown={(event) => {
        if (!mayEdit || !event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
        event.preventDefault();
        const to = index + (event.key === "ArrowUp" ? -1 : 1);
        if (to >= 0 && (to < index || !last)) editor.run(commands.moveRule(rule.id, to));
      }}
    >
      <span className="ed-number" aria-hidden="true">
        {index + 1}
      </span>
      <div className="ed-rule-body">
        <button
          type="button"
          className="ed-rule-head"
          aria-expanded={open}
          onClick={() => editor.select({ keys: [station.key], ...(open ? {} : { rule: rule.id }) })}
        >
          <strong>{says?.words || rule.label || rule.id}</strong>
        </button>
        <p className="ed-rule-to">
          <Icon name="arrow-right" size={14} />
          <span>{targetsOf(rule).map((key) => targetName(line, key, names)).join(", ") || say("nowhere")}</span>
          {(rule.gates ?? []).map((key) => (
            <span key={key} className="ed-rule-gate">
              <Icon name="gate" size={14} /> {gateName(line, key)}
            </span>
          ))}
          {pill && says ? (
            <span className={`pill pill-${pill[0]} push`}>
              <Icon name={pill[1]} size={14} /> {say(`status_${says.status.replace(" ", "_")}` as "status_live")}
            </span>
          ) : null}
        </p>
        {says?.why ? <p className="muted small">{says.why}</p> : null}
        {says?.status === "dead" || open ? <Example says={says} /> : null}
        {open && mayEdit ? <Target editor={editor} line={line} rule={rule} /> : null}
        {mayEdit && (open || says?.status === "dead") ? (
          <p className="row">
            {index > 0 ? (
              <button type="button" className="button button-small" onClick={() => editor.run(commands.moveRule(rule.id, index - 1))}>
                <Icon name="arrow-up" size={14} /> <span>{say("moveAbove", String(index))}</span>
              </button>
            ) : null}
            <button type="button" className="button button-small" onClick={() => editor.run(commands.removeRule(rule.id))}>
              <Icon name="delete" size={14} /> <span>{say("deleteRule")}</span>
            </button>
          </p>
        ) : null}
      </div>
    </li>
  );
}

function Example({ says }: { says: RuleSays | undefined }) {
  if (!says?.example) return null;
  return (
    <p className="ed-example">
      {say("forExample")} <code>{says.example}</code>
    </p>
  );
}

function Target({ editor, line, rule }: { editor: Editor; line: LineDocument; rule: Rule }) {
  const [only, ...more] = targetsOf(rule);
  if (more.length > 0) return null;
  const names = { origin: say("origin"), blocked: say("blocked") };
  const keys = [
    ...line.stations.map((each) => each.key),
    ...new Set([...endsOf(line), "completed", "failed", "cancelled"]),
    "@origin",
    "@blocked",
  ];
  return (
    <label className="field">
      <span className="field-label">{say("leadsTo")}</span>
      <select
        className="input"
        value={only ?? ""}
        onChange={(event) => editor.run(commands.replaceRule(rule.id, { ...rule, to: event.target.value }))}
      >
        {only && !keys.includes(only) ? <option value={only}>{only}</option> : null}
        {only ? null : <option value="">{say("nowhere")}</option>}
        {keys.map((key) => (
          <option key={key} value={key}>
            {targetName(line, key, names)}
          </option>
        ))}
      </select>
    </label>
  );
}

import { useEffect, useRef } from "react";
import { Elsewhere } from "../inspector/Elsewhere";
import { Failures } from "../inspector/Failures";
import { Remedies } from "../inspector/Remedies";
import type { TabProps } from "../inspector/tab";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import * as commands from "../store/commands";
import { addRule } from "../store/commands-rules";
import { type LineDocument, nameOf, type Rule, rulesOf, type Station } from "../store/document";
import type { Finding, Findings, RuleSays, Untaken as UntakenOutcomes } from "../store/findings";
import type { Editor } from "../store/store";
import { Leads } from "./Leads";
import { LineRules } from "./LineRules";
import { Matches, NothingCounted, Once, Untaken } from "./Matches";
import { type Matching, useMatching } from "./matching";
import { RuleForm } from "./RuleForm";
import { useReordering } from "./reordering";

interface Shown {
  editor: Editor;
  line: LineDocument;
  station: Station;
  findings: Findings;
  chosen: string | undefined;
  mayEdit: boolean;
}

/** The sign of a remedy that moves a rule above others. */
const UP = "arrow-up";

export function RulesTab({ chosen, ...rest }: TabProps) {
  return chosen.what === "station" ? (
    <Rules station={chosen.station} chosen={chosen.rule} {...rest} />
  ) : (
    <LineRules chosen={chosen} {...rest} />
  );
}

/** The rules of a station in their order: the first that matches wins. `Alt+↑/↓` and the handle move a row. */
export function Rules({ editor, line, station, findings, chosen, mayEdit }: Shown) {
  const rules = rulesOf(station);
  const list = useRef<HTMLOListElement>(null);
  const { dragged, drop, grip } = useReordering(list, (id, index) => editor.run(commands.moveRule(id, index)));
  const matching = useMatching(editor, line, station);
  const otherwise = findings.otherwise[station.key];
  const add = (): void => {
    const command = addRule(editor.line, station.key);
    editor.run(command);
    editor.select({ keys: [station.key], rule: command.id });
  };
  return (
    <section className="ed-rules" aria-label={say("rules")}>
      <div className="ed-rules-head">
        <p className="muted small">{say("firstWins")}</p>
        {mayEdit ? (
          <button type="button" className="button button-quiet button-small push" onClick={add}>
            <Icon name="plus" size={14} /> <span>{say("addRule")}</span>
          </button>
        ) : null}
      </div>
      {rules.length > 0 ? <NothingCounted matching={matching} /> : null}
      <Elsewhere editor={editor} station={station.key} />
      <ol className="ed-rule-list" ref={list} data-dragging={dragged ? "" : undefined}>
        {rules.map((rule, index) => (
          <RuleRow
            key={rule.id}
            {...{ editor, line, station, rule, index, matching, mayEdit, grip }}
            last={index === rules.length - 1}
            says={findings.rules[rule.id]}
            finding={findings.findings.find((each) => each.rule === rule.id && each.remedies.length > 0)}
            open={chosen === rule.id}
            lifted={dragged === rule.id}
            drop={drop === index ? "before" : drop === rules.length && index === rules.length - 1 ? "after" : undefined}
          />
        ))}
        <li className="ed-rule">
          <span className="ed-number ed-number-otherwise" aria-hidden="true">
            <Icon name="arrow-right" size={12} />
          </span>
          <div className="ed-rule-body">
            <strong>{say("otherwise")}</strong>
            <p className="muted small">{otherwise ?? say("byPolicy")}</p>
            <Untaken matching={matching} />
          </div>
        </li>
      </ol>
      {(findings.untaken[station.key] ?? []).map((each) => (
        <NoRuleTakes key={each.outcomes} {...{ editor, untaken: each, mayEdit }} />
      ))}
      {mayEdit ? <Failures key={station.key} editor={editor} station={station} /> : null}
      {mayEdit && rules.length > 1 ? (
        <p className="ed-rules-keys muted small" aria-hidden="true">
          <kbd className="key">Alt ↑</kbd> <kbd className="key">Alt ↓</kbd> {say("movesARule")}
        </p>
      ) : null}
    </section>
  );
}

interface Row {
  editor: Editor;
  line: LineDocument;
  station: Station;
  rule: Rule;
  index: number;
  matching: Matching;
  last: boolean;
  says: RuleSays | undefined;
  finding: Finding | undefined;
  open: boolean;
  lifted: boolean;
  drop: "before" | "after" | undefined;
  mayEdit: boolean;
  grip: ReturnType<typeof useReordering>["grip"];
}

function RuleRow({ editor, line, station, rule, index, last, says, finding, open, mayEdit, ...rest }: Row) {
  const { matching, lifted, drop, grip } = rest;
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (open) row.current?.scrollIntoView({ block: "nearest" });
  }, [open]);
  const words = rule.label || says?.words || say("ruleAt", String(index + 1), nameOf(station));
  const move = (event: React.KeyboardEvent): void => {
    if (!mayEdit || !event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    const to = index + (event.key === "ArrowUp" ? -1 : 1);
    if (to < 0 || (to > index && last)) return;
    const focused = document.activeElement;
    editor.run(commands.moveRule(rule.id, to));
    // React moves the row in the page, and a moved element loses the focus.
    window.requestAnimationFrame(() => focused instanceof HTMLElement && focused.focus());
  };
  return (
    <li
      ref={row}
      className="ed-rule"
      data-rule={rule.id}
      data-open={open || undefined}
      data-dead={says?.status === "dead" || undefined}
      data-lifted={lifted || undefined}
      data-drop={drop}
      onKeyDown={move}
    >
      {mayEdit ? (
        <button
          type="button"
          className="ed-rule-grip"
          aria-label={say("moveRule", String(index + 1))}
          title={say("moveRule", String(index + 1))}
          {...grip(rule.id)}
        >
          <Icon name="grip" size={14} />
        </button>
      ) : null}
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
          <strong title={open ? undefined : words}>{words}</strong>
          <Icon name={open ? "chevron-up" : "chevron-down"} />
        </button>
        {rule.label && says ? (
          <p className="ed-rule-words muted small" title={open ? undefined : says.words}>
            {says.words}
          </p>
        ) : null}
        <Leads line={line} rule={rule} says={says} />
        <Matches matching={matching} rule={rule.id} open={open} />
        {says?.why ? (
          <div className={says.status === "dead" ? "ed-dead" : "muted small"}>
            <p>{says.why}</p>
            {says.status === "dead" || open ? <Example says={says} /> : null}
            {mayEdit ? <Remedies editor={editor} remedies={finding?.remedies} fix /> : null}
            {says.status === "dead" && finding?.remedies[0]?.icon === UP ? (
              <Once matching={matching} line={line} rule={rule} />
            ) : null}
          </div>
        ) : (
          <>
            {open ? <Example says={says} /> : null}
            {mayEdit ? <Remedies editor={editor} remedies={finding?.remedies} /> : null}
          </>
        )}
      </div>
      {open && mayEdit ? <RuleForm key={rule.id} {...{ editor, station, rule }} /> : null}
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

/** Outcomes that are left to the policy, with an example and what it does with it. */
function NoRuleTakes({ editor, untaken, mayEdit }: { editor: Editor; untaken: UntakenOutcomes; mayEdit: boolean }) {
  const outcomes = say(`outcomes_${untaken.outcomes}`);
  return (
    <div className="ed-untaken" role="group" aria-label={`${say("noRuleTakes")}: ${outcomes}`}>
      <Icon name="info" size={14} />
      <div className="ed-rule-body">
        {untaken.example ? (
          <>
            <p>
              {say("noRuleTakes")}: <code>{untaken.example}</code>
            </p>
            <p className="muted small">{untaken.then}</p>
          </>
        ) : (
          <p className="muted small">{say("notKnownUntaken", outcomes, untaken.why)}</p>
        )}
        {mayEdit ? <Remedies editor={editor} remedies={untaken.remedies} /> : null}
      </div>
    </div>
  );
}

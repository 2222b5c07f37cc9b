import { useState } from "react";
import type { Choice, Group, Step, Token } from "../api/walk";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type LineDocument, rulesOf, stationOf } from "../store/document";
import { gateName } from "../store/names";
import type { Test } from "./session";

const WORDS: Record<string, string> = {
  approve: "check",
  send_back: "send-back",
  reject: "x",
  rework: "retry",
  abort: "x",
};

/** What may happen next, each with what would follow: decided by the server, for this line and this walk. */
export function Choices({ test, token, line }: { test: Test; token: Token; line: LineDocument }) {
  const [reason, setReason] = useState("");
  const words = token.groups.some((group) => group.kind === "word");
  return (
    <>
      {token.groups.map((group) => (
        <section key={group.kind} className="ed-test-group" aria-label={group.title}>
          <h3 className="ed-test-heading">{group.title}</h3>
          {group.kind === "word" ? <Words {...{ test, group, line, reason }} /> : <List {...{ test, group }} />}
        </section>
      ))}
      {words ? (
        <label className="field">
          <span className="field-label">
            {say("testReason")} <span className="field-optional">{say("optional")}</span>
          </span>
          <input
            className="input"
            value={reason}
            maxLength={2000}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
      ) : null}
      {token.groups.length > 0 &&
      rulesOf(stationOf(line, token.station) ?? { key: "" }).length === 0 &&
      token.status === "queued" ? (
        <p className="muted small">{say("testNoRules")}</p>
      ) : null}
    </>
  );
}

function List({ test, group }: { test: Test; group: Group }) {
  return (
    <ul className="ed-test-choices">
      {group.choices.map((choice) => (
        <li key={`${choice.rule} ${choice.label}`}>
          <One test={test} choice={choice} />
        </li>
      ))}
    </ul>
  );
}

/** Gate by gate; where the reviewer says where it goes, the places are a list of their own. */
function Words({ test, group, line, reason }: { test: Test; group: Group; line: LineDocument; reason: string }) {
  const gates = [...new Set(group.choices.map((each) => each.gate))];
  return (
    <>
      {gates.map((gate) => (
        <div key={gate} className="ed-test-gate">
          {gate ? (
            <p className="row small">
              <Icon name="gate" size={14} /> {gate === "@jump" ? say("testJump") : gateName(line, gate)}
            </p>
          ) : null}
          <ul className="ed-test-choices">
            {group.choices
              .filter((each) => each.gate === gate)
              .map((choice) => (
                <li key={choice.label}>
                  <One test={test} choice={choice} icon={WORDS[choice.word]} reason={reason} />
                </li>
              ))}
          </ul>
        </div>
      ))}
    </>
  );
}

function One({
  test,
  choice,
  icon,
  reason = "",
}: {
  test: Test;
  choice: Choice;
  icon?: string | undefined;
  reason?: string;
}) {
  const { step } = choice;
  const words = (
    <>
      <span className="ed-test-label">
        {choice.number === null ? (
          icon ? (
            <Icon name={icon} size={14} />
          ) : null
        ) : (
          <span className="ed-number">{choice.number}</span>
        )}
        <span>{choice.number === null ? choice.label : say("testRule", String(choice.number), choice.label)}</span>
      </span>
      {choice.sample ? <code className="ed-test-sample">{choice.sample}</code> : null}
      <span className="ed-test-then">
        {step ? <Icon name="arrow-right" size={12} /> : null}
        <span>{step && !choice.leads ? say("testNotNow", choice.then) : choice.then}</span>
      </span>
    </>
  );
  if (!step) return <div className="ed-test-choice ed-test-never">{words}</div>;
  return (
    <button
      type="button"
      className="ed-test-choice"
      data-leads={choice.leads}
      onClick={() => test.choose(withReason(step, choice.gate, reason))}
    >
      {words}
    </button>
  );
}

/** A word other than approve with the reason that was typed; the server puts one where none is. */
function withReason(step: Step, gate: string, reason: string): Step {
  const gates = step.gates;
  if (!gate || !reason.trim() || typeof gates !== "object" || gates === null || Array.isArray(gates)) return step;
  const word = gates[gate];
  if (typeof word !== "object" || word === null || Array.isArray(word)) return step;
  return { ...step, gates: { ...gates, [gate]: { ...word, reason: reason.trim() } } };
}

/** A blocked task gets its answer, and the station runs again. */
export function Question({ test, token, several }: { test: Test; token: Token; several: boolean }) {
  const [text, setText] = useState("");
  return (
    <form
      className="field"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) test.choose({ ...(several ? { at: token.station } : {}), answer: text.trim() });
      }}
    >
      <label className="field-label" htmlFor={`ed-test-answer-${token.station}`}>
        {say("testAnswer")}
      </label>
      <div className="row">
        <input
          id={`ed-test-answer-${token.station}`}
          className="input"
          value={text}
          maxLength={2000}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button" disabled={!text.trim()}>
          {say("testSend")}
        </button>
      </div>
    </form>
  );
}

import { useEffect, useId, useLayoutEffect, useRef } from "react";
import type { LogLine, RecordedRun, Trial } from "../api/trial";
import type { TabProps } from "../inspector/tab";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type LineDocument, nameOf, type Station } from "../store/document";
import type { Editor } from "../store/store";
import { InputField, inputsOf } from "./StartForm";
import { testOf } from "./session";
import { FIRST_FIELD, type Given, isOpen, NOTHING_GIVEN, resultWord, type Trials, trialsOf, useTrials } from "./trials";

/** Runs the chosen station for real, with nothing of a task touched: what it gets, its log, its outcome. */
export function RunTab({ editor, line, chosen, mayEdit }: TabProps) {
  const station = chosen.what === "station" ? chosen.station : undefined;
  if (!station) return null;
  if (!mayEdit) return <p className="ed-trial muted small">{say("trialMayNot")}</p>;
  return <Run key={station.key} {...{ editor, line, station }} />;
}

function Run({ editor, line, station }: { editor: Editor; line: LineDocument; station: Station }) {
  const trials = trialsOf(editor);
  const { key } = station;
  const state = useTrials(editor);
  useEffect(() => {
    trials.takeFocus();
    void trials.load(key);
  }, [trials, key]);
  const trial = state.trials[key];
  const answers = state.given[key] ?? NOTHING_GIVEN;
  const name = nameOf(station);
  return (
    <section className="ed-trial" aria-label={say("runStation")}>
      <p className="muted small">{say("trialHelp")}</p>
      <form
        className="ed-trial-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isOpen(trial) && state.asking === undefined) void trials.start(key, name);
        }}
      >
        <Pinned {...{ trials, station: key, given: answers, line, runs: state.runs[key] ?? [] }} />
        {answers.run === undefined ? <Typed {...{ trials, station: key, given: answers, line }} /> : null}
        <Buttons {...{ trials, trial, asking: state.asking === key }} />
      </form>
      <Refused sentences={state.refusals[key] ?? []} />
      {trial ? <Went {...{ editor, trial, name, lines: state.logs[trial.id] ?? [] }} /> : null}
    </section>
  );
}

function Refused({ sentences }: { sentences: string[] }) {
  if (sentences.length === 0) return null;
  return (
    <div className="ed-test-note ed-test-note-danger" role="alert">
      <Icon name="danger" />
      <div>
        {sentences.slice(0, 5).map((each) => (
          <span key={each}>{each}</span>
        ))}
      </div>
    </div>
  );
}

interface Of {
  trials: Trials;
  station: string;
  given: Given;
}

/** Tells whether it gets what is typed, or what a task gave it once. */
function Pinned({ trials, station, given, line, runs }: Of & { line: LineDocument; runs: RecordedRun[] }) {
  const id = FIRST_FIELD;
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {say("trialInputs")}
      </label>
      <select
        id={id}
        className="input"
        value={given.run ?? ""}
        aria-describedby={`${id}-help`}
        onChange={({ target }) => trials.give(station, { run: target.value ? Number(target.value) : undefined })}
      >
        <option value="">{say("trialTyped")}</option>
        {runs.map(({ run, task, title, number, result }) => (
          <option key={run} value={run}>
            {say("trialOfTask", task, title, String(number), resultWord(result))}
          </option>
        ))}
      </select>
      <p id={`${id}-help`} className="field-help">
        {given.run === undefined ? say(line.workspace ? "trialBase" : "trialEmpty") : say("trialOfTaskHelp")}
        {given.run === undefined && runs.length > 0 ? ` ${say("trialChooseRun")}` : null}
      </p>
    </div>
  );
}

function Typed({ trials, station, given, line }: Of & { line: LineDocument }) {
  const id = useId();
  const set = (key: string, value: Given["inputs"][string] | undefined): void => {
    const { [key]: _, ...others } = given.inputs;
    trials.give(station, { inputs: value === undefined ? others : { ...others, [key]: value } });
  };
  return (
    <>
      {inputsOf(line).map((input) => (
        <InputField
          key={input.key}
          input={input}
          value={given.inputs[input.key]}
          onChange={(value) => set(input.key, value)}
        />
      ))}
      <details className="ed-test-form" open={given.context !== "" || undefined}>
        <summary>
          <Icon name="chevron-right" size={12} /> {say("trialContext")}
        </summary>
        <div className="field">
          <label className="field-label" htmlFor={id}>
            {say("trialContextJson")}
          </label>
          <textarea
            id={id}
            className="input mono"
            rows={4}
            spellCheck={false}
            value={given.context}
            placeholder={'{"plan": {"steps": 3}}'}
            onChange={(event) => trials.give(station, { context: event.target.value })}
          />
        </div>
      </details>
    </>
  );
}

/** One button at one place, so that the focus stays where it is when the run begins and ends. */
function Buttons({ trials, trial, asking }: { trials: Trials; trial: Trial | undefined; asking: boolean }) {
  const open = trial !== undefined && isOpen(trial);
  return (
    <div className="row">
      <button
        type={open ? "button" : "submit"}
        className="button"
        aria-disabled={asking || undefined}
        onClick={(event) => {
          if (!open) return;
          event.preventDefault();
          void trials.cancel(trial);
        }}
      >
        <Icon name={open ? "x" : "run"} size={14} /> <span>{open ? say("trialCancel") : say("runStation")}</span>
      </button>
      {trial && open ? (
        <span className="pill pill-active">
          <Icon name="status-running" size={12} /> {trial.word}
        </span>
      ) : null}
    </div>
  );
}

interface Shown {
  editor: Editor;
  trial: Trial;
  name: string;
  lines: LogLine[];
}

function Went({ editor, trial, name, lines }: Shown) {
  return (
    <>
      <Log lines={lines} open={isOpen(trial)} name={name} />
      {trial.why ? <p className="ed-trial-why">{trial.why}</p> : null}
      {trial.outcome ? <Outcome {...{ editor, trial, name }} /> : null}
    </>
  );
}

const NEAR = 24;

/** It follows its end for as long as the reader is at the end. */
function Log({ lines, open, name }: { lines: LogLine[]; open: boolean; name: string }) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each line that came.
  useLayoutEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  return (
    <>
      <h3 className="ed-test-heading">{say("trialLog")}</h3>
      {lines.length === 0 ? (
        <p className="muted small">{open ? say("trialLogWaits") : say("trialLogEmpty")}</p>
      ) : (
        <div
          ref={box}
          className="log log-wrapped ed-trial-log"
          role="region"
          aria-label={say("trialLogOf", name)}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keyboard too.
          tabIndex={0}
          onScroll={({ currentTarget: log }) => {
            atEnd.current = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR;
          }}
        >
          <table>
            <tbody>
              {lines.map(({ number, seconds, text }) => (
                <tr key={number}>
                  <td className="log-time">{seconds.toFixed(1)}</td>
                  <td>{text}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

const TONES: Record<string, [tone: string, icon: string]> = {
  success: ["ok", "check"],
  failure: ["danger", "danger"],
};

function Outcome({ editor, trial, name }: Omit<Shown, "lines">) {
  const [tone, icon] = TONES[trial.result] ?? ["neutral", "info"];
  const code = trial.outcome?.exit_code;
  return (
    <section className="ed-trial-outcome" aria-label={say("trialOutcome")}>
      <h3 className="ed-test-heading">{say("trialOutcome")}</h3>
      <p className="row">
        <span className={`pill pill-${tone}`}>
          <Icon name={icon} size={12} /> {resultWord(trial.result)}
        </span>
        {typeof code === "number" ? <span className="small">{say("trialExitCode", String(code))}</span> : null}
      </p>
      {trial.summary ? <p className="small ed-trial-said">{trial.summary}</p> : null}
      <details className="ed-test-form">
        <summary>
          <Icon name="chevron-right" size={12} /> {say("trialWhole")}
        </summary>
        <pre className="ed-trial-json small">{trial.text}</pre>
      </details>
      <div className="row">
        <button
          type="button"
          className="button"
          onClick={() => testOf(editor).use(trial.station, trial.outcome ?? {}, name)}
        >
          <Icon name="flask" size={14} /> <span>{say("trialUse")}</span>
        </button>
      </div>
    </section>
  );
}

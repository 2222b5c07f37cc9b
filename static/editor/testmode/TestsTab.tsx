import { useEffect } from "react";
import type { Covered, Kept, Row } from "../api/walk";
import type { TabProps } from "../inspector/tab";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type LineDocument, rulesOf } from "../store/document";
import { ruleName } from "../store/names";
import type { Editor } from "../store/store";
import { testOf, useTest } from "./session";

/** The tests of the line: run against what is drawn, opened, made; and which rules they cover. */
export function TestsTab({ editor, line, findings, chosen, mayEdit }: TabProps) {
  const test = testOf(editor);
  const { kept, doing, refusal, coverage } = useTest(editor);
  useEffect(() => void test.load(), [test]);
  return (
    <section className="ed-tests" aria-label={say("tests")} aria-busy={doing !== undefined}>
      <div className="row">
        <button type="button" className="button button-small" onClick={() => test.begin()}>
          <Icon name="flask" size={14} /> <span>{say("testNew")}</span>
        </button>
        <button
          type="button"
          className="button button-small"
          disabled={doing !== undefined || !kept?.scenarios.length}
          onClick={() => void test.runAll()}
        >
          <Icon name="run" size={14} /> <span>{doing === "run" ? say("testsRunning") : say("testsRun")}</span>
        </button>
        {mayEdit ? (
          <button
            type="button"
            className="button button-small"
            disabled={doing !== undefined}
            onClick={() => void test.generate()}
          >
            <span>{doing === "generate" ? say("testsMaking") : say("testsMake")}</span>
          </button>
        ) : null}
      </div>
      {refusal ? (
        <p className="field-error" role="alert">
          {refusal}
        </p>
      ) : null}
      {kept?.coverage ? <Coverage test={test} coverage={kept.coverage} on={coverage} /> : null}
      {chosen.what === "station" && kept?.coverage ? (
        <ul className="ed-tests-rules">
          {rulesOf(chosen.station).map((rule, index) => (
            <li key={rule.id}>
              <span className="ed-number">{index + 1}</span>{" "}
              <span className="grow">{rule.label || findings.rules[rule.id]?.words}</span>
              <Mark state={kept.coverage?.rules[rule.id]} />
            </li>
          ))}
        </ul>
      ) : null}
      {kept ? <List {...{ editor, kept, mayEdit }} /> : <p className="muted small">{say("loading")}</p>}
      <Missing line={line} kept={kept} />
    </section>
  );
}

function Coverage({
  test,
  coverage,
  on,
}: {
  test: ReturnType<typeof testOf>;
  coverage: NonNullable<Kept["coverage"]>;
  on: boolean;
}) {
  return (
    <div className="ed-tests-coverage">
      <p>
        <strong>{say("covered", String(coverage.taken), String(coverage.all), String(coverage.percent))}</strong>
      </p>
      <progress max={Math.max(1, coverage.all)} value={coverage.taken} aria-label={say("coverage")} />
      {coverage.words.map((words) => (
        <p key={words} className="muted small">
          {words}
        </p>
      ))}
      <label className="ed-tests-check">
        <input type="checkbox" checked={on} onChange={(event) => test.showCoverage(event.target.checked)} />{" "}
        {say("coverageOnCanvas")}
      </label>
    </div>
  );
}

const MARKS: Record<Covered, [tone: string, icon: string, word: "coveredTaken" | "coveredTested" | "coveredNever"]> = {
  taken: ["ok", "check", "coveredTaken"],
  tested: ["attention", "warning", "coveredTested"],
  never: ["neutral", "minus", "coveredNever"],
};

function Mark({ state }: { state: Covered | undefined }) {
  const [tone, icon, word] = MARKS[state ?? "never"];
  return (
    <span className={`pill pill-${tone}`}>
      <Icon name={icon} size={12} /> {say(word)}
    </span>
  );
}

function List({ editor, kept, mayEdit }: { editor: Editor; kept: Kept; mayEdit: boolean }) {
  if (kept.scenarios.length === 0) return <p className="muted">{say("testsNone")}</p>;
  return (
    <ul className="ed-tests-list">
      {kept.scenarios.map((row) => (
        <li key={row.key}>
          <Scenario {...{ editor, row, mayEdit }} />
        </li>
      ))}
      {kept.total > kept.scenarios.length ? (
        <li className="muted small">{say("testsMore", String(kept.total - kept.scenarios.length))}</li>
      ) : null}
    </ul>
  );
}

function Scenario({ editor, row, mayEdit }: { editor: Editor; row: Row; mayEdit: boolean }) {
  const test = testOf(editor);
  return (
    <>
      <div className="row">
        <span className="grow">
          <button
            type="button"
            className="ed-test-place"
            aria-label={say("testOpen", row.name)}
            onClick={() => test.begin(row.document)}
          >
            {row.name}
          </button>
          <span className="muted small">{say("testSource", row.source, String(row.steps))}</span>
        </span>
        <Ran run={row.run} />
        {mayEdit ? (
          <button
            type="button"
            className="button button-quiet button-icon button-small"
            aria-label={say("testRemove", row.name)}
            title={say("testRemove", row.name)}
            onClick={() => void test.remove(row.key)}
          >
            <Icon name="delete" size={14} />
          </button>
        ) : null}
      </div>
      {row.run && !row.run.holds
        ? row.run.failures.map((each) => (
            <p key={each} className="field-error">
              {each}
            </p>
          ))
        : null}
    </>
  );
}

function Ran({ run }: { run: Row["run"] }) {
  if (!run) return <span className="pill">{say("testNotRun")}</span>;
  const old = run.current ? "" : ` ${say("testOld")}`;
  return (
    <span className={`pill ${run.current ? `pill-${run.holds ? "ok" : "danger"}` : ""}`}>
      <Icon name={run.holds ? "check" : "x"} size={12} /> {say(run.holds ? "testHolds" : "testFails")}
      {old}
    </span>
  );
}

function Missing({ line, kept }: { line: LineDocument; kept: Kept | undefined }) {
  const missing = kept?.missing ?? [];
  if (missing.length === 0) return null;
  return (
    <div className="ed-test-note ed-test-note-attention">
      <Icon name="warning" />
      <div>
        <strong>{say("testsMissing", String(missing.length))}</strong>
        {kept?.stopped ? <span>{say("testsStopped")}</span> : null}
        <ul>
          {missing.slice(0, 100).map((each) => (
            <li key={each.rule}>
              <strong>{ruleName(line, each.rule)}</strong> {each.why}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

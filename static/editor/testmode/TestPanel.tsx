import { useEffect, useRef, useState } from "react";
import type { Problem } from "../api/door";
import type { Token, Walked } from "../api/walk";
import { gliding } from "../canvas/gliding";
import { action } from "../shell/actions";
import type { Desk } from "../shell/desk";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { useEditor } from "../store/store";
import { Choices, Question } from "./Choices";
import { OutcomeForm } from "./OutcomeForm";
import { StartForm } from "./StartForm";
import { type Session, type Test, testOf, useTest } from "./session";
import { Timeline } from "./Timeline";

/** A walk through the line that is drawn: where it stands, what may happen next, what happened, and why. */
export function TestPanel({ desk }: { desk: Desk }) {
  const { editor, mayEdit } = desk;
  const test = testOf(editor);
  const session = useTest(editor);
  const { walked, script } = session;
  useInView(desk, walked?.tokens.find((token) => !token.over)?.station);
  const keep = useFocusKept(walked);
  return (
    <aside className="ed-test" aria-label={say("testTitle")} aria-busy={session.busy} onFocus={keep}>
      <header className="ed-test-head">
        <Icon name="flask" />
        <h2 id="ed-test-title" className="grow" tabIndex={-1}>
          {script ? script.name : say("testTitle")}
        </h2>
        <button
          type="button"
          className="button button-quiet button-icon"
          aria-label={say("testRestart")}
          title={`${say("testRestart")} (Shift+R)`}
          onClick={() => test.begin(undefined)}
        >
          <Icon name="retry" />
        </button>
        <button
          type="button"
          className="button button-quiet button-icon"
          aria-label={say("testClose")}
          title={`${say("testClose")} (Shift+T)`}
          onClick={() => action("test").run(desk)}
        >
          <Icon name="x" />
        </button>
      </header>
      <div className="ed-test-body">
        <Problems problems={session.problems} again={() => test.again()} />
        <Differs desk={desk} session={session} />
        {walked && session.problems.length === 0 ? <Body {...{ desk, session, walked }} /> : null}
        {mayEdit && session.steps.length > 0 && session.cursor > 0 ? <Keep desk={desk} session={session} /> : null}
      </div>
    </aside>
  );
}

/** A choice that was taken is gone: who works by keyboard goes on at where the test now stands. */
function useFocusKept(walked: Walked | undefined): () => void {
  const inside = useRef(false);
  useEffect(() => {
    const came = (event: FocusEvent): void => {
      inside.current = event.target instanceof Element && event.target.closest(".ed-test") !== null;
    };
    document.addEventListener("focusin", came);
    return () => document.removeEventListener("focusin", came);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each step, and not otherwise.
  useEffect(() => {
    if (!inside.current || document.activeElement !== document.body) return;
    const next = document.querySelector<HTMLElement>(".ed-test-place") ?? document.getElementById("ed-test-title");
    next?.focus();
  }, [walked]);
  return () => {
    inside.current = true;
  };
}

/** Where the test stands is brought into view, where it is not. */
function useInView({ flow }: Desk, station: string | undefined): void {
  useEffect(() => {
    const node = station === undefined ? undefined : flow.getNode(station);
    const pane = document.querySelector(".ed-canvas")?.getBoundingClientRect();
    if (!node || !pane) return;
    const { x, y } = flow.flowToScreenPosition(node.position);
    if (x >= pane.left && y >= pane.top && x <= pane.right && y <= pane.bottom) return;
    void flow.setCenter(node.position.x + (node.width ?? 0) / 2, node.position.y + (node.height ?? 0) / 2, {
      zoom: flow.getZoom(),
      duration: gliding(),
    });
  }, [flow, station]);
}

function Body({ desk, session, walked }: { desk: Desk; session: Session; walked: Walked }) {
  const test = testOf(desk.editor);
  return (
    <>
      {session.cursor === 0 && walked.inputs.length > 0 ? (
        <StartForm test={test} inputs={walked.inputs} given={session.inputs} />
      ) : null}
      <section aria-label={say("testNow")} className="ed-test-now">
        {walked.tokens.map((token, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: several may stand at one station, told apart by nothing else.
          <Here key={`${token.station} ${index}`} desk={desk} session={session} token={token} />
        ))}
        {walked.over ? <Ended word={walked.word} walked={walked} /> : null}
      </section>
      {walked.failures.length > 0 ? (
        <Note tone="danger">
          <strong>{say("testExpected")}</strong>
          {walked.failures.map((each) => (
            <span key={each}>{each}</span>
          ))}
        </Note>
      ) : null}
      <Timeline test={test} session={session} walked={walked} />
      {walked.why ? (
        <section className="ed-test-why" aria-label={say("why")}>
          <h3 className="ed-test-heading">{say("why")}</h3>
          {/* biome-ignore lint/security/noDangerouslySetInnerHtml: from a template of the server that escapes everything. */}
          <div dangerouslySetInnerHTML={{ __html: walked.why }} />
        </section>
      ) : null}
    </>
  );
}

/** One token: where it stands, what that means, and what may happen to it. */
function Here({ desk, session, token }: { desk: Desk; session: Session; token: Token }) {
  const test = testOf(desk.editor);
  if (token.over) {
    return (
      <p className="ed-test-token">
        <strong>{token.name}</strong> <Pill token={token} word={`${token.word}: ${token.end}`} />
        {token.error ? <code className="small">{token.error}</code> : null}
      </p>
    );
  }
  return (
    <div className="ed-test-token" role="group" aria-label={token.name}>
      <p className="row">
        <button type="button" className="ed-test-place" onClick={() => desk.editor.select({ keys: [token.station] })}>
          {token.name}
        </button>
        <Pill token={token} word={token.word} />
      </p>
      {token.text ? (
        <Note tone={token.tone}>
          <strong>{token.text}</strong>
          <span>{token.remedy}</span>
          {token.error ? <code className="small">{token.error}</code> : null}
        </Note>
      ) : null}
      {token.feedback ? <p className="muted small">{say("testFeedback", token.feedback)}</p> : null}
      {token.facts.length > 0 ? (
        <details className="ed-test-facts">
          <summary className="small">
            <Icon name="chevron-right" size={12} /> {say("testFacts")}
          </summary>
          <ul className="small muted">
            {token.facts.map((fact) => (
              <li key={fact}>{fact}</li>
            ))}
          </ul>
        </details>
      ) : null}
      {token.question ? (
        <Question test={test} token={token} several={(session.walked?.tokens.length ?? 0) > 1} />
      ) : null}
      {token.form && session.pinned[token.station] ? <UsePinned test={test} station={token.station} /> : null}
      <Choices test={test} token={token} line={desk.editor.line} />
      {token.form ? (
        <OutcomeForm
          key={`${token.station} ${session.cursor}`}
          test={test}
          token={token}
          form={token.form}
          faults={session.faults}
          several={(session.walked?.tokens.length ?? 0) > 1}
        />
      ) : null}
    </div>
  );
}

/** The outcome of a real run of this station. */
function UsePinned({ test, station }: { test: Test; station: string }) {
  return (
    <button type="button" className="button ed-test-pinned" onClick={() => test.choosePinned(station)}>
      <Icon name="run" size={14} /> <span>{say("trialUsePinned")}</span>
    </button>
  );
}

const ICONS: Record<string, string> = {
  queued: "run",
  completed: "end-completed",
  failed: "end-failed",
  cancelled: "end-cancelled",
};

function Pill({ token, word }: { token: Token; word: string }) {
  return (
    <span className={`pill pill-${token.tone}`}>
      <Icon name={ICONS[token.status] ?? `status-${token.status}`} size={12} /> {word}
    </span>
  );
}

function Ended({ word, walked }: { word: string; walked: Walked }) {
  const end = walked.tokens.map((token) => token.end).filter(Boolean);
  return (
    <p className="ed-test-ended" role="status">
      {say("testEnded", end.length === 1 ? `${word}, ${end[0]}` : word)}
    </p>
  );
}

function Note({ tone, children }: { tone: string; children: React.ReactNode }) {
  const icon = tone === "danger" ? "danger" : tone === "attention" ? "warning" : "info";
  return (
    <div className={`ed-test-note ed-test-note-${tone}`}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

function Problems({ problems, again }: { problems: Problem[]; again(): void }) {
  if (problems.length === 0) return null;
  return (
    <div className="ed-test-note ed-test-note-danger" role="alert">
      <Icon name="danger" />
      <div>
        {problems.some((each) => each.path) ? <strong>{say("testNoLine")}</strong> : null}
        {problems.slice(0, 5).map((each) => (
          <span key={`${each.path} ${each.message}`}>
            {each.path ? <code>{each.path}</code> : null} {each.message} {each.hint}
          </span>
        ))}
        {problems.every((each) => !each.path) ? (
          <button type="button" className="button button-small" onClick={again}>
            {say("retry")}
          </button>
        ) : null}
      </div>
    </div>
  );
}

/** Since the line was edited the same steps lead elsewhere. */
function Differs({ desk, session }: { desk: Desk; session: Session }) {
  const { differs } = session;
  const test = testOf(desk.editor);
  if (!differs) return null;
  return (
    <div className="ed-test-note ed-test-note-attention" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{say("testDiffers", String(differs.step))}</strong>
        <span>{say("testWas", differs.was)}</span>
        <span>{say("testIs", differs.now)}</span>
        <p className="row">
          <button type="button" className="button button-small" onClick={() => test.goTo(differs.step)}>
            {say("testGoThere")}
          </button>
          <button type="button" className="button button-small" onClick={() => test.settleDifference()}>
            {say("testKeepGoing")}
          </button>
        </p>
      </div>
    </div>
  );
}

/** The walk as a scenario of the line: in its own place where one was opened, or under a name. */
function Keep({ desk, session }: { desk: Desk; session: Session }) {
  useEditor(desk.editor);
  const test = testOf(desk.editor);
  const { script } = session;
  const [name, setName] = useState("");
  const keep = async (): Promise<void> => {
    if (name.trim() && (await test.keep(name.trim()))) setName("");
  };
  const id = "ed-test-name";
  return (
    <form
      className="ed-test-keep"
      onSubmit={(event) => {
        event.preventDefault();
        void keep();
      }}
    >
      <h3 className="ed-test-heading">{say("testKeep")}</h3>
      {script ? (
        <button
          type="button"
          className="button"
          disabled={session.doing === "keep"}
          onClick={() => void test.keep(script.name, script.key)}
        >
          {say("testReplace", script.name)}
        </button>
      ) : null}
      <div className="field">
        <label className="field-label" htmlFor={id}>
          {script ? say("testKeepAs") : say("name")}
        </label>
        <div className="row">
          <input
            id={id}
            className="input"
            value={name}
            maxLength={200}
            onChange={(event) => setName(event.target.value)}
          />
          <button type="submit" className="button" disabled={!name.trim() || session.doing === "keep"}>
            {say("save")}
          </button>
        </div>
        <p className="field-help">{say("testKeepHelp")}</p>
        {session.refusal ? (
          <p className="field-error" role="alert">
            {session.refusal}
          </p>
        ) : null}
      </div>
    </form>
  );
}

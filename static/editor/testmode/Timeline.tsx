import type { KeyboardEvent } from "react";
import type { Walked } from "../api/walk";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import type { Session, Test } from "./session";

/** The steps: a click, or the arrow keys, go back to any of them and forward again. */
export function Timeline({ test, session, walked }: { test: Test; session: Session; walked: Walked }) {
  const last = walked.timeline.length - 1;
  const { cursor } = session;
  const go = (event: KeyboardEvent): void => {
    const to = {
      ArrowUp: cursor - 1,
      ArrowDown: cursor + 1,
      ArrowLeft: cursor - 1,
      ArrowRight: cursor + 1,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const bound = Math.max(0, Math.min(to, last));
    test.goTo(bound);
    event.currentTarget.querySelectorAll<HTMLElement>(".ed-test-step")[bound]?.focus();
  };
  return (
    <section className="ed-test-timeline" aria-label={say("testSteps")}>
      <div className="row">
        <h3 className="ed-test-heading grow">{say("testSteps")}</h3>
        <Move test={test} icon="chevron-left" word={say("testBack")} keys="←" to={cursor - 1} off={cursor === 0} />
        <span className="muted small">{say("testPlace", String(cursor), String(last))}</span>
        <Move
          test={test}
          icon="chevron-right"
          word={say("testForward")}
          keys="→"
          to={cursor + 1}
          off={cursor >= last}
        />
      </div>
      <ol onKeyDown={go}>
        {walked.timeline.map((item) => (
          <li key={item.number}>
            <button
              type="button"
              className="ed-test-step"
              data-tone={item.tone}
              data-later={item.number > cursor || undefined}
              aria-current={item.number === cursor ? "step" : undefined}
              tabIndex={item.number === cursor ? 0 : -1}
              onClick={() => test.goTo(item.number)}
            >
              <span className="ed-number">{item.number}</span>
              <span className="ed-test-step-words">
                <span>
                  <strong>{item.name}</strong> <span className="muted">{item.did}</span>
                </span>
                <span>{item.went}</span>
              </span>
            </button>
          </li>
        ))}
        {walked.refused ? (
          <li className="ed-test-note ed-test-note-danger">
            <Icon name="danger" />
            <div>
              <strong>{say("testRefused", String(walked.refused.step))}</strong>
              <span>{walked.refused.message}</span>
              <button type="button" className="button button-small" onClick={() => test.drop()}>
                {say("testDrop")}
              </button>
            </div>
          </li>
        ) : null}
      </ol>
    </section>
  );
}

function Move({
  test,
  icon,
  word,
  keys,
  to,
  off,
}: {
  test: Test;
  icon: string;
  word: string;
  keys: string;
  to: number;
  off: boolean;
}) {
  return (
    <button
      type="button"
      className="button button-quiet button-icon button-small"
      aria-label={word}
      title={`${word} (${keys})`}
      disabled={off}
      onClick={() => test.goTo(to)}
    >
      <Icon name={icon} size={14} />
    </button>
  );
}

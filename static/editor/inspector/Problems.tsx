import { useEffect, useMemo, useState } from "react";
import { intoField } from "../shell/focus";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type Cause, causesOf, isGrave } from "../store/causes";
import { remedy } from "../store/commands-edits";
import type { Finding } from "../store/findings";
import { checking, type Editor, useEditor } from "../store/store";
import { paintWay } from "../testmode/overlay";
import { Remedies } from "./Remedies";

const ICONS = { error: "danger", warning: "warning", info: "info" } as const;
/** Rows that are drawn; the others are counted. */
const MOST = 100;
const NONE: Finding[] = [];
/** A field of the work of a station. */
const WORK = /^stations\[\d+\]\.(work\.\w+)/;
const BROKEN = "broken-guarantee";

const keyOf = ({ check, path, message }: Finding): string => `${check} ${path} ${message}`;

interface Shown {
  editor: Editor;
  show(key: string): void;
  mayEdit: boolean;
}

/** What lint finds in this draft; choosing one selects its place and brings it into view. */
export function Problems({ editor, show, mayEdit, open, fold }: Shown & { open: boolean; fold(): void }) {
  const { findings, history } = useEditor(editor);
  const unknown = useEditor(editor, checking);
  const all = findings.findings;
  const line = history.line;
  const grave = useMemo(() => causesOf(all.filter(isGrave), line), [all, line]);
  const notes = all.filter((finding) => finding.severity === "info");
  return (
    <section className="ed-problems" aria-label={say("problems")}>
      <button type="button" className="ed-problems-head" aria-expanded={open} onClick={fold}>
        <strong>{say("problems")}</strong> <span className="count">{unknown ? say("checking") : grave.length}</span>
        <span className="push">
          <Icon name={open ? "chevron-down" : "chevron-up"} />
        </span>
      </button>
      {open ? (
        <div className="ed-problem-list">
          {mayEdit ? <FixAll editor={editor} causes={grave} /> : null}
          <Causes causes={grave} {...{ editor, show, mayEdit }} />
          {all.length === 0 ? (
            <p className="ed-problem muted">{unknown ? say("checking") : say("noProblems")}</p>
          ) : null}
          {notes.length > 0 ? <Notes notes={notes} leftOut={findings.left_out} {...{ editor, show, mayEdit }} /> : null}
        </div>
      ) : null}
    </section>
  );
}

/** What every problem is put right by, one after the other, as one change: what that leaves is told by the next answer. */
function FixAll({ editor, causes }: { editor: Editor; causes: readonly Cause[] }) {
  const edits = causes.flatMap(({ first }) => first.remedies[0]?.edits ?? []);
  const count = causes.filter(({ first }) => first.remedies.length > 0).length;
  if (count < 2) return null;
  const label = say("fixAll", String(count));
  return (
    <p className="ed-fix-all ed-remedies">
      <button
        type="button"
        className="button button-small"
        onClick={() => editor.run(remedy({ label, icon: "check", edits }))}
      >
        <Icon name="check" size={14} /> <span>{label}</span>
      </button>
    </p>
  );
}

function Causes({ causes, ...shown }: Shown & { causes: readonly Cause[] }) {
  return (
    <ul className="ed-problem-rows">
      {causes.slice(0, MOST).map(({ first, others }) => (
        <Row key={keyOf(first)} finding={first} others={others} {...shown} />
      ))}
      {causes.length > MOST ? (
        <li className="ed-problem muted">{say("moreProblems", String(causes.length - MOST))}</li>
      ) : null}
    </ul>
  );
}

/** The way of a task that breaks a guarantee, on the canvas as a test paints one, until it is taken back. */
function Path({ editor, rules }: { editor: Editor; rules: readonly string[] }) {
  const line = useEditor(editor, ({ history }) => history.line);
  const [shown, setShown] = useState(false);
  useEffect(() => (shown ? paintWay(line, rules) : undefined), [shown, line, rules]);
  return (
    <p>
      <button
        type="button"
        className="button button-small"
        aria-pressed={shown}
        onClick={() => setShown((now) => !now)}
      >
        <Icon name="station-route" size={14} /> <span>{say("showPath")}</span>
      </button>
    </p>
  );
}

/** What goes with a problem when it is put right. */
function Others({ others, ...shown }: Shown & { others: Finding[] }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="ed-others" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say("sameCause", String(others.length))}</summary>
      {open ? <List findings={others} {...shown} /> : null}
    </details>
  );
}

function Notes({ notes, leftOut, ...shown }: Shown & { notes: Finding[]; leftOut: number }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="ed-notes" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say("notes", String(notes.length + leftOut))}</summary>
      {open ? <List findings={notes} leftOut={leftOut} {...shown} /> : null}
    </details>
  );
}

function List({ findings, leftOut = 0, ...shown }: Shown & { findings: Finding[]; leftOut?: number }) {
  const more = Math.max(0, findings.length - MOST) + leftOut;
  return (
    <ul className="ed-problem-rows">
      {findings.slice(0, MOST).map((finding) => (
        <Row key={keyOf(finding)} finding={finding} others={NONE} {...shown} />
      ))}
      {more > 0 ? <li className="ed-problem muted">{say("moreProblems", String(more))}</li> : null}
    </ul>
  );
}

function Row({ finding, others, editor, show, mayEdit }: Shown & { finding: Finding; others: Finding[] }) {
  const { station, rule, gate } = finding;
  const choose = (): void => {
    if (!station && !gate) {
      // What is said of the line itself stands in its own form.
      editor.select({ keys: [] });
      editor.showTab("configure");
      return;
    }
    if (!station) {
      editor.select({ keys: [], ...(gate ? { gate } : {}) });
      return;
    }
    editor.select({ keys: [station], ...(rule ? { rule } : {}) });
    show(station);
    const field = WORK.exec(finding.path)?.[1];
    if (field === undefined) return;
    editor.showTab("configure");
    intoField(field);
  };
  return (
    <li className={`ed-problem ed-problem-${finding.severity}`} data-check={finding.check}>
      <Icon name={ICONS[finding.severity]} />
      <div className="ed-problem-body">
        <p>
          <button type="button" className="ed-problem-words" onClick={choose}>
            <strong>{finding.message}</strong>
          </button>{" "}
          {finding.hint ? <span className="muted">{finding.hint} </span> : null}
          <a className="ed-problem-check" href={finding.help} target="_blank" rel="noopener">
            {say("helpShort")}
          </a>
        </p>
        {finding.witness ? (
          <p className="ed-example">
            {say("forExample")} <code>{finding.witness}</code>
          </p>
        ) : null}
        {finding.check === BROKEN && finding.rules.length > 0 ? <Path editor={editor} rules={finding.rules} /> : null}
        {others.length > 0 ? <Others others={others} {...{ editor, show, mayEdit }} /> : null}
      </div>
      {mayEdit ? <Remedies editor={editor} remedies={finding.remedies} /> : null}
    </li>
  );
}

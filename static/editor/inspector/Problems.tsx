import { useState } from "react";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import type { Finding } from "../store/findings";
import { checking, type Editor, useEditor } from "../store/store";
import { Remedies } from "./Remedies";

const ICONS = { error: "danger", warning: "warning", info: "info" } as const;
/** Rows that are drawn; the others are counted. */
const MOST = 100;

interface Shown {
  editor: Editor;
  show(key: string): void;
  mayEdit: boolean;
}

/** What lint finds in this draft; choosing one selects its place and brings it into view. */
export function Problems({ editor, show, mayEdit, open, fold }: Shown & { open: boolean; fold(): void }) {
  const { findings } = useEditor(editor);
  const unknown = useEditor(editor, checking);
  const all = findings.findings;
  const grave = all.filter((finding) => finding.severity !== "info");
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
          <List findings={grave} {...{ editor, show, mayEdit }} />
          {all.length === 0 ? (
            <p className="ed-problem muted">{unknown ? say("checking") : say("noProblems")}</p>
          ) : null}
          {notes.length > 0 ? <Notes notes={notes} leftOut={findings.left_out} {...{ editor, show, mayEdit }} /> : null}
        </div>
      ) : null}
    </section>
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
        <Row key={`${finding.check} ${finding.path} ${finding.message}`} finding={finding} {...shown} />
      ))}
      {more > 0 ? <li className="ed-problem muted">{say("moreProblems", String(more))}</li> : null}
    </ul>
  );
}

function Row({ finding, editor, show, mayEdit }: Shown & { finding: Finding }) {
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
            {finding.check}
          </a>
        </p>
        {finding.witness ? (
          <p className="ed-example">
            {say("forExample")} <code>{finding.witness}</code>
          </p>
        ) : null}
      </div>
      {mayEdit ? <Remedies editor={editor} remedies={finding.remedies} /> : null}
    </li>
  );
}

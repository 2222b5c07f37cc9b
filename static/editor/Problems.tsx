import { useState } from "react";

import type { Finding } from "./findings";
import { Icon } from "./Icon";
import { type Editor, useEditor } from "./store";
import { say } from "./words";

const ICONS = { error: "danger", warning: "warning", info: "info" } as const;

/** What lint finds in this draft; choosing one selects its place and brings it into view. */
export function Problems({ editor, show }: { editor: Editor; show(key: string): void }) {
  const { findings } = useEditor(editor);
  const all = findings.findings;
  const grave = all.filter((finding) => finding.severity !== "info");
  const notes = all.filter((finding) => finding.severity === "info");
  const [open, setOpen] = useState(true);
  const choose = (finding: Finding): void => {
    if (!finding.station) return;
    editor.select({ keys: [finding.station], ...(finding.rule ? { rule: finding.rule } : {}) });
    show(finding.station);
  };
  return (
    <section className="ed-problems" aria-label={say("problems")}>
      <button type="button" className="ed-problems-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <strong>{say("problems")}</strong> <span className="count">{grave.length}</span>
        <span className="push">
          <Icon name={open ? "chevron-down" : "chevron-up"} />
        </span>
      </button>
      {open ? (
        <div className="ed-problem-list">
          <List findings={grave} choose={choose} />
          {all.length === 0 ? <p className="ed-problem muted">{say("noProblems")}</p> : null}
          {notes.length > 0 ? (
            <details className="ed-notes">
              <summary>{say("notes", String(notes.length))}</summary>
              <List findings={notes} choose={choose} />
            </details>
          ) : null}
        </div>
      ) : null}
    </section>
  );
}

function List({ findings, choose }: { findings: Finding[]; choose(finding: Finding): void }) {
  return (
    <ul className="ed-problem-rows">
      {findings.map((finding) => (
        <li key={`${finding.check} ${finding.path} ${finding.message}`} className={`ed-problem ed-problem-${finding.severity}`}>
          <Icon name={ICONS[finding.severity]} />
          <button type="button" className="ed-problem-words" onClick={() => choose(finding)} disabled={!finding.station}>
            <strong>{finding.message}</strong> <span className="muted">{finding.hint}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

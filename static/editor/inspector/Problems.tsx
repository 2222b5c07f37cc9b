import { useMemo, useState } from "react";
import { intoField } from "../shell/focus";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type Cause, causesOf, isGrave } from "../store/causes";
import { type Remedy, remedy } from "../store/commands-edits";
import type { Finding, Findings } from "../store/findings";
import { ruleName } from "../store/names";
import { checking, type Editor, unsavedOf, useEditor } from "../store/store";
import type { Unsaved } from "../store/unsaved";
import { DrawerHead, Of, toLine } from "./DrawerHead";
import { asFix, Remedies } from "./Remedies";

const ICONS = { error: "danger", warning: "warning", info: "info" } as const;
/** Rows that are drawn; the others are counted. */
const MOST = 100;
const NONE: Finding[] = [];
/** A field of the work of a station, or of the line itself. */
const FIELD = /^(?:stations\[\d+\]\.)?((?:work|workspace)(?:\.\w+)+)/;

const keyOf = ({ check, path, message }: Finding): string => `${check} ${path} ${message}`;

interface Shown {
  editor: Editor;
  show(key: string): void;
  mayEdit: boolean;
}

/** Findings of lint in this draft; choosing one selects its place and brings it into view. */
export function Problems({ editor, show, mayEdit, open, fold }: Shown & { open: boolean; fold(): void }) {
  const { findings, history, unsaved } = useEditor(editor);
  const refused = unsavedOf({ unsaved, history });
  const unknown = useEditor(editor, checking);
  const all = findings.findings;
  const line = history.line;
  const grave = useMemo(() => causesOf(all.filter(isGrave), line), [all, line]);
  const notes = all.filter((finding) => finding.severity === "info");
  return (
    <section className="ed-problems" aria-label={say("problems")}>
      <DrawerHead
        title={say("problems")}
        count={unknown ? say("checking") : grave.length + refused.length}
        open={open}
        fold={fold}
      >
        {mayEdit && open ? <FixAll editor={editor} causes={grave} /> : null}
      </DrawerHead>
      {open ? (
        <div className="ed-drawer-list">
          {refused.length > 0 ? <NotSaved refused={refused} {...{ editor, show }} /> : null}
          <Causes causes={grave} {...{ editor, show, mayEdit }} />
          {grave.length + refused.length === 0 && !unknown ? <Sound findings={findings} /> : null}
          {all.length + refused.length === 0 ? (
            <p className="ed-problem muted">{unknown ? say("checking") : say("noProblems")}</p>
          ) : null}
          {notes.length > 0 ? <Notes notes={notes} leftOut={findings.left_out} {...{ editor, show, mayEdit }} /> : null}
        </div>
      ) : null}
    </section>
  );
}

/** Text that was typed and refused: it is kept in its field, and the draft has what was there before. */
function NotSaved({ refused, editor, show }: Omit<Shown, "mayEdit"> & { refused: readonly Unsaved[] }) {
  const { line } = editor;
  return (
    <div className="ed-problem-group">
      <h3 id="ed-not-saved">{say("notSaved")}</h3>
      <ul className="ed-problem-rows" aria-labelledby="ed-not-saved">
        {refused.map(({ form, field, label, why, title, selection }) => (
          <li key={`${form} ${field}`} className="ed-problem ed-problem-error" data-check="not-saved">
            <Icon name={ICONS.error} />
            <div className="ed-problem-body">
              <button
                type="button"
                className="ed-problem-words"
                onClick={() => {
                  editor.select(selection);
                  show(selection.keys[0] ?? "");
                  if (selection.rule === undefined) editor.showTab("configure");
                  intoField(field);
                }}
              >
                <strong>
                  {[selection.rule === undefined ? title(line) : ruleName(line, selection.rule), label]
                    .filter(Boolean)
                    .join(" · ")}
                </strong>
              </button>
              <p className="muted small">{why}</p>
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Numbers of a line without problems. */
function Sound({ findings: { rules, guarantees } }: { findings: Findings }) {
  const live = Object.values(rules).filter(({ status }) => status === "live" || status === "partly shadowed").length;
  const proved = guarantees.filter(({ answer }) => answer === "proved").length;
  const words = [live > 0 ? say("rulesLive", live) : "", proved > 0 ? say("promisesProved", proved) : ""];
  const summary = words.filter(Boolean).join(" · ");
  return summary ? <p className="ed-problem strong">{summary}</p> : null;
}

/** Fixes of all problems, one after the other, as one change: the rest is told by the next answer. */
function FixAll({ editor, causes }: { editor: Editor; causes: readonly Cause[] }) {
  const edits = causes.flatMap(({ first }) => first.remedies[0]?.edits ?? []);
  const count = causes.filter(({ first }) => first.remedies.length > 0).length;
  if (count < 2) return null;
  const label = say("fixAll", String(count));
  return (
    <button type="button" className="ed-drawer-link" onClick={() => editor.run(remedy({ label, edits }))}>
      {label}
    </button>
  );
}

/** Problems by their heading, in the order in which they were found. */
function groupsOf(causes: readonly Cause[]): Map<string, Cause[]> {
  const groups = new Map<string, Cause[]>();
  for (const cause of causes) groups.set(cause.first.cause, [...(groups.get(cause.first.cause) ?? []), cause]);
  return groups;
}

/** Under the heading of what they have in common, each in the order in which it was found. */
function Causes({ causes, ...shown }: Shown & { causes: readonly Cause[] }) {
  const groups = groupsOf(causes.slice(0, MOST));
  return (
    <>
      {[...groups].map(([cause, found], index) => (
        <div key={cause} className="ed-problem-group">
          <h3 id={`ed-cause-${index}`}>{cause}</h3>
          <ul className="ed-problem-rows" aria-labelledby={`ed-cause-${index}`}>
            {found.map(({ first, others }) => (
              <Row key={keyOf(first)} finding={first} others={others} {...shown} />
            ))}
          </ul>
        </div>
      ))}
      {causes.length > MOST ? (
        <p className="ed-problem muted">{say("moreProblems", String(causes.length - MOST))}</p>
      ) : null}
    </>
  );
}

/** Changes that go with a problem when it is put right. */
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
  const { rule, short } = finding;
  const chosen = useEditor(editor, ({ selection }) => rule !== null && selection.rule === rule);
  const [fix, ...more] = mayEdit ? finding.remedies : [];
  return (
    <li
      className={`ed-problem ed-problem-${finding.severity}`}
      data-check={finding.check}
      data-chosen={chosen || undefined}
    >
      <Icon name={ICONS[finding.severity]} />
      <div className="ed-problem-body">
        <div className="ed-problem-line">
          <button type="button" className="ed-problem-words" onClick={() => choose(editor, show, finding)}>
            <strong>{short}</strong>
          </button>
          {fix ? (
            <span className="ed-remedies">
              <button type="button" className="ed-drawer-link" onClick={() => editor.run(remedy(fix))}>
                {asFix(fix)}
                <Of what={short} />
              </button>
            </span>
          ) : null}
        </div>
        <Details finding={finding} editor={editor} more={more} />
        {others.length > 0 ? <Others others={others} {...{ editor, show, mayEdit }} /> : null}
      </div>
    </li>
  );
}

/** Reason of a problem in one line; unfolded what to do about it, an example, other remedies and the page about it. */
function Details({ finding, editor, more }: { finding: Finding; editor: Editor; more: readonly Remedy[] }) {
  const { short, why, hint, witness, help, cause } = finding;
  return (
    <details className="ed-problem-more">
      <summary>
        <Icon name="chevron-right" size={12} />
        <span>
          {why || hint || say("details")}
          <Of what={short} />
        </span>
      </summary>
      {why && hint ? <p>{hint}</p> : null}
      {witness ? (
        <p className="ed-example">
          {say("forExample")} <code>{witness}</code>
        </p>
      ) : null}
      <Remedies editor={editor} remedies={more} />
      <a className="link" href={help} target="_blank" rel="noopener">
        {say("helpOn", cause)}
      </a>
    </details>
  );
}

/** Selects its place and brings it into view; what is said of the line itself stands in its own form. */
function choose(editor: Editor, show: Shown["show"], { station, rule, gate, path }: Finding): void {
  const field = FIELD.exec(path)?.[1];
  if (station) editor.select({ keys: [station], ...(rule ? { rule } : {}) });
  else if (gate) editor.select({ keys: [], gate });
  else toLine(editor);
  show(station ?? "");
  if (field === undefined) return;
  editor.showTab("configure");
  intoField(field);
}

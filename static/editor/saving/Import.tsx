import { useEffect, useId, useRef } from "react";
import { useStore } from "zustand";
import type { Problem } from "../api/door";
import type { Changes, Read } from "../api/line";
import { DialogHead } from "../shell/DialogHead";

import type { Desk } from "../shell/desk";
import { backToCanvas } from "../shell/focus";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import type { Editor } from "../store/store";
import { countOf, importOf } from "./importing";

/** Takes a whole document into this line: given, read, looked at, applied. */
export function Import({ desk }: { desk: Desk }) {
  const importing = importOf(desk.editor);
  const { open } = useStore(importing.store);
  return open ? <ImportDialog desk={desk} /> : null;
}

function ImportDialog({ desk }: { desk: Desk }) {
  const importing = importOf(desk.editor);
  const { text, name, result } = useStore(importing.store);
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const choose = useRef<HTMLInputElement>(null);
  const resultBox = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    const from = document.activeElement;
    dialog.current?.showModal();
    field.current?.focus();
    return () => void requestAnimationFrame(() => giveBack(from, desk.editor));
  }, [desk.editor]);
  useEffect(() => {
    // The button that asked is gone; who writes stays where they write.
    if (["read", "refused", "failed"].includes(result.is) && document.activeElement !== field.current)
      resultBox.current?.focus();
  }, [result]);
  const apply = async (): Promise<void> => {
    if (!(await importing.apply())) return;
    window.setTimeout(desk.fit, 50);
  };
  /** The place stands on the screen, marked: a line of the text where nobody has to count. */
  const goTo = (problem: Problem): void => {
    const area = field.current;
    if (!area) return;
    const line = problem.line ?? 1;
    const column = problem.column ?? 1;
    const before = text.split("\n").slice(0, line - 1);
    const start = before.reduce((sum, each) => sum + each.length + 1, 0);
    const end = text.indexOf("\n", start);
    area.focus();
    area.setSelectionRange(start + column - 1, end < 0 ? text.length : Math.max(end, start + column - 1));
    const height = area.scrollHeight / Math.max(text.split("\n").length, 1);
    area.scrollTop = Math.max(0, (line - 3) * height);
  };
  const reading = result.is === "reading";
  return (
    <dialog
      ref={dialog}
      className="dialog dialog-wide ed-import"
      aria-labelledby={`${id}-title`}
      data-stay=""
      onClose={() => importing.close()}
    >
      <DialogHead id={`${id}-title`} title={say("importTitle")} close={() => dialog.current?.close()} />
      <div className="dialog-body">
        <p className="muted">{say("importWords")}</p>
        <div className="field">
          <div className="row">
            <label className="field-label grow" htmlFor={`${id}-text`}>
              {say("importText")}
            </label>
            {name ? <span className="muted small truncate">{name}</span> : null}
            <button type="button" className="button button-small" onClick={() => choose.current?.click()}>
              <Icon name="file" /> <span>{say("importFile")}</span>
            </button>
          </div>
          <input
            ref={choose}
            type="file"
            hidden
            aria-label={say("importFile")}
            accept=".yaml,.yml,.json,text/yaml,application/json"
            onChange={(event) => {
              const file = event.target.files?.[0];
              event.target.value = "";
              if (file) void importing.file(file);
            }}
          />
          <textarea
            ref={field}
            id={`${id}-text`}
            className="input input-code ed-import-text"
            rows={result.is === "none" ? 16 : 8}
            spellCheck={false}
            autoCapitalize="off"
            wrap="off"
            placeholder={say("importHint")}
            aria-describedby={`${id}-said`}
            aria-invalid={result.is === "refused" || undefined}
            value={text}
            onChange={(event) => importing.typed(event.target.value)}
            onPaste={() => window.setTimeout(() => void importing.read())}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void importing.read();
            }}
          />
        </div>
        <div ref={resultBox} id={`${id}-said`} className="stack stack-8 ed-import-said" tabIndex={-1}>
          {result.is === "failed" ? <Said tone="danger" words={result.words} /> : null}
          {result.is === "refused" ? (
            <>
              <Said tone="danger" words={say("importRefused")} />
              <Problems problems={result.problems} goTo={goTo} />
            </>
          ) : null}
          {result.is === "read" ? <Looked read={result.read} moved={result.moved} goTo={goTo} /> : null}
        </div>
      </div>
      <div className="dialog-foot">
        <button type="button" className="button button-quiet" onClick={() => dialog.current?.close()}>
          {say("cancel")}
        </button>
        {result.is === "read" ? (
          <button key="apply" type="button" className="button button-primary" onClick={() => void apply()}>
            {say("importApply")}
          </button>
        ) : (
          <button
            key="read"
            type="button"
            className="button button-primary"
            disabled={reading || text.trim() === ""}
            onClick={() => void importing.read()}
          >
            {say(reading ? "importReading" : "importRead")}
          </button>
        )}
      </div>
    </dialog>
  );
}

/** A dialog that goes with its page part gives the focus back to nobody; what had it may be gone, too. */
function giveBack(from: Element | null, editor: Editor): void {
  if (document.activeElement !== document.body) return;
  if (from instanceof HTMLElement && from.isConnected && from !== document.body) from.focus();
  else backToCanvas(editor);
}

function Looked({ read, moved, goTo }: { read: Read; moved: boolean; goTo(problem: Problem): void }) {
  return (
    <>
      {moved ? <Said tone="attention" words={say("importMoved")} /> : null}
      {read.problems.length > 0 ? (
        <>
          <Said tone="attention" words={say("importProblems")} />
          <Problems problems={read.problems} goTo={goTo} />
        </>
      ) : null}
      <h3>{say("importChanges")}</h3>
      {countOf(read) === 0 ? (
        <p>{say("importSame")}</p>
      ) : (
        read.changes.map((each) => <Group key={each.title} changes={each} />)
      )}
    </>
  );
}

function Group({ changes: { affects, title, rows } }: { changes: Changes }) {
  return (
    <section className="changes" data-affects={affects}>
      <h4 className="row row-4">
        {title} {rows.length > 0 ? <span className="badge">{rows.length}</span> : null}
      </h4>
      <ul className="change-list">
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: shown once as a whole, and two rows may read the same.
          <li key={index}>
            <div className="change">
              <span className={`change-mark change-${row.what}`} role="img" aria-label={row.word} title={row.word}>
                <Icon name={row.icon} size={14} />
              </span>
              <span className="grow">{row.sentence}</span>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Problems({ problems, goTo }: { problems: readonly Problem[]; goTo(problem: Problem): void }) {
  return (
    <ul className="problems" aria-label={say("problems")}>
      {problems.map((each, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: shown once as a whole, and two rows may read the same.
        <li key={index} className="problem">
          <Icon name="danger" />
          <div className="grow">
            <p>
              {each.path ? <code className="code-inline">{each.path}</code> : null} {each.message}
            </p>
            {each.hint ? <p className="muted small">{each.hint}</p> : null}
          </div>
          {each.line ? (
            <button type="button" className="button button-link button-small push" onClick={() => goTo(each)}>
              {say("importPlace", String(each.line), String(each.column ?? 1))}
            </button>
          ) : null}
        </li>
      ))}
    </ul>
  );
}

function Said({ tone, words }: { tone: "attention" | "danger"; words: string }) {
  return (
    <div className={`banner banner-${tone}`}>
      <Icon name={tone === "danger" ? "danger" : "warning"} />
      <p className="grow">{words}</p>
    </div>
  );
}

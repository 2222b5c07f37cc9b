import { type FormEvent, type KeyboardEvent, useId, useRef, useState } from "react";

import { announce } from "../../ts/dom";
import type { Comment, PartKind, Thread } from "../api/line";
import { partName } from "../saving/People";
import { Ago } from "../saving/Saved";
import { togetherOf, useAround } from "../saving/together";
import { keepTyped, typed, useTyped } from "../saving/typed";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type LineDocument, ruleOf, rulesOf, stationOf } from "../store/document";
import type { Editor } from "../store/store";
import type { Chosen, TabProps } from "./tab";

interface Place {
  kind: PartKind | "line";
  key: string;
}

const LONGEST = 4000;

/** What is said about what is chosen; with nothing chosen, all of the line, what was said of parts that are gone too. */
export function Comments({ editor, line, chosen }: TabProps) {
  const { threads } = useAround(editor);
  const here = placeOf(chosen);
  const groups = groupsOf(line, chosen, here, threads ?? []);
  const gone = chosen.what === "line" ? (threads ?? []).filter((each) => !isThere(line, each)) : [];
  return (
    <div className="ed-comments">
      <Write
        key={`${here.kind} ${here.key}`}
        editor={editor}
        name={`comment ${here.kind} ${here.key}`}
        label={say("commentOn", partName(editor, here))}
        button={say("comment")}
        body={{ ...here }}
      />
      {groups.map((place) => (
        <Group
          key={`${place.kind} ${place.key}`}
          editor={editor}
          title={place === here && groups.length === 1 ? "" : partName(editor, place)}
          threads={(threads ?? []).filter((each) => each.kind === place.kind && each.key === place.key)}
        />
      ))}
      {gone.length > 0 ? <Group editor={editor} title={say("partsGone")} threads={gone} gone /> : null}
      {groups.length === 0 && gone.length === 0 ? (
        <p className="muted small">{say(threads ? "noComments" : "loading")}</p>
      ) : null}
    </div>
  );
}

/** Counts how many threads are open, beside the name of the tab. */
export function CommentCount({ editor, line, chosen }: { editor: Editor; line: LineDocument; chosen: Chosen }) {
  const { threads } = useAround(editor);
  const here = placeOf(chosen);
  const places = placesOf(line, chosen, here);
  const open = (threads ?? []).filter(
    (each) =>
      !each.resolved &&
      (chosen.what === "line" || places.some((place) => place.kind === each.kind && place.key === each.key)),
  );
  return open.length > 0 ? <span className="badge">{open.length}</span> : null;
}

function placeOf(chosen: Chosen): Place {
  if (chosen.what === "gate") return { kind: "gate", key: chosen.gate.key };
  if (chosen.what === "station") {
    return chosen.rule ? { kind: "rule", key: chosen.rule } : { kind: "station", key: chosen.station.key };
  }
  return { kind: "line", key: "" };
}

/** A station comes with its rules, so that nothing said about it hides behind one. */
function placesOf(line: LineDocument, chosen: Chosen, here: Place): Place[] {
  if (chosen.what === "station" && !chosen.rule) {
    return [here, ...rulesOf(chosen.station).map(({ id }): Place => ({ kind: "rule", key: id }))];
  }
  if (chosen.what !== "line") return [here];
  return [
    here,
    ...line.stations.flatMap((station): Place[] => [
      { kind: "station", key: station.key },
      ...rulesOf(station).map(({ id }): Place => ({ kind: "rule", key: id })),
    ]),
    ...(line.gates ?? []).map(({ key }): Place => ({ kind: "gate", key })),
  ];
}

function groupsOf(line: LineDocument, chosen: Chosen, here: Place, threads: readonly Thread[]): Place[] {
  const commented = new Set(threads.map(({ kind, key }) => `${kind} ${key}`));
  return placesOf(line, chosen, here).filter(({ kind, key }) => commented.has(`${kind} ${key}`));
}

function isThere(line: LineDocument, { kind, key }: Place): boolean {
  if (kind === "station") return stationOf(line, key) !== undefined;
  if (kind === "rule") return ruleOf(line, key) !== undefined;
  return kind === "line" || (line.gates ?? []).some((gate) => gate.key === key);
}

function Group({
  editor,
  title,
  threads,
  gone,
}: {
  editor: Editor;
  title: string;
  threads: readonly Thread[];
  gone?: boolean;
}) {
  const open = threads.filter((each) => !each.resolved);
  const done = threads.filter((each) => each.resolved);
  return (
    <section className="ed-said-of" aria-label={title || undefined}>
      {title ? <h3 className="ed-said-title">{title}</h3> : null}
      {open.map((each) => (
        <One key={each.id} editor={editor} thread={each} gone={gone} />
      ))}
      {done.length > 0 ? (
        <details>
          <summary className="small muted">{say("resolvedCount", String(done.length))}</summary>
          {done.map((each) => (
            <One key={each.id} editor={editor} thread={each} gone={gone} />
          ))}
        </details>
      ) : null}
    </section>
  );
}

function One({ editor, thread, gone }: { editor: Editor; thread: Thread; gone?: boolean | undefined }) {
  const [answering, setAnswering] = useState(false);
  const [trouble, act] = useAct();
  const resolve = (): void =>
    void act(
      togetherOf(editor).send({ resolved: !thread.resolved }, thread.id),
      say(thread.resolved ? "reopened" : "resolved"),
    );
  return (
    <article className="ed-thread" data-resolved={thread.resolved ? "" : undefined}>
      {gone ? <p className="small muted">{say(`gone_${thread.kind}` as "gone_station")}</p> : null}
      <Said editor={editor} comment={thread} />
      {thread.replies.map((reply) => (
        <div key={reply.id} className="ed-reply">
          <Said editor={editor} comment={reply} />
        </div>
      ))}
      {thread.resolved && thread.resolved_by ? (
        <p className="small muted">
          {say("resolvedBy", thread.resolved_by.name)} <Ago at={thread.resolved} />
        </p>
      ) : null}
      {answering ? (
        <Write
          editor={editor}
          name={`answer ${thread.id}`}
          label={say("answer")}
          button={say("answer")}
          body={{ parent: thread.id }}
          focus
          done={() => setAnswering(false)}
        />
      ) : (
        <p className="ed-thread-ways">
          {thread.resolved ? null : (
            <button type="button" className="button button-quiet button-small" onClick={() => setAnswering(true)}>
              {say("answer")}
            </button>
          )}
          {thread.deleted ? null : (
            <button type="button" className="button button-quiet button-small" onClick={resolve}>
              <Icon name={thread.resolved ? "retry" : "check"} size={14} />{" "}
              {say(thread.resolved ? "reopen" : "resolve")}
            </button>
          )}
        </p>
      )}
      <Trouble words={trouble} />
    </article>
  );
}

function Said({ editor, comment }: { editor: Editor; comment: Comment }) {
  const own = comment.by?.id === editor.given.me;
  const [editing, setEditing] = useState(false);
  const [sure, setSure] = useState(false);
  const [trouble, act] = useAct();
  if (comment.deleted) return <p className="small muted">{say("commentDeleted")}</p>;
  return (
    <div className="ed-comment">
      <p className="small">
        <strong>{comment.by?.name ?? say("somebody")}</strong>{" "}
        <span className="muted">
          <Ago at={comment.at} />
          {comment.edited ? ` · ${say("edited")}` : ""}
        </span>
      </p>
      {editing ? (
        <Write
          editor={editor}
          name={`edit ${comment.id}`}
          first={comment.text}
          label={say("editComment")}
          button={say("saveComment")}
          body={{ revision: comment.revision }}
          comment={comment.id}
          focus
          done={() => setEditing(false)}
        />
      ) : (
        <p className="ed-comment-text">{comment.text}</p>
      )}
      {own && !editing ? (
        <p className="ed-thread-ways">
          <button type="button" className="button button-quiet button-small" onClick={() => setEditing(true)}>
            {say("edit")}
          </button>
          <button
            type="button"
            className="button button-quiet button-small"
            onBlur={() => setSure(false)}
            onClick={() =>
              sure ? void act(togetherOf(editor).remove(comment.id), say("commentDeleted")) : setSure(true)
            }
          >
            {say(sure ? "deleteSurely" : "deleteRule")}
          </button>
        </p>
      ) : null}
      <Trouble words={trouble} />
    </div>
  );
}

function Trouble({ words }: { words: string }) {
  return words ? (
    <p className="small ed-trouble" role="alert">
      {words}
    </p>
  ) : null;
}

/** A change that is sent; its trouble stands beside what it is about. */
function useAct(): [string, (sent: Promise<string>, words: string) => Promise<void>] {
  const [trouble, setTrouble] = useState("");
  return [
    trouble,
    async (sent, words) => {
      const refused = await sent;
      setTrouble(refused);
      if (!refused) announce(words);
    },
  ];
}

interface Writing {
  editor: Editor;
  /** Under which the text is kept until it is sent. */
  name: string;
  first?: string;
  label: string;
  button: string;
  body: Record<string, unknown>;
  comment?: string;
  focus?: boolean;
  done?(): void;
}

/** A text that outlives a reload and a server that is away, and is sent once however often it is tried. */
function Write({ editor, name, first = "", label, button, body, comment = "", focus, done }: Writing) {
  const [text, setText] = useTyped(name, first);
  const [trouble, setTrouble] = useState("");
  const [busy, setBusy] = useState(false);
  const id = useId();
  const attempt = useRef("");
  const now = useRef({ name, text });
  now.current = { name, text };
  /** What was typed while the text before was on its way: the rest of a field in which a new comment is begun. */
  const rest = (sent: string): string => {
    const there = now.current.name === name ? now.current.text : typed(name);
    if (there === sent) return "";
    return !comment && there.startsWith(sent) ? there.slice(sent.length).trimStart() : there;
  };
  const send = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault();
    if (!text.trim() || busy) return;
    setBusy(true);
    attempt.current ||= crypto.randomUUID?.() ?? fallbackId();
    const refused = await togetherOf(editor).send(
      { ...(comment ? {} : { id: attempt.current }), ...body, text },
      comment,
    );
    setBusy(false);
    setTrouble(refused);
    if (refused) return;
    attempt.current = "";
    const left = rest(text);
    if (now.current.name === name) setText(left);
    else keepTyped(name, left);
    announce(say("commentSent"));
    if (!left) done?.();
  };
  const cancel = (): void => {
    setText("");
    done?.();
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
    if (event.key === "Escape" && done && !event.defaultPrevented) {
      event.stopPropagation();
      cancel();
    }
  };
  return (
    <form className="ed-write" onSubmit={(event) => void send(event)}>
      <label className="small" htmlFor={id}>
        {label}
      </label>
      <textarea
        id={id}
        className="input"
        rows={3}
        maxLength={LONGEST}
        value={text}
        // biome-ignore lint/a11y/noAutofocus: set only where somebody opened the field.
        autoFocus={focus}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={pressed}
        aria-describedby={`${id}-keys`}
      />
      <Named
        editor={editor}
        text={text}
        take={(whole) => {
          setText(whole);
          document.getElementById(id)?.focus();
        }}
      />
      <Trouble words={trouble} />
      <p className="ed-thread-ways">
        <button type="submit" className="button button-small" disabled={!text.trim() || busy}>
          {button}
        </button>
        {done ? (
          <button type="button" className="button button-quiet button-small" onClick={cancel}>
            {say("cancel")}
          </button>
        ) : null}
        <span id={`${id}-keys`} className="small muted">
          {say("ctrlEnter")}
        </span>
      </p>
    </form>
  );
}

const NAMING = /(^|[^\w@.])@([\w.@+-]*)$/;
const OFFERED = 5;

/** While somebody types `@…`: who can be named, so that they are told. */
function Named({ editor, text, take }: { editor: Editor; text: string; take(whole: string): void }) {
  const begun = NAMING.exec(text)?.[2]?.toLowerCase();
  if (begun === undefined) return null;
  const people = editor.given.people.filter(
    ({ handle, name }) => handle.toLowerCase() !== begun && `${handle} ${name}`.toLowerCase().includes(begun),
  );
  if (people.length === 0) return null;
  return (
    <p className="ed-thread-ways" role="group" aria-label={say("mention")}>
      {people.slice(0, OFFERED).map(({ handle, name }) => (
        <button
          key={handle}
          type="button"
          className="button button-quiet button-small"
          onClick={() => take(`${text.slice(0, text.length - begun.length)}${handle} `)}
        >
          @{handle}
          {name === handle ? null : <span className="muted">{name}</span>}
        </button>
      ))}
    </p>
  );
}

/** Where the page is not from a secure origin. */
function fallbackId(): string {
  const hex = [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

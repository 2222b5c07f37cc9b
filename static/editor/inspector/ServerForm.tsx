import { useEffect, useMemo, useRef } from "react";
import { useStore } from "zustand";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type Editor, useEditor } from "../store/store";
import { doorOf } from "./formDoors";
import type { Subject } from "./subjects";

/** A form that the server renders and validates; each change of it is one command. A field applies when it is left. */
export function ServerForm({
  editor,
  subject,
  scope = subject.what,
}: {
  editor: Editor;
  subject: Subject;
  scope?: string;
}) {
  const line = useEditor(editor, ({ history }) => history.line);
  const place = useRef<HTMLDivElement>(null);
  const latestSubject = useRef(subject);
  latestSubject.current = subject;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another object of the same subject is the same form.
  const door = useMemo(() => doorOf(editor, latestSubject.current, scope), [editor, subject.what, subject.own, scope]);
  const state = useStore(door.store, (now) => now.state);
  useEffect(() => {
    if (place.current) door.attach(place.current);
    return () => door.detach();
  }, [door]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new line is what it refreshes for.
  useEffect(() => door.refresh(), [door, line]);
  return (
    <div className="ef" data-state={state}>
      {state === "away" || state === "signed-out" ? (
        <div className="banner banner-attention" role="alert">
          <Icon name="offline" />
          <p className="grow">{say(state === "away" ? "formAway" : "formSignedOut")}</p>
          <button type="button" className="button button-small" onClick={() => door.retry()}>
            {say("retry")}
          </button>
        </div>
      ) : null}
      {state === "refused" ? (
        <p className="banner banner-danger" role="alert">
          <Icon name="danger" />
          <span className="grow">{say("formRefused")}</span>
        </p>
      ) : null}
      {state === "loading" ? (
        <div className="skeleton" role="status">
          <span />
          <span />
          <span />
          <span className="visually-hidden">{say("formLoading")}</span>
        </div>
      ) : null}
      <div ref={place} />
    </div>
  );
}

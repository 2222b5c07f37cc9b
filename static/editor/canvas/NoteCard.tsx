import { type NodeProps, NodeResizeControl } from "@xyflow/react";
import { memo, useContext, useEffect, useRef, useState } from "react";

import { EditorContext } from "../shell/context";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { changeNote, isHeading, NOTE, noteId, TONES } from "../store/notes";
import type { NoteNode } from "./flow";

/** Words on the canvas: `Enter` or a double click writes, `Esc` and leaving it keep what was written. */
export const NoteCard = memo(function NoteCard({ data, selected }: NodeProps<NoteNode>) {
  const { editor, mayEdit } = useContext(EditorContext);
  const { note } = data;
  const [writing, setWriting] = useState(false);
  const bare = note.text === "" && mayEdit && selected;
  useEffect(() => {
    if (bare) setWriting(true);
  }, [bare]);
  const heading = isHeading(note);
  const tone = (TONES as readonly string[]).includes(note.tone) ? note.tone : TONES[0];
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its tools hold a button for it; this is the short way by mouse.
    <div
      className="ed-note"
      data-tone={tone}
      data-note={note.key}
      data-heading={heading || undefined}
      onDoubleClick={() => mayEdit && setWriting(true)}
    >
      {writing ? (
        <Writing
          text={note.text}
          done={(text) => {
            setWriting(false);
            if (text !== note.text) editor?.run(changeNote(note.key, { text }));
          }}
        />
      ) : (
        <p className="ed-note-text">
          {note.text || <span className="muted">{say(heading ? "headingEmpty" : "noteEmpty")}</span>}
        </p>
      )}
      {selected && mayEdit && !writing ? (
        <>
          <div className="ed-note-tools nodrag nopan" role="group" aria-label={say("noteTools")}>
            <button
              type="button"
              className="ed-note-tool"
              aria-label={say("noteWrite")}
              title={say("noteWrite")}
              onClick={() => setWriting(true)}
            >
              <Icon name="edit" size={14} />
            </button>
            {TONES.map((each) => (
              <button
                key={each}
                type="button"
                className="ed-note-tool"
                aria-label={say(`tone_${each}`)}
                title={say(`tone_${each}`)}
                aria-pressed={each === tone}
                onClick={() => editor?.run(changeNote(note.key, { tone: each }))}
              >
                <span className="ed-note-swatch" data-tone={each} />
              </button>
            ))}
          </div>
          {heading ? null : (
            <NodeResizeControl
              nodeId={noteId(note.key)}
              className="ed-note-corner"
              minWidth={NOTE.least * 1.5}
              minHeight={NOTE.least / 2}
              onResizeEnd={(_, { x, y, width, height }) =>
                editor?.run(
                  changeNote(note.key, {
                    x: Math.round(x),
                    y: Math.round(y),
                    width: Math.round(width),
                    height: Math.round(height),
                  }),
                )
              }
            />
          )}
        </>
      ) : null}
    </div>
  );
});

function Writing({ text, done }: { text: string; done(text: string): void }) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [typed, setTyped] = useState(text);
  useEffect(() => area.current?.focus(), []);
  return (
    <textarea
      ref={area}
      className="ed-note-area nodrag nopan nowheel"
      aria-label={say("note")}
      maxLength={4000}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={() => done(typed)}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        const node = event.currentTarget.closest<HTMLElement>(".react-flow__node");
        event.currentTarget.blur();
        node?.focus();
      }}
    />
  );
}

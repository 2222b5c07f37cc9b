import { useId, useLayoutEffect, useRef, useState } from "react";
import { DialogHead } from "../shell/DialogHead";
import { backToCanvas } from "../shell/focus";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type Editor, type Offer, useEditor } from "../store/store";

/** Asks where something belongs that was made over nothing: what is made by hand is connected, or this offers it. */
export function Offered({ editor }: { editor: Editor }) {
  const offer = useEditor(editor, (state) => state.offer);
  return offer ? <Choose key={offer.title} editor={editor} offer={offer} /> : null;
}

function Choose({ editor, offer }: { editor: Editor; offer: Offer }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [search, setSearch] = useState("");
  useLayoutEffect(() => {
    dialog.current?.showModal();
    dialog.current?.querySelector("input")?.focus();
  }, []);
  const term = search.trim().toLowerCase();
  const choices = offer.choices.filter(({ name, note }) => `${name} ${note}`.toLowerCase().includes(term));
  const done = (): void => {
    editor.offer(undefined);
    backToCanvas(editor);
  };
  const take = (key: string | undefined): void => {
    if (key === undefined) return;
    offer.take(key);
    done();
  };
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={`${id}-title`}
      onClose={() => {
        if (editor.state.offer !== offer) return;
        if (offer.left) editor.tell(offer.left);
        done();
      }}
    >
      <DialogHead id={`${id}-title`} title={offer.title} close={() => dialog.current?.close()} />
      <div className="dialog-body">
        <input
          className="input"
          type="search"
          autoComplete="off"
          aria-label={say("search")}
          placeholder={say("search")}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            take(choices[0]?.key);
          }}
        />
        <ul className="listbox ed-targets" aria-label={offer.title}>
          {choices.map(({ key, name, note, icon }) => (
            <li key={key}>
              <button type="button" className="option ed-choice" onClick={() => take(key)}>
                <Icon name={icon} />
                <span className="truncate">{name}</span>
                <span className="muted small push truncate">{note}</span>
              </button>
            </li>
          ))}
        </ul>
        {choices.length === 0 ? <p className="muted small">{say("nothingFound")}</p> : null}
      </div>
    </dialog>
  );
}

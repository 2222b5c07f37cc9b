import { useEffect, useRef, useState } from "react";

import * as commands from "./commands";
import { nameOf, stationOf } from "./document";
import { targetName } from "./flow";
import { endsOf } from "./layout";
import type { Editor } from "./store";
import { say } from "./words";

/** A list of targets: connecting needs no mouse (`L`). */
export function Connect({ editor, close }: { editor: Editor; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [search, setSearch] = useState("");
  const line = editor.line;
  const from = stationOf(line, editor.state.selection.keys[0] ?? "");
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  if (!from) return null;
  const names = { origin: say("origin"), blocked: say("blocked") };
  const keys = [
    ...line.stations.map((each) => each.key),
    ...new Set([...endsOf(line), "completed", "failed", "cancelled"]),
    "@origin",
    "@blocked",
  ];
  const found = keys.filter((key) => `${targetName(line, key, names)} ${key}`.toLowerCase().includes(search.trim().toLowerCase()));
  const take = (key: string): void => {
    editor.run(commands.connect(from.key, key));
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} className="dialog" aria-label={say("connectFrom", nameOf(from))} onClose={close}>
      <div className="dialog-head">
        <h2>{say("connectFrom", nameOf(from))}</h2>
      </div>
      <div className="dialog-body">
        <input
          className="input"
          type="search"
          autoFocus
          aria-label={say("search")}
          placeholder={say("search")}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && found[0]) {
              event.preventDefault();
              take(found[0]);
            }
          }}
        />
        <ul className="ed-targets">
          {found.map((key) => (
            <li key={key}>
              <button type="button" className="menu-item" onClick={() => take(key)}>
                {targetName(line, key, names)} <span className="muted small push">{key}</span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </dialog>
  );
}

import { useEffect } from "react";
import { createPortal } from "react-dom";

import { ACTIONS } from "./actions";
import type { Action, Group } from "./desk";
import { shown } from "./keystrokes";
import { say } from "./words";

const GROUPS: readonly Group[] = ["groupWalk", "groupChange", "groupRules", "groupView", "groupLine"];

/** The keys of the editor, in the shortcut sheet that every page has. */
export function Sheet({ mayEdit }: { mayEdit: boolean }) {
  const place = document.getElementById("shortcuts-here");
  useEffect(() => {
    const dialog = place?.closest("dialog");
    dialog?.classList.add("dialog-wide");
    return () => dialog?.classList.remove("dialog-wide");
  }, [place]);
  if (!place) return null;
  return createPortal(
    <div className="ed-sheet">
      {GROUPS.map((group) => (
        <Keys
          key={group}
          group={group}
          actions={ACTIONS.filter((each) => each.group === group && (mayEdit || !each.edits))}
        />
      ))}
      <p className="muted small">{say("keysSilent")}</p>
    </div>,
    place,
  );
}

function Keys({ group, actions }: { group: Group; actions: readonly Action[] }) {
  const rows = new Map<string, string[]>();
  for (const entry of actions) rows.set(say(entry.word), [...(rows.get(say(entry.word)) ?? []), ...entry.keys]);
  if (rows.size === 0) return null;
  return (
    <table className="table ed-sheet-group">
      <caption>{say(group)}</caption>
      <tbody>
        {[...rows].map(([word, keys]) => (
          <tr key={word}>
            <td>{word}</td>
            <td>
              {keys.map((each) => (
                <kbd key={each} className="key">
                  {shown(each)}
                </kbd>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

import { useMemo, useState } from "react";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { rulesOf, type Station } from "../store/document";
import type { Editor } from "../store/store";
import { failuresSubject, isRoute } from "./failures";
import { ServerForm } from "./ServerForm";

/** Where each type of failure goes, as a table over the rules that say so. Asked from the server once it is unfolded. */
export function Failures({ editor, station }: { editor: Editor; station: Station }) {
  const [open, setOpen] = useState(false);
  const subject = useMemo(() => failuresSubject(station.key), [station.key]);
  const count = rulesOf(station).filter(isRoute).length;
  return (
    <details className="ed-failures" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="ef-summary">
        <Icon name="chevron-right" size={14} />
        <span>{say("routeFailures")}</span>
        {count > 0 ? <span className="badge">{count}</span> : null}
      </summary>
      {open ? <ServerForm editor={editor} subject={subject} /> : null}
    </details>
  );
}

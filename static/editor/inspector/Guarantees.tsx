import { useEffect, useState } from "react";
import { intoList } from "../shell/focus";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import type { Guarantee, Way } from "../store/findings";
import { type Editor, useEditor } from "../store/store";
import { paintWay } from "../testmode/overlay";
import { DrawerHead, Of, toLine } from "./DrawerHead";

const PILLS: Record<Guarantee["answer"], [tone: string, icon: string]> = {
  proved: ["ok", "check"],
  refuted: ["danger", "x"],
  unknown: ["attention", "help"],
};

interface Given {
  editor: Editor;
  guarantees: readonly Guarantee[];
  open: boolean;
  fold(): void;
}

/** What the line promises, each with what was found out about it: a refuted one shows the path that breaks it. */
export function Guarantees({ editor, guarantees, open, fold }: Given) {
  return (
    <section className="ed-promises" aria-label={say("guarantees")}>
      <DrawerHead title={say("guarantees")} count={guarantees.length} open={open} fold={fold} />
      {open ? (
        <ul className="ed-drawer-list ed-promise-rows">
          {guarantees.map((each) => (
            <Row key={each.id} editor={editor} guarantee={each} />
          ))}
        </ul>
      ) : null}
    </section>
  );
}

/** Where guarantees are written. */
function toForm(editor: Editor): void {
  toLine(editor);
  intoList("guarantees");
}

function Row({ editor, guarantee }: { editor: Editor; guarantee: Guarantee }) {
  const { sentence, answer, because, tried, ways } = guarantee;
  const [open, setOpen] = useState(false);
  const [tone, icon] = PILLS[answer];
  // Of a refuted one the path is painted, and told beside it as a problem.
  const why = answer === "refuted" ? "" : [because, tried].filter(Boolean).join(" ");
  return (
    <li className="ed-promise" data-answer={answer}>
      <div className="ed-promise-line">
        <Icon name={`guarantee-${answer}`} />
        <button type="button" className="ed-problem-words" onClick={() => toForm(editor)}>
          {sentence}
        </button>
        <span className="ed-promise-marks">
          {ways.length > 0 ? <Path editor={editor} sentence={sentence} ways={ways} /> : null}
          {why ? (
            <button
              type="button"
              className="ed-drawer-link"
              aria-expanded={open}
              onClick={() => setOpen((now) => !now)}
            >
              {say("why")}
              <Of what={sentence} />
            </button>
          ) : null}
          <span className={`pill pill-${tone}`}>
            <Icon name={icon} size={12} /> {say(`guarantee_${answer}`)}
          </span>
        </span>
      </div>
      {open ? <p className="ed-promise-why muted small">{why}</p> : null}
    </li>
  );
}

/** The path of a task that breaks it, on the canvas as a test paints one, until it is taken back. */
function Path({ editor, sentence, ways }: { editor: Editor; sentence: string; ways: readonly Way[] }) {
  const line = useEditor(editor, ({ history }) => history.line);
  const [shown, setShown] = useState(false);
  useEffect(() => (shown ? paintWay(line, ways) : undefined), [shown, line, ways]);
  return (
    <button type="button" className="ed-drawer-link" aria-pressed={shown} onClick={() => setShown((now) => !now)}>
      <Icon name="station-route" size={14} />
      <span>
        {say(shown ? "hidePath" : "showPath")}
        <Of what={sentence} />
      </span>
    </button>
  );
}

import { useEffect, useRef } from "react";

import { announce } from "../../ts/dom";
import { write } from "../../ts/json";
import type { Clash } from "../api/line";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import type { Json } from "../store/document";
import type { Side } from "../store/merge";
import type { Editor } from "../store/store";
import type { Choices } from "./saving";

interface Shown {
  editor: Editor;
  by: string;
  clashes: readonly Clash[];
  chosen: Choices;
}

/** The places that two people changed at once, side by side: one choice each, then one save. Everything else of both is
 * kept whatever is chosen, and what is chosen stays chosen when somebody saves again meanwhile. */
export function Conflict({ editor, by, clashes, chosen }: Shown) {
  const who = by || say("somebody");
  const open = clashes.filter(({ path }) => !chosen[path]).length;
  const all = (side: Side): void => {
    for (const { path } of clashes) editor.choose(path, side);
  };
  const known = useRef("");
  useEffect(() => {
    const places = clashes.map(({ path }) => path).join("\n");
    if (places !== known.current) announce(say("conflict", who));
    known.current = places;
  }, [clashes, who]);
  return (
    <section className="ed-conflict" aria-label={say("conflictTitle")}>
      <header className="ed-conflict-head">
        <Icon name="actor-people" />
        <p className="grow">{say("conflict", who)}</p>
        <button type="button" className="button button-small button-quiet" onClick={() => all("theirs")}>
          {say("takeTheirs")}
        </button>
        <button type="button" className="button button-small button-quiet" onClick={() => all("mine")}>
          {say("keepMine")}
        </button>
        <span className="small">{open > 0 ? say("leftToChoose", String(open)) : say("allChosen")}</span>
        <button
          type="button"
          className="button button-small button-primary"
          disabled={open > 0}
          onClick={() => editor.settle()}
        >
          {say("saveChoice")}
        </button>
      </header>
      <ol className="ed-clashes">
        {clashes.map((clash) => (
          <li key={clash.path}>
            <Choice {...{ editor, clash, who }} side={chosen[clash.path]} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Choice({ editor, clash, who, side }: { editor: Editor; clash: Clash; who: string; side: Side | undefined }) {
  return (
    <fieldset className="ed-clash">
      <legend>
        <span>{clash.place}</span>
        {clash.station || clash.gate ? (
          <button type="button" className="button button-quiet button-small" onClick={() => show(editor, clash)}>
            {say("showPlace")}
          </button>
        ) : null}
      </legend>
      <div className="ed-sides">
        <One {...{ editor, clash, side }} of="theirs" who={who} words={clash.theirsWords} value={clash.theirs} />
        <One {...{ editor, clash, side }} of="mine" who={say("mine")} words={clash.mineWords} value={clash.mine} />
      </div>
    </fieldset>
  );
}

interface OneSide {
  editor: Editor;
  clash: Clash;
  side: Side | undefined;
  of: Side;
  who: string;
  words: string;
  value: Json;
}

function One({ editor, clash, side, of, who, words, value }: OneSide) {
  const json = write(value, 1);
  return (
    <label className="ed-side" data-chosen={side === of || undefined}>
      <input
        type="radio"
        name={`clash ${clash.path}`}
        checked={side === of}
        onChange={() => editor.choose(clash.path, of)}
      />
      <span className="ed-side-body">
        <span className="small muted">{who}</span>
        {value === null ? <em>{say("notThere")}</em> : <span className="ed-side-words">{words || json}</span>}
        {value !== null && typeof value !== "string" && words && words !== json ? (
          <details>
            <summary className="small muted">JSON</summary>
            <pre className="ed-side-json">{json}</pre>
          </details>
        ) : null}
      </span>
    </label>
  );
}

function show(editor: Editor, { station, rule, gate }: Clash): void {
  if (gate) editor.select({ keys: [], gate });
  else if (station) editor.select({ keys: [station], ...(rule ? { rule } : {}) });
}

import { Component, type ReactNode, useEffect, useState } from "react";

import { announce } from "../../ts/dom";
import type { Starter } from "../api/line";
import { importOf } from "../saving/importing";
import { LineCanvas } from "../shown/LineCanvas";
import * as commands from "../store/commands";
import { startOf } from "../store/document";
import { action } from "./actions";
import type { Desk } from "./desk";
import { bringIntoView, goTo } from "./focus";
import { Icon } from "./Icon";
import { say } from "./words";

/** A line without a station: what to begin with. */
export function Empty({ desk }: { desk: Desk }) {
  const { editor, flow, urls, mayEdit } = desk;
  const begin = (): void => {
    editor.run(commands.addStation("manual", say("firstStation")));
    const first = editor.line.stations[0];
    if (!first) return;
    bringIntoView(editor, flow, { kind: "node", id: first.key });
    editor.begin(first.key);
  };
  const importing = action("import");
  return (
    <div className="ed-empty">
      <div className="empty ed-empty-card">
        <h2>{say("emptyTitle")}</h2>
        <p>{say(mayEdit ? "emptyWords" : "readOnly")}</p>
        {mayEdit ? (
          <>
            <div className="row">
              <button type="button" className="button button-primary" onClick={begin}>
                <Icon name="plus" /> <span>{say("emptyFirst")}</span>
              </button>
              <button type="button" className="button" onClick={() => importing.run(desk)}>
                <Icon name="upload" /> <span>{say("emptyImport")}</span>
              </button>
            </div>
            <p className="muted small">{say("empty")}</p>
            <Starters desk={desk} />
            {urls.templates ? (
              <a className="button button-link" href={urls.templates}>
                {say("emptyTemplate")}
              </a>
            ) : null}
          </>
        ) : null}
        <a className="small" href={urls.help}>
          {say("emptyHelp")}
        </a>
      </div>
    </div>
  );
}

/** The first templates. One that is chosen becomes this line by one command, under the key and name that it has. */
function Starters({ desk }: { desk: Desk }) {
  const { editor, flow, fit } = desk;
  const [starters, setStarters] = useState<readonly Starter[]>();
  const [why, setWhy] = useState("");
  useEffect(() => {
    let gone = false;
    void importOf(editor)
      .starters()
      .then((found) => gone || setStarters(found));
    return () => {
      gone = true;
    };
  }, [editor]);
  if (starters?.length === 0) return null;
  const begin = async (starter: Starter): Promise<void> => {
    const refused = await importOf(editor).begin(starter);
    setWhy(refused);
    if (refused) return announce(refused);
    const first = startOf(editor.line);
    // Its card had the focus, and is gone; once all is in view, the walk begins at the start.
    window.setTimeout(() => {
      fit();
      if (first) goTo(editor, flow, { kind: "node", id: first });
    }, 50);
  };
  return (
    <>
      <h3>{say("emptyTemplates")}</h3>
      {why ? <p className="field-error">{why}</p> : null}
      <div className="ed-starters">
        {starters
          ? starters.map((each) => (
              <button
                key={each.key}
                type="button"
                className="ed-starter"
                title={say("emptyNeeds", each.needs)}
                onClick={() => void begin(each)}
              >
                <span className="ed-starter-picture line-shown line-small" aria-hidden="true" inert>
                  <LineCanvas picture={each.picture} label={each.name} small />
                </span>
                <strong className="strong">{each.name}</strong>
                <span className="small muted">{each.purpose}</span>
              </button>
            ))
          : [1, 2, 3].map((each) => <span key={each} className="ed-starter" aria-hidden="true" />)}
      </div>
    </>
  );
}

export function ReadOnly() {
  return (
    <div className="banner ed-banner" role="note">
      <Icon name="lock" />
      <p className="grow">{say("readOnly")}</p>
    </div>
  );
}

/** A fault of the drawing takes nothing with it: the draft is stored, and can be edited as code. */
export class Guard extends Component<{ code: string | undefined; children: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError(): { broken: boolean } {
    return { broken: true };
  }

  override render(): ReactNode {
    if (!this.state.broken) return this.props.children;
    return (
      <div className="content" role="alert">
        <div className="empty">
          <h2>{say("brokenTitle")}</h2>
          <p>{say("brokenWords")}</p>
          <div className="row">
            {this.props.code ? (
              <a className="button button-primary" href={this.props.code}>
                {say("openCode")}
              </a>
            ) : null}
            <button type="button" className="button" onClick={() => this.setState({ broken: false })}>
              {say("drawAgain")}
            </button>
          </div>
        </div>
      </div>
    );
  }
}

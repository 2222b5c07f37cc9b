import { Component, type ReactNode } from "react";

import * as commands from "./commands";
import type { Desk } from "./actions";
import { goTo } from "./focus";
import { Icon } from "./Icon";
import { say } from "./words";

/** A line without a station: what to begin with. */
export function Empty({ desk }: { desk: Desk }) {
  const { editor, flow, urls, mayEdit } = desk;
  const begin = (): void => {
    editor.run(commands.addStation("manual", say("firstStation")));
    const first = editor.line.stations[0];
    if (first) goTo(editor, flow, { kind: "node", id: first.key });
  };
  return (
    <div className="ed-empty">
      <div className="empty ed-empty-card">
        <h2>{say("emptyTitle")}</h2>
        <p>{say(mayEdit ? "emptyWords" : "readOnly")}</p>
        {mayEdit ? (
          <div className="row">
            <button type="button" className="button button-primary" onClick={begin}>
              <Icon name="plus" /> <span>{say("emptyFirst")}</span>
            </button>
            {urls.templates ? (
              <a className="button" href={urls.templates}>
                {say("emptyTemplate")}
              </a>
            ) : null}
          </div>
        ) : null}
        {mayEdit ? <p className="muted small">{say("empty")}</p> : null}
      </div>
    </div>
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

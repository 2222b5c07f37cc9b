import { type ReactNode, useId, useMemo, useRef } from "react";
import { createPortal } from "react-dom";
import { People } from "../saving/People";
import { SaveState } from "../saving/Saved";
import { causesOf, isGrave } from "../store/causes";
import { checking, unsavedOf, useEditor } from "../store/store";
import { useTest } from "../testmode/session";
import { action, notPublished, possible } from "./actions";
import type { Desk } from "./desk";
import { Icon } from "./Icon";
import { shown } from "./keystrokes";
import { say } from "./words";

/** Beside the tabs of the line: whose draft it is, whether it is stored, what is wrong with it, and what can be done with
 * it as a whole. */
export function TopBar({ desk }: { desk: Desk }) {
  const place = document.getElementById("editor-bar");
  return place ? createPortal(<Tools desk={desk} />, place) : null;
}

function Tools({ desk }: { desk: Desk }) {
  useEditor(desk.editor);
  const { open: testing } = useTest(desk.editor);
  return (
    <>
      <SaveState editor={desk.editor} mayEdit={desk.mayEdit} />
      <People editor={desk.editor} mayEdit={desk.mayEdit} />
      <ProblemCount desk={desk} />
      <Do id="test" desk={desk} pressed={testing} />
      {desk.mayEdit ? <Publish desk={desk} /> : null}
      <More desk={desk} />
    </>
  );
}

function ProblemCount({ desk }: { desk: Desk }) {
  const { findings } = desk.editor.state;
  const unknown = checking(desk.editor.state);
  const { line } = desk.editor;
  const all = findings.findings;
  const errors = all.filter((each) => each.severity === "error").length;
  const refused = unsavedOf(desk.editor.state).length;
  const causes = useMemo(() => causesOf(all.filter(isGrave), line).length, [all, line]) + refused;
  const tone = unknown ? "neutral" : errors + refused > 0 ? "danger" : causes > 0 ? "attention" : "ok";
  const icon = { neutral: "retry", danger: "danger", attention: "warning", ok: "check" }[tone];
  const count = causes === 0 ? say("noProblemsShort") : say("problemCount", String(causes));
  return (
    <button
      type="button"
      className={`button button-quiet ed-count ed-count-${tone}`}
      onClick={() => desk.fold("problems", true)}
    >
      <Icon name={icon} />
      <span className="button-word">{unknown ? say("checking") : count}</span>
    </button>
  );
}

function Do({ id, desk, pressed }: { id: string; desk: Desk; pressed?: boolean }) {
  const entry = action(id);
  if (!possible(entry, desk)) return null;
  return (
    <button
      id={`ed-do-${id}`}
      type="button"
      className="button"
      aria-pressed={pressed}
      title={tip(id)}
      onClick={() => entry.run(desk)}
    >
      {entry.icon ? <Icon name={entry.icon} /> : null}
      <span className="button-word">{say(entry.word)}</span>
    </button>
  );
}

const tip = (id: string): string => {
  const { word, keys } = action(id);
  return keys[0] ? `${say(word)} (${shown(keys[0])})` : say(word);
};

/** Not `disabled`: who comes here by keyboard is told why it cannot be published. */
function Publish({ desk }: { desk: Desk }) {
  const why = useId();
  const { differs } = desk.editor.state;
  const against = differs ? notPublished(desk) : say("nothingToPublish");
  return (
    <>
      <button
        type="button"
        className="button button-primary"
        title={against || tip("publish")}
        aria-disabled={against !== ""}
        aria-describedby={against ? why : undefined}
        onClick={() => action("publish").run(desk)}
      >
        <span className="button-word">{say("publish")}</span>
      </button>
      {against ? (
        <span id={why} className="visually-hidden">
          {against}
        </span>
      ) : null}
    </>
  );
}

function More({ desk }: { desk: Desk }) {
  const menu = useRef<HTMLDivElement>(null);
  const { urls } = desk.editor.given;
  const item = (id: string) => {
    const entry = action(id);
    if (!possible(entry, desk)) return null;
    const run = (): void => {
      menu.current?.hidePopover();
      entry.run(desk);
    };
    return (
      <Item key={id} icon={entry.icon} keys={entry.keys[0]} run={run}>
        {say(entry.word)}
      </Item>
    );
  };
  const file = (query: string, words: string) =>
    urls.export ? (
      <a
        className="menu-item"
        role="menuitem"
        tabIndex={-1}
        href={`${urls.export}?${query}`}
        onClick={() => menu.current?.hidePopover()}
      >
        <Icon name="download" />
        <span>{words}</span>
      </a>
    ) : null;
  return (
    <>
      <button
        type="button"
        className="button button-quiet button-icon"
        popoverTarget="editor-more"
        aria-haspopup="menu"
        aria-expanded="false"
        aria-label={say("more")}
        title={say("more")}
      >
        <Icon name="ellipsis" />
      </button>
      <div ref={menu} className="menu" id="editor-more" popover="auto" role="menu" aria-label={say("more")}>
        {["nameVersion", "history", "import"].map(item)}
        <div className="menu-line" role="separator" />
        {file("as=yaml&version=draft", say("exportDraft"))}
        {file("as=yaml", say("exportYaml"))}
        {file("as=json", say("exportJson"))}
      </div>
    </>
  );
}

function Item({
  icon,
  keys,
  run,
  children,
}: {
  icon: string | undefined;
  keys: string | undefined;
  run(): void;
  children: ReactNode;
}) {
  return (
    <button type="button" className="menu-item" role="menuitem" tabIndex={-1} onClick={run}>
      {icon ? <Icon name={icon} /> : <span className="ed-no-icon" />}
      <span>{children}</span>
      {keys ? (
        // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a kbd takes no focus.
        <kbd className="key" aria-hidden="true">
          {shown(keys)}
        </kbd>
      ) : null}
    </button>
  );
}

import { signInAddress } from "../../ts/failures";
import { relative } from "../../ts/time";
import { say as sayShell } from "../../ts/words";
import type { Draft } from "../api/line";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type Editor, unsavedOf, useEditor } from "../store/store";
import { Conflict } from "./Conflict";
import type { Saving } from "./saving";

const ICONS: Record<Saving["state"], string> = {
  saved: "check",
  waiting: "retry",
  saving: "retry",
  failed: "offline",
  "signed-out": "lock",
  forbidden: "lock",
  refused: "danger",
  undrawable: "warning",
  conflict: "actor-people",
};

/** Tells whether everything is stored, whose draft it is, and who has changed it since it was last published. */
export function SaveState({ editor, mayEdit }: { editor: Editor; mayEdit: boolean }) {
  const { saving: stored, draft, asking, unsaved, history } = useEditor(editor);
  const refused = unsavedOf({ unsaved, history }).length;
  // What a form has sent and waits for is not in the line yet: then nothing is "saved".
  const saving: Saving = asking > 0 && stored.state === "saved" ? { state: "waiting" } : stored;
  return (
    <>
      {mayEdit ? (
        <span
          className="ed-save small muted"
          data-state={saving.state}
          data-refused={refused > 0 || undefined}
          role="status"
        >
          <Icon name={refused > 0 ? "danger" : ICONS[saving.state]} size={14} />{" "}
          {refused > 0 && saving.state === "saved" ? say("fieldsNotSaved", String(refused)) : wordsOf(saving)}
        </span>
      ) : null}
      <span className="ed-whose small muted">
        <span>
          {say("draft", String(draft.number))}
          {draft.by ? <>, {say("savedBy", nameFor(editor, draft.by))}</> : null}
          {draft.at ? <> {<Ago at={draft.at} />}</> : null}
        </span>
        {draft.people.length > 0 ? <span>{since(draft)}</span> : null}
      </span>
    </>
  );
}

const nameFor = (editor: Editor, by: { id: number; name: string }): string =>
  by.id === editor.given.me ? say("you") : by.name;

function since({ live, people }: Draft): string {
  const names = new Intl.ListFormat("en").format(people);
  return live ? say("changesSince", names, String(live)) : say("changesNever", names);
}

/** Time as pages say it, and not in the form of the browser's own country. */
function exact(at: string): string {
  const form = { dateStyle: "medium", timeStyle: "medium" } as const;
  return new Date(at).toLocaleString("en-GB", form);
}

/** Ticks with the times of the page (static/ts/time.ts). */
export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} data-relative="" title={exact(at)}>
      {relative((Date.parse(at) - Date.now()) / 1000, sayShell)}
    </time>
  );
}

function wordsOf(saving: Saving): string {
  if (saving.state === "saved") return say("saved");
  if (saving.state === "waiting" || saving.state === "saving") return say("saving");
  return say("notSaved");
}

/** Reason that keeps the draft from being stored, with a way on. Nothing typed is lost meanwhile. */
export function SaveTrouble({ editor }: { editor: Editor }) {
  const { saving, kept } = useEditor(editor);
  return (
    <>
      {saving.state === "conflict" ? (
        <Conflict editor={editor} {...saving} />
      ) : (
        <Trouble editor={editor} saving={saving} />
      )}
      {kept ? null : <Banner tone="danger" icon="danger" words={say("notKept")} />}
    </>
  );
}

function Trouble({ editor, saving }: { editor: Editor; saving: Saving }) {
  const retry = { words: say("retry"), run: () => editor.retry() };
  switch (saving.state) {
    case "failed":
      return <Banner tone="attention" icon="offline" words={say("saveFailed")} way={retry} />;
    case "signed-out":
      return (
        <Banner
          tone="attention"
          icon="lock"
          words={say("saveSignedOut")}
          way={retry}
          link={{ words: say("signIn"), to: signInAddress(), here: true }}
        />
      );
    case "forbidden":
      return <Banner tone="danger" icon="lock" words={say("saveForbidden")} way={retry} />;
    case "refused":
      return <Banner tone="danger" icon="danger" words={say("saveRefused", saving.why)} way={retry} />;
    case "undrawable":
      return (
        <Banner
          tone="attention"
          icon="warning"
          words={say("undrawable", saving.by || say("somebody"))}
          link={{ words: say("code"), to: editor.given.urls.code ?? "" }}
        />
      );
    default:
      return null;
  }
}

interface Words {
  tone: "attention" | "danger";
  icon: string;
  words: string;
  way?: { words: string; run(): void };
  /** `here`: in place of this page. */
  link?: { words: string; to: string; here?: boolean };
}

function Banner({ tone, icon, words, way, link }: Words) {
  return (
    <div className={`banner banner-${tone}`} role="alert">
      <Icon name={icon} />
      <p className="grow">{words}</p>
      {link ? (
        <a
          className="button button-small"
          href={link.to}
          {...(link.here ? {} : { target: "_blank", rel: "noreferrer" })}
        >
          {link.words}
        </a>
      ) : null}
      {way ? (
        <button type="button" className="button button-small" onClick={way.run}>
          {way.words}
        </button>
      ) : null}
    </div>
  );
}

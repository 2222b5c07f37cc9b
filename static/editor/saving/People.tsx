import { useEffect } from "react";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { nameOf, ruleOf, stationOf } from "../store/document";
import { gateName, ruleName } from "../store/names";
import { type Editor, useEditor } from "../store/store";
import { type Other, type Part, useAround } from "./together";

/** Who else has this line open, in the bar. Nobody is locked out: what two do at once is merged. */
export function People({ editor, mayEdit }: { editor: Editor; mayEdit: boolean }) {
  const { others, live } = useAround(editor);
  useEditor(editor);
  const drawing = others.filter((each) => !each.watches && !each.away);
  return (
    <span className="ed-people">
      {mayEdit ? null : (
        <span className="ed-watching small">
          <Icon name="watch" size={14} />{" "}
          {drawing.length > 0 ? say("watchingWhile", drawing.map((each) => each.name).join(", ")) : say("watching")}
        </span>
      )}
      {others.length > 0 ? (
        <ul className="ed-avatars" aria-label={say("alsoHere")}>
          {others.map((each, index) => (
            <li key={each.id}>
              <button
                type="button"
                className="ed-avatar"
                data-tone={index % TONES}
                data-away={each.away || undefined}
                title={doing(editor, each)}
                aria-label={doing(editor, each)}
                disabled={!each.chosen}
                onClick={() => each.chosen && follow(editor, each.chosen)}
              >
                <span className="avatar">{initials(each.name)}</span>
                {each.watches ? <Icon name="watch" size={12} /> : null}
              </button>
            </li>
          ))}
        </ul>
      ) : null}
      {live === "live" || live === "connecting" ? null : <span className="small muted">{say("notLive")}</span>}
    </span>
  );
}

export const TONES = 4;

/** As `initials` of pipelines/templatetags/gateline.py. */
export function initials(name: string): string {
  const words = name.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const chosen = words.length > 1 ? [words[0], words.at(-1)] : words;
  return (
    chosen
      .map((word) => word?.[0] ?? "")
      .join("")
      .toUpperCase() || "?"
  );
}

function doing(editor: Editor, other: Other): string {
  if (other.away) return say("isAway", other.name);
  const part = other.chosen ? partName(editor, other.chosen) : "";
  if (other.watches) return part ? say("watchesPart", other.name, part) : say("watches", other.name);
  return part ? say("drawsPart", other.name, part) : say("draws", other.name);
}

export function partName(editor: Editor, { kind, key }: Part | { kind: "line"; key: string }): string {
  const { line } = editor;
  if (kind === "station") {
    const station = stationOf(line, key);
    return station ? nameOf(station) : key;
  }
  if (kind === "rule") {
    const ofRule = ruleOf(line, key);
    return ofRule?.rule.label ? say("ruleNamed", ofRule.rule.label, nameOf(ofRule.station)) : ruleName(line, key);
  }
  if (kind === "gate") return say("gateNamed", gateName(line, key));
  if (kind === "line") return say("theLine");
  return say("endNamed", line.ends?.find((end) => end.key === key)?.label ?? key);
}

export function follow(editor: Editor, { kind, key }: Part): void {
  if (kind === "gate") {
    editor.select({ keys: [], gate: key });
    return;
  }
  if (kind === "rule") {
    const ofRule = ruleOf(editor.line, key);
    if (ofRule) editor.select({ keys: [ofRule.station.key], rule: key });
    return;
  }
  editor.select({ keys: [key] });
}

/** What somebody else did a moment ago. It stands where it covers nothing, and goes by itself. */
export function Notice({ editor }: { editor: Editor }) {
  const notice = useEditor(editor, (state) => state.notice);
  useEffect(() => {
    if (!notice) return;
    const timer = window.setTimeout(() => editor.dismiss(notice), 8_000);
    return () => window.clearTimeout(timer);
  }, [editor, notice]);
  if (!notice) return null;
  return (
    <div className="ed-notice">
      <Icon name="actor-people" size={14} />
      <span>{notice.words}</span>
      <button
        type="button"
        className="button button-quiet button-icon"
        aria-label={say("close")}
        onClick={() => editor.dismiss(notice)}
      >
        <Icon name="x" size={14} />
      </button>
    </div>
  );
}

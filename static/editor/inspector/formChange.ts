/** What a form changes in the line, as its answer says it, or as it can be told before the answer comes. */
import type { Rename } from "../store/commands";
import type { Json, LineDocument } from "../store/document";
import { type Fragment, patched } from "../store/patch";
import type { Selection } from "../store/selection";
import type { Subject } from "./subjects";

export interface Change {
  apply(line: LineDocument): LineDocument;
  renames: readonly Rename[];
  /** Where the part has another key from then on. */
  rekeyed?: { from: string; to: string; subject: Subject; selection: Selection };
}

/** `sent` became `answered`: the same change of the line as it is by then. */
export function changeOf(subject: Subject, sent: Fragment, answered: Fragment): Change {
  const { what, put, renamed } = subject;
  const by = renamed?.by ?? "key";
  const [from, to] = [sent[by], answered[by]];
  const changed = (line: LineDocument): LineDocument => put(line, (now) => patched(now, sent, answered));
  if (!renamed || typeof from !== "string" || typeof to !== "string" || from === to)
    return { apply: changed, renames: [] };
  return {
    apply: (line) => renamed.everywhere(changed(line), from, to),
    renames: what === "station" || what === "gate" || what === "rule" ? [{ kind: what, from, to }] : [],
    rekeyed: { from, to, subject: renamed.subject(to), selection: renamed.selection(to) },
  };
}

/** The fragment with what was typed, where each control writes it as it stands (`writes` of
 * pipelines/web/editor/forms/fields.py). Only the server knows for sure, and it compares. */
export function expectedOf(
  form: Element | undefined,
  fragment: Fragment,
  typed: ReadonlyMap<string, readonly string[]>,
): Fragment | undefined {
  let expected: Json | undefined = fragment as Json;
  for (const [name, values] of typed) {
    const writes = form?.querySelector(`[data-name="${CSS.escape(name)}"]`)?.getAttribute("data-writes");
    if (!writes) return undefined;
    expected = written(expected, name.match(/[^.[\]]+/g) ?? [], valueFrom(writes, values));
  }
  return expected as Fragment;
}

/** undefined: the key goes. */
function valueFrom(writes: string, [value = "", ...more]: readonly string[]): Json | undefined {
  if (writes === "on") return value || more.length > 0 ? true : undefined;
  if (writes === "off") return value || more.length > 0 ? undefined : false;
  const text = value.trim();
  if (writes === "number" && /^-?\d{1,15}$/.test(text)) return Number(text);
  return text === "" ? undefined : writes === "lines" ? value : text;
}

/** A copy with the value there; objects on the way are made, and go where they are left empty. */
function written(
  value: Json | undefined,
  [step, ...rest]: readonly string[],
  last: Json | undefined,
): Json | undefined {
  if (step === undefined) return last;
  if (Array.isArray(value))
    return value.map((each, at) => (String(at) === step ? (written(each, rest, last) ?? null) : each));
  const inside = typeof value === "object" && value !== null ? value : {};
  const below = written(inside[step], rest, last);
  const { [step]: _, ...others } = inside;
  const empty = below === undefined || (last === undefined && rest.length > 0 && JSON.stringify(below) === "{}");
  if (empty) return others;
  return step in inside ? { ...inside, [step]: below } : { ...others, [step]: below };
}

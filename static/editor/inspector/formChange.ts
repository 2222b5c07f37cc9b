/** What a form changes in the line, as its answer says it, or as it can be told before the answer comes. */
import { parse } from "../../ts/json";
import type { Deed } from "../api/line";
import type { Rename } from "../store/commands";
import type { Json, LineDocument } from "../store/document";
import { type Fragment, patched } from "../store/patch";
import type { Selection } from "../store/selection";
import { type Field, inside, pressed, put, stepsOf, written } from "./formWrites";
import { UNSURE, type Value } from "./reading";
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
    return { apply: changed, renames: subject.rekeyed?.(sent, answered) ?? [] };
  return {
    apply: (line) => renamed.everywhere(changed(line), from, to),
    renames: [{ kind: what as Rename["kind"], from, to }],
    rekeyed: { from, to, subject: renamed.subject(to), selection: renamed.selection(to) },
  };
}

/** The fragment with what was typed and then pressed: each control says how it writes, and each button what it adds.
 * Undefined where the server will refuse it. */
export function expectedOf(
  form: Element | undefined,
  fragment: Fragment,
  typed: ReadonlyMap<string, readonly string[]>,
  deed?: Deed,
): Fragment | undefined {
  let expected: Value = fragment as Json;
  for (const [name, values] of typed) {
    const writes = form?.querySelector<HTMLElement>(`[data-name="${CSS.escape(name)}"]`)?.dataset.writes;
    const next: Value | typeof UNSURE = writes ? written(expected, parse(writes) as Field, values) : UNSURE;
    if (next === UNSURE) return undefined;
    expected = next;
  }
  return (deed ? afterDeed(form, expected, deed) : expected) as Fragment | undefined;
}

function afterDeed(form: Element | undefined, expected: Value, deed: Deed): Value {
  const list = form?.querySelector<HTMLElement>(`[data-list="${CSS.escape(deed.rows)}"]`);
  const button = [...(list?.querySelectorAll<HTMLElement>("[data-new]") ?? [])].find(
    ({ dataset }) => dataset.rows === deed.rows && dataset.kind === deed.kind,
  );
  if (!list || (deed.do === "add" && !button)) return undefined;
  const steps = stepsOf(deed.rows);
  const rows = pressed(inside(expected, steps), deed, parse(button?.dataset.new ?? "null") as never);
  return put(expected, steps, rows.length > 0 || "keepsEmpty" in list.dataset ? rows : undefined);
}

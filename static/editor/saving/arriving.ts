/** `#station=build&rule=late`, `#tab=comments`: another page leads to a place on the canvas or to a tab beside it. What it names
 * is chosen and brought into view; what is not there is nothing. */
import { ruleOf, stationOf } from "../store/document";
import type { Editor } from "../store/store";

export function arrive(editor: Editor, show: (key: string) => void): void {
  const parameters = new URLSearchParams(window.location.hash.slice(1));
  const tab = parameters.get("tab");
  if (tab) editor.showTab(tab);
  const key = parameters.get("station") ?? "";
  if (!stationOf(editor.line, key)) return;
  const rule = parameters.get("rule") ?? "";
  editor.select({ keys: [key], ...(ruleOf(editor.line, rule)?.station.key === key ? { rule } : {}) });
  // Once it is drawn.
  window.setTimeout(() => show(key), 50);
}

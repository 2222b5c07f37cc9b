import * as commands from "./commands";
import { type LineDocument, type Rule, type Station, targetsOf } from "./document";
import { targetName } from "./flow";
import { endsOf } from "./layout";
import type { Editor } from "./store";
import { say } from "./words";

/** Where a rule leads. */
export function RuleForm({ editor, line, rule }: { editor: Editor; line: LineDocument; station: Station; rule: Rule }) {
  const [only, ...more] = targetsOf(rule);
  if (more.length > 0) return null;
  const names = { origin: say("origin"), blocked: say("blocked") };
  const keys = [
    ...line.stations.map((each) => each.key),
    ...new Set([...endsOf(line), "completed", "failed", "cancelled"]),
    "@origin",
    "@blocked",
  ];
  return (
    <label className="field">
      <span className="field-label">{say("leadsTo")}</span>
      <select
        className="input"
        value={only ?? ""}
        onChange={(event) => editor.run(commands.replaceRule(rule.id, { ...rule, to: event.target.value }))}
      >
        {only && !keys.includes(only) ? <option value={only}>{only}</option> : null}
        {only ? null : <option value="">{say("nowhere")}</option>}
        {keys.map((key) => (
          <option key={key} value={key}>
            {targetName(line, key, names)}
          </option>
        ))}
      </select>
    </label>
  );
}

import { useEffect, useState } from "react";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { remedy } from "../store/commands-edits";
import { type LineDocument, nameOf, type Rule, rulesOf, stationOf, targetsOf } from "../store/document";
import { gateName, partName, ruleName } from "../store/names";
import { checking, type Editor, useEditor } from "../store/store";
import { paintWay } from "../testmode/overlay";

/** A rule that leads to what is guarded, and the gate that is asked there. */
interface Attempt {
  id: string;
  reach: string;
  gate: string;
  rule: Rule;
}

/** `#past=reviewed&rules=fix`: the page was opened to try to get past the gate of this guarantee, and to put the second
 * rule of this station first. */
const hashValue = (name: string): string => new URLSearchParams(window.location.hash.slice(1)).get(name) ?? "";

function attemptIn(line: LineDocument, id: string): Attempt | undefined {
  const { reach, without: gate } = line.guarantees?.find((guarantee) => guarantee.id === id)?.never ?? {};
  if (!reach || !gate) return undefined;
  const leading = line.stations.flatMap(rulesOf).filter((rule) => targetsOf(rule).includes(reach));
  const rule = leading.find(({ gates }) => gates?.includes(gate)) ?? leading[0];
  return rule && { id, reach, gate, rule };
}

/** Above the canvas of a copy: one button breaks what the line promises, and the page says what follows. */
export function PastGate({ editor }: { editor: Editor }) {
  const [attempt] = useState(() => attemptIn(editor.line, hashValue("past")));
  const [station] = useState(() => stationOf(editor.line, hashValue("rules")));
  const { history, findings } = useEditor(editor);
  const unknown = useEditor(editor, checking);
  const { line } = history;
  const answer = findings.guarantees.find((guarantee) => guarantee.id === attempt?.id);
  const broken = !unknown && answer?.answer === "refuted" ? answer : undefined;
  const ways = broken?.ways;
  useEffect(() => (ways ? paintWay(line, ways) : undefined), [ways, line]);
  if (!attempt || !answer) return null;
  const { reach, gate, rule } = attempt;
  const now = line.stations.flatMap(rulesOf).find(({ id }) => id === rule.id);
  const gated = now?.gates?.includes(gate);
  const lead = (): void => {
    const gates = (now?.gates ?? []).filter((key) => key !== gate);
    const label = say("pastGateTry");
    editor.run(remedy({ label, edits: [{ do: "changeRule", rule: rule.id, set: { gates }, unset: [] }] }));
  };
  return (
    <div className={`banner ed-banner ed-past ${broken ? "banner-danger" : "banner-active"}`} role="status">
      <Icon name={broken ? "guarantee-refuted" : "guarantee-proved"} />
      <div className="banner-text">
        <strong>{broken ? say("pastGateBroken", partName(line, reach), gateName(line, gate)) : answer.sentence}</strong>
        <span>{say(broken ? "pastGateFollows" : gated ? "pastGateCopy" : "checking")}</span>
      </div>
      {gated ? (
        <button type="button" className="button button-primary" onClick={lead}>
          {say("pastGateLead", ruleName(line, rule.id), partName(line, reach))}
        </button>
      ) : history.done.length > 0 ? (
        <button type="button" className="button" onClick={() => editor.undo()}>
          <Icon name="undo" /> <span>{say("undo")}</span>
        </button>
      ) : null}
      {gated && station ? (
        <button type="button" className="button" onClick={() => editor.select({ keys: [station.key] })}>
          {say("pastGateRules", nameOf(station))}
        </button>
      ) : null}
    </div>
  );
}

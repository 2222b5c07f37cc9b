import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type LineDocument, type Rule, targetsOf } from "../store/document";
import { PILLS, type RuleSays } from "../store/findings";
import { gateName, partName } from "../store/names";

/** Where the rule leads, through which gates, and where it stands among the others. */
export function Leads({ line, rule, says }: { line: LineDocument; rule: Rule; says: RuleSays | undefined }) {
  const pill = says ? PILLS[says.status] : undefined;
  return (
    <p className="ed-rule-to">
      <Icon name="arrow-right" size={14} />
      <span>
        {targetsOf(rule)
          .map((key) => partName(line, key))
          .join(", ") || say("nowhere")}
      </span>
      {(Array.isArray(rule.gates) ? rule.gates : []).map((key) => (
        <span key={key} className="ed-rule-gate">
          <Icon name="gate" size={14} /> {gateName(line, key)}
        </span>
      ))}
      {pill && says ? (
        <span className={`pill pill-${pill[0]} push`}>
          <Icon name={pill[1]} size={14} /> {say(`status_${says.status.replace(" ", "_")}` as "status_live")}
        </span>
      ) : null}
    </p>
  );
}

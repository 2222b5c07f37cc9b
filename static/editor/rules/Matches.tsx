import type { RuleMatches } from "../api/line";
import { say } from "../shell/words";
import type { Matching } from "./matching";

/** Of the whole station: that nothing was recorded yet, or why nothing is counted. */
export function NothingCounted({ matching }: { matching: Matching }) {
  const why = nothing(matching);
  return why ? <p className="muted small">{why}</p> : null;
}

function nothing(matching: Matching): string {
  if (matching.is === "unreadable") return say("matchesUnreadable");
  if (matching.is === "away") return say("matchesAway");
  if (matching.is === "asked" || matching.said.outcomes > 0) return "";
  return say(matching.said.aside > 0 ? "matchesAside" : "matchesNone");
}

interface Counted {
  matching: Matching;
  rule: string;
  /** Rules before it take what it matches, or some of it. */
  shadowed: boolean;
  open: boolean;
}

/** How many recorded outcomes a rule matches by itself; an open one with an example, and why it failed. */
export function Matches({ matching, rule, shadowed, open }: Counted) {
  if (matching.is !== "told" || matching.said.outcomes === 0) return null;
  const told = matching.said.rules[rule];
  if (!told) return <p className="ed-matches muted small">{say("matchesFaulty")}</p>;
  const known = told.unknown + told.failed < matching.said.outcomes;
  return (
    <div className="ed-matches muted small">
      <p>
        {known
          ? say(shadowed ? "matchesAlone" : "matches", String(told.matches), String(matching.said.outcomes))
          : null}
        {told.unknown > 0 ? ` ${say("matchesUnknown", String(told.unknown))}` : null}
        {told.failed > 0 ? ` ${say("matchesFailed", String(told.failed))}` : null}
      </p>
      {open && told.failed > 0 ? <p>{told.why}</p> : null}
      {open ? <Newest told={told} /> : null}
    </div>
  );
}

function Newest({ told }: { told: RuleMatches }) {
  const { example } = told;
  if (!example) return null;
  return (
    <div className="ed-matches-example">
      <p>
        {say(example.matches ? "matchesExample" : "matchesNotExample")}{" "}
        <a className="link" href={example.url} target="_blank" rel="noopener" title={example.title}>
          {example.task}
        </a>
      </p>
      {example.values.length > 0 ? (
        <ul>
          {example.values.map(([asked, value]) => (
            <li key={`${asked} ${value}`}>
              {asked}: <code>{value}</code>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}

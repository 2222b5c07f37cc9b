import { useId, useState } from "react";
import type { RuleMatches } from "../api/line";
import { say } from "../shell/words";
import { type LineDocument, type Rule, ruleOf, targetsOf } from "../store/document";
import { partName } from "../store/names";
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
  open: boolean;
}

/** Counts how many recorded outcomes a rule takes, and how many it would without those above it; an open one with an example,
 * and why it failed. */
export function Matches({ matching, rule, open }: Counted) {
  if (matching.is !== "told" || matching.said.outcomes === 0) return null;
  const ruleMatches = matching.said.rules[rule];
  if (!ruleMatches) return <p className="ed-matches muted small">{say("matchesFaulty")}</p>;
  const known = ruleMatches.unknown + ruleMatches.failed < matching.said.outcomes;
  return (
    <div className="ed-matches muted small">
      <p>
        {known ? counted(ruleMatches.takes, matching.said.outcomes) : null}
        {known && ruleMatches.matches > ruleMatches.takes
          ? ` ${say("matchesAlone", String(ruleMatches.matches))}`
          : null}
        {ruleMatches.unknown > 0 ? ` ${say("matchesUnknown", String(ruleMatches.unknown))}` : null}
        {ruleMatches.failed > 0 ? ` ${say("matchesFailed", String(ruleMatches.failed))}` : null}
      </p>
      {open && ruleMatches.failed > 0 ? <p>{ruleMatches.why}</p> : null}
      {open ? <Newest told={ruleMatches} /> : null}
    </div>
  );
}

const counted = (count: number, of: number): string =>
  count === 0 ? say("matchesNoneOf", String(of)) : say("matches", String(count), String(of));

/** Counts how many recorded outcomes are left to the policy. */
export function Untaken({ matching }: { matching: Matching }) {
  if (matching.is !== "told" || matching.said.outcomes === 0) return null;
  const { untaken, outcomes } = matching.said;
  return <p className="ed-matches muted small">{say("takesOf", String(untaken), String(outcomes))}</p>;
}

/** Of a rule that others keep everything from: which recorded outcomes would go where it leads, once it is above them. */
export function Once({ matching, line, rule }: { matching: Matching; line: LineDocument; rule: Rule }) {
  const ruleMatches = matching.is === "told" ? matching.said.rules[rule.id] : undefined;
  const instead = Object.entries(ruleMatches?.instead ?? {});
  if (instead.length === 0) return null;
  const count = instead.reduce((sum, [, n]) => sum + n, 0);
  const before = instead.map(([id]) => leadsTo(line, ruleOf(line, id)?.rule)).filter(Boolean);
  return (
    <div className="ed-matches muted small">
      <p>{say("onceFixed", String(count), leadsTo(line, rule), [...new Set(before)].join(", "))}</p>
      <Outcomes count={count} shown={ruleMatches?.shown ?? []} />
    </div>
  );
}

/** Which outcomes they are: the newest few, each by its task. */
function Outcomes({ count, shown }: { count: number; shown: RuleMatches["shown"] }) {
  const [open, setOpen] = useState(false);
  const list = useId();
  if (shown.length === 0) return null;
  return (
    <>
      <button
        type="button"
        className="button button-link button-small"
        aria-expanded={open}
        aria-controls={open ? list : undefined}
        onClick={() => setOpen((now) => !now)}
      >
        {say(open ? "hideOutcomes" : "showOutcomes", String(count))}
      </button>
      {open ? (
        <ul id={list}>
          {shown.map(({ task, title, url, run }) => (
            <li key={`${task} ${run}`}>
              <a className="link" href={url} target="_blank" rel="noopener">
                {task}
              </a>{" "}
              {title}
              {run > 1 ? ` · ${say("outcomeRun", String(run))}` : null}
            </li>
          ))}
          {count > shown.length ? <li>{say("moreElsewhere", String(count - shown.length))}</li> : null}
        </ul>
      ) : null}
    </>
  );
}

const leadsTo = (line: LineDocument, rule: Rule | undefined): string =>
  rule
    ? targetsOf(rule)
        .map((key) => partName(line, key))
        .join(", ")
    : "";

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

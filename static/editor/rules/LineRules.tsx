import { useEffect, useRef, useState } from "react";
import type { TabProps } from "../inspector/tab";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { kindOf, nameOf, rulesOf, type Station } from "../store/document";
import { kindIcon, kindName } from "../store/kinds";
import { Leads } from "./Leads";
import { Matches } from "./Matches";
import { useMatching } from "./matching";

/** The rules of all stations in their order, where nothing is chosen: a click chooses one. */
export function LineRules(props: TabProps) {
  const stations = props.line.stations.filter((station) => rulesOf(station).length > 0);
  return (
    <section className="ed-rules" aria-label={say("rulesInOrder")}>
      <p className="muted small">{say("firstWins")}</p>
      {stations.length === 0 ? <p className="muted small">{say("noRulesYet")}</p> : null}
      {stations.map((station) => (
        <OfStation key={station.key} station={station} {...props} />
      ))}
    </section>
  );
}

/** Counts what was recorded once it is in view: a long line has many stations. */
function OfStation({ editor, line, station, findings }: TabProps & { station: Station }) {
  const place = useRef<HTMLElement>(null);
  const [inView, setInView] = useState(false);
  const matching = useMatching(editor, line, station, inView);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      setInView(true);
      observer.disconnect();
    });
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return (
    <section ref={place} className="ed-line-rules" aria-label={say("rulesOf", nameOf(station))}>
      <h3>
        <Icon name={kindIcon(kindOf(station))} size={14} /> {nameOf(station)}
        <span className="muted small">{kindName(kindOf(station))}</span>
      </h3>
      <ol className="ed-rule-list">
        {rulesOf(station).map((rule, index) => {
          const says = findings.rules[rule.id];
          return (
            <li key={rule.id} className="ed-rule" data-rule={rule.id} data-dead={says?.status === "dead" || undefined}>
              <span className="ed-number" aria-hidden="true">
                {index + 1}
              </span>
              <div className="ed-rule-body">
                <button
                  type="button"
                  className="ed-rule-head"
                  onClick={() => editor.select({ keys: [station.key], rule: rule.id })}
                >
                  <strong>{rule.label || says?.words || say("ruleAt", String(index + 1), nameOf(station))}</strong>
                </button>
                <Leads line={line} rule={rule} says={says} />
                <Matches matching={matching} rule={rule.id} open={false} />
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

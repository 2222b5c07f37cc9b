import { type RefObject, useEffect, useRef, useState } from "react";
import type { TabProps } from "../inspector/tab";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { kindOf, nameOf, rulesOf, type Station } from "../store/document";
import { kindIcon, kindName } from "../store/kinds";
import { Leads } from "./Leads";
import { Matches } from "./Matches";
import { useMatching } from "./matching";

/** Stations whose rules are there at first, and as many more whenever the last of them comes near. */
const STEP = 12;
/** So far before it is seen. */
const NEAR = "600px";

/** The rules of all stations in their order, where nothing is chosen: a click chooses one. Of a long line those that somebody
 * scrolls to: a thousand rules are more to lay out than the canvas beside them. */
export function LineRules(props: TabProps) {
  const stations = props.line.stations.filter((station) => rulesOf(station).length > 0);
  const [count, setCount] = useState(STEP);
  return (
    <section className="ed-rules" aria-label={say("rulesInOrder")}>
      <p className="muted small">
        <strong>{say("rulesInOrder")}</strong> {say("firstWins")}
      </p>
      {stations.length === 0 ? <p className="muted small">{say("noRulesYet")}</p> : null}
      {stations.slice(0, count).map((station) => (
        <OfStation key={station.key} station={station} {...props} />
      ))}
      {stations.length > count ? (
        <More key={count} left={stations.length - count} more={() => setCount((now) => now + STEP)} />
      ) : null}
    </section>
  );
}

function More({ left, more }: { left: number; more(): void }) {
  const place = useInView<HTMLButtonElement>(more, NEAR);
  return (
    <button ref={place} type="button" className="button button-link button-small" onClick={more}>
      {say("moreStations", left)}
    </button>
  );
}

/** The place that is waited for: once it is in view, or so near. */
function useInView<Place extends HTMLElement>(seen: () => void, near = "0px"): RefObject<Place | null> {
  const place = useRef<Place>(null);
  const latest = useRef(seen);
  useEffect(() => {
    latest.current = seen;
  });
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    // Of what scrolls inside the page, where the browser knows that; without, it comes when it is seen.
    const options = { rootMargin: near, scrollMargin: near };
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      latest.current();
    }, options);
    observer.observe(element);
    return () => observer.disconnect();
  }, [near]);
  return place;
}

/** Counts what was recorded once it is in view: a long line has many stations. */
function OfStation({ editor, line, station, findings }: TabProps & { station: Station }) {
  const [inView, setInView] = useState(false);
  const place = useInView<HTMLElement>(() => setInView(true));
  const matching = useMatching(editor, line, station, inView);
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

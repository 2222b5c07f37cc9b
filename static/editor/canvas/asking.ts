/** Places of gates and ends that somebody made without saying where: a gate on the edge by which a task usually goes on, an
 * end behind the station that is chosen from a list. */
import { isBadge } from "../drawing/graph";
import { ILL } from "../drawing/order";
import { unlikeliness } from "../drawing/usual";
import { say } from "../shell/words";
import type { Command } from "../store/commands";
import { type NewGate, putGate } from "../store/commands-canvas";
import { connectTo } from "../store/commands-connect";
import { kindOf, type LineDocument, nameOf, rulesOf, type Station, stationOf, targetsOf } from "../store/document";
import type { Findings } from "../store/findings";
import { kindIcon, kindName } from "../store/kinds";
import { partName, ruleName } from "../store/names";
import type { Choice } from "../store/store";

type Said = Pick<Findings, "rules" | "onward">;

/** The rule that a task takes when all goes well; undefined where the policy leads on. */
function usualRule(station: Station, { rules }: Said): string | undefined {
  const leading = rulesOf(station).filter((rule) => !isBadge(station, rule) && rules[rule.id]?.status !== "dead");
  const unlikely = unlikeliness(leading.map((rule) => rule.when));
  const least = Math.min(...unlikely);
  return least < ILL ? leading[unlikely.indexOf(least)]?.id : undefined;
}

/** The place to which the policy leads a task that passed here; a station that was just made has not been looked at yet. */
function onwardOf(line: LineDocument, station: Station, { onward }: Said): string {
  return onward[station.key] ?? line.stations[line.stations.indexOf(station) + 1]?.key ?? "completed";
}

/** A gate on the edge by which a task leaves this station when all goes well; where only the policy leads on, a rule says
 * so from then on. */
export function askOnTheWay(key: string, gate: NewGate, said: Said): Command {
  return {
    label: putGate({ station: key }, gate).label,
    apply: (line) => {
      const station = stationOf(line, key);
      if (!station) return line;
      const rule = usualRule(station, said);
      if (rule !== undefined) return putGate({ rule }, gate).apply(line);
      const had = new Set(rulesOf(station).map(({ id }) => id));
      const next = connectTo("", key, [onwardOf(line, station, said)], { result: "success" }).apply(line);
      const made = rulesOf(stationOf(next, key) ?? station).find(({ id }) => !had.has(id));
      return made ? putGate({ rule: made.id }, gate).apply(next) : line;
    },
  };
}

/** The rules of the line, and the stations from which only the policy leads on. */
export function placesOfGates(line: LineDocument, said: Said): Choice[] {
  return line.stations.flatMap((station): Choice[] => {
    const icon = kindIcon(kindOf(station));
    const leads = (targets: readonly string[]): string =>
      `${nameOf(station)} → ${targets.map((target) => partName(line, target)).join(", ")}`;
    const rules = rulesOf(station).map(
      (rule): Choice => ({
        key: rule.id,
        name: leads(targetsOf(rule)),
        note: rule.label || said.rules[rule.id]?.words || ruleName(line, rule.id),
        icon,
      }),
    );
    if (usualRule(station, said) !== undefined) return rules;
    return [...rules, { key: station.key, name: leads([onwardOf(line, station, said)]), note: say("anyPass"), icon }];
  });
}

export const stationsToLeadFrom = (line: LineDocument): Choice[] =>
  line.stations.map((station) => ({
    key: station.key,
    name: nameOf(station),
    note: kindName(kindOf(station)),
    icon: kindIcon(kindOf(station)),
  }));

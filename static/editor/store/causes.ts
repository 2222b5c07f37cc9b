/** Problems by what causes them: of one dead rule a dozen things follow, and they go with it. */
import { type LineDocument, rulesOf, stationOf, targetsOf } from "./document";
import type { Finding } from "./findings";

export interface Cause {
  first: Finding;
  /** What goes with it when it is put right. */
  others: Finding[];
}

const DEAD = "dead-rule";
const UNREACHED = "unreachable-station";

/** A problem, and no hint. */
export const isGrave = ({ severity }: Finding): boolean => severity !== "info";

/** In the order in which they were found. */
export function causesOf(findings: readonly Finding[], line: LineDocument): Cause[] {
  const roots = new Map<string, Finding>();
  const unreached = new Map(
    findings.flatMap((each) => (each.check === UNREACHED ? [[each.station, each] as const] : [])),
  );
  const dead = new Map(findings.flatMap((each) => (each.check === DEAD ? [[each.rule, each] as const] : [])));
  /** Of a station that nothing reaches: the dead rule that would lead there, at a station that is reached. `met`: looked
   * at already, each once, however many ways there are between them. */
  const leadsTo = (key: string, met: Set<string>): Finding | undefined => {
    met.add(key);
    for (const station of line.stations) {
      if (met.has(station.key)) continue;
      for (const rule of rulesOf(station)) {
        if (!targetsOf(rule).includes(key)) continue;
        const before = unreached.has(station.key) ? leadsTo(station.key, met) : dead.get(rule.id);
        if (before) return before;
        if (met.has(station.key)) break;
      }
    }
    return undefined;
  };
  const rootOf = (finding: Finding): Finding => {
    const { station, rule, check } = finding;
    if (station && unreached.has(station) && stationOf(line, station))
      return leadsTo(station, new Set()) ?? (unreached.get(station) as Finding);
    if (rule && dead.has(rule)) return dead.get(rule) as Finding;
    // Said of the same place several times over: of each pair of branches, of each of its targets.
    if (!rule && !finding.gate) return finding;
    const place = `${check} ${station ?? ""} ${rule ?? ""} ${finding.gate ?? ""}`;
    const known = roots.get(place);
    if (known) return known;
    roots.set(place, finding);
    return finding;
  };
  const causes = new Map<Finding, Cause>();
  for (const finding of findings) {
    const first = rootOf(finding);
    const cause = causes.get(first) ?? { first, others: [] };
    causes.set(first, cause);
    if (finding !== first) cause.others.push(finding);
  }
  return [...causes.values()];
}

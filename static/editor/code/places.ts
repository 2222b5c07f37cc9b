/** From what is chosen to its place in the text, and back; and where findings stand in it. */

import { endOf, type LineDocument, ruleOf, rulesOf } from "../store/document";
import type { Finding } from "../store/findings";
import type { Selection } from "../store/selection";
import { nearest, type Places } from "./paths";
import type { Shown } from "./text";

interface Range {
  from: number;
  to: number;
}

export function pathOf(line: LineDocument, { keys, rule, gate, part }: Selection): string | undefined {
  const gateAt = gate === undefined ? -1 : (line.gates ?? []).findIndex((each) => each.key === gate);
  if (gateAt >= 0) return `gates[${gateAt}]`;
  const ofRule = rule === undefined ? undefined : ruleOf(line, rule);
  if (ofRule) return `stations[${line.stations.indexOf(ofRule.station)}].rules[${ofRule.index}]`;
  if (part) return part;
  const station = line.stations.findIndex((each) => each.key === keys[0]);
  if (station >= 0) return `stations[${station}]`;
  const end = (line.ends ?? []).findIndex((each) => each.key === keys[0]);
  return end >= 0 ? `ends[${end}]` : undefined;
}

export function chosenPlace(line: LineDocument, selection: Selection, places: Places): Range | undefined {
  const path = selection.keys.length > 1 ? undefined : pathOf(line, selection);
  const place = path === undefined ? undefined : places[path];
  return place ? { from: place[0], to: Math.max(place[0], place[1] - 1) } : undefined;
}

/** What stands at this place of the text: a rule, or the station, gate or end around it. */
export function selectionAt(line: LineDocument, places: Places, at: number): Selection | undefined {
  const holds = (path: string): boolean => {
    const place = places[path];
    return place !== undefined && place[0] <= at && at <= place[1];
  };
  const station = line.stations.find((_, index) => holds(`stations[${index}]`));
  if (station) {
    const index = line.stations.indexOf(station);
    const rule = rulesOf(station).find((_, each) => holds(`stations[${index}].rules[${each}]`));
    return { keys: [station.key], ...(rule ? { rule: rule.id } : {}) };
  }
  const gate = (line.gates ?? []).find((_, index) => holds(`gates[${index}]`));
  if (gate) return { keys: [], gate: gate.key };
  const end = (line.ends ?? []).find((_, index) => holds(`ends[${index}]`));
  return end && endOf(line, end.key) ? { keys: [end.key] } : undefined;
}

interface Placed extends Range {
  severity: Finding["severity"];
  message: string;
  hint: string;
}

/** Findings at their place, or at the nearest part around it that the text has; and why it cannot be read. */
export function findingsIn(findings: readonly Finding[], { fault, places }: Shown, length: number): Placed[] {
  const clipped = (from: number, to: number): Range => {
    const start = Math.min(Math.max(from, 0), length);
    return { from: start, to: Math.min(Math.max(to, start), length) };
  };
  if (fault) return [{ ...clipped(fault.at, fault.at + 1), severity: "error", message: fault.message, hint: "" }];
  return findings.map(({ path, severity, message, hint }) => {
    const [from, to] = places[nearest(path, places)] ?? [0, 0];
    // The whole of a station is too much to underline: its beginning is.
    return { ...clipped(from, Math.min(to, from + 80)), severity, message, hint };
  });
}

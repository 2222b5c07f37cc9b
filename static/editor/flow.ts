/** From a line to the nodes and edges of React Flow. An edge is a rule and one of its targets, by the rule's id. */
import type { Edge, Node } from "@xyflow/react";

import {
  BLOCKED,
  endOf,
  kindOf,
  type LineDocument,
  nameOf,
  ORIGIN,
  type Rule,
  rulesOf,
  startOf,
  type Station,
  stationOf,
  targetsOf,
} from "./document";
import type { Findings } from "./findings";
import { type Box, boxes, START_ID, type Ways, waysOf } from "./layout";
import type { Selection } from "./store";

export type StationData = {
  station: Station;
  name: string;
  kind: string;
  marks: Record<string, "dead" | "shadowed" | undefined>;
  errors: number;
  warnings: number;
  visits: number | undefined;
  gate: string | undefined;
  asOtherwise: boolean;
};
export type StationNode = Node<StationData, "station">;
export type EndNode = Node<{ name: string; kind: string }, "end">;
export type StartNode = Node<{ inputs: number }, "start">;
export type AnyNode = StationNode | EndNode | StartNode;

export type RuleEdge = Edge<
  {
    rule: string;
    target: string;
    number: number;
    label: string;
    gates: { name: string; mode: string }[];
    dead: boolean;
    back: boolean;
    fork: boolean;
    lane: number;
    /** How many rules its station has: their vertical runs stand side by side. */
    rules: number;
    way: [number, number][];
  },
  "rule"
>;

export function nodesOf(line: LineDocument, findings: Findings, selection: Selection): AnyNode[] {
  const chosen = new Set(selection.keys);
  return boxes(line).map((box) => nodeOf(line, box, findings, chosen.has(box.key)));
}

function nodeOf(line: LineDocument, box: Box, findings: Findings, selected: boolean): AnyNode {
  const base = {
    id: box.key,
    position: { x: box.x, y: box.y },
    width: box.width,
    height: box.height,
    selected,
  };
  const station = stationOf(line, box.key);
  if (station) return { ...base, type: "station", data: stationData(line, station, findings), ariaLabel: nameOf(station) };
  if (box.key === START_ID) {
    const inputs = Array.isArray(line.inputs) ? line.inputs.length : 0;
    return { ...base, type: "start", data: { inputs }, deletable: false, selectable: false };
  }
  const end = endOf(line, box.key);
  return { ...base, type: "end", data: { name: endName(end?.label ?? box.key), kind: end?.kind ?? "completed" } };
}

function stationData(line: LineDocument, station: Station, findings: Findings): StationData {
  const own = findings.findings.filter((finding) => finding.station === station.key);
  const marks: StationData["marks"] = {};
  for (const rule of rulesOf(station)) {
    const says = findings.rules[rule.id]?.status;
    marks[rule.id] = says === "dead" ? "dead" : says === "partly shadowed" ? "shadowed" : undefined;
  }
  return {
    station,
    name: nameOf(station),
    kind: kindOf(station),
    marks,
    errors: own.filter((finding) => finding.severity === "error").length,
    warnings: own.filter((finding) => finding.severity === "warning").length,
    visits: findings.visits[station.key],
    gate: station.gate && gateName(line, station.gate),
    asOtherwise: rulesOf(station).length === 0,
  };
}

export const endName = (label: string): string =>
  label === label.toUpperCase() ? label.charAt(0) + label.slice(1).toLowerCase().replaceAll("_", " ") : label;

export function gateName(line: LineDocument, key: string): string {
  return line.gates?.find((gate) => gate.key === key)?.name || key;
}

export function edgesOf(line: LineDocument, nodes: AnyNode[], findings: Findings, selection: Selection): RuleEdge[] {
  const at = new Map(nodes.map((node) => [node.id, node]));
  const found: RuleEdge[] = [];
  const start = startOf(line);
  if (start && at.has(start)) found.push(startEdge(start));
  const ways = waysOf(line);
  let lane = 0;
  for (const station of line.stations) {
    rulesOf(station).forEach((rule, index) => {
      const drawn = targetsOf(rule).filter((target) => at.has(target));
      for (const target of drawn) {
        const back = (at.get(target)?.position.x ?? 0) <= (at.get(station.key)?.position.x ?? 0);
        if (back) lane += 1;
        found.push({
          id: `${rule.id}>${target}`,
          type: "rule",
          source: station.key,
          sourceHandle: rule.id,
          target,
          selected: selection.rule === rule.id,
          data: edgeData(line, station, rule, index, target, findings, back, drawn.length > 1, lane, ways),
        });
      }
    });
  }
  return found;
}

function edgeData(
  line: LineDocument,
  station: Station,
  rule: Rule,
  index: number,
  target: string,
  findings: Findings,
  back: boolean,
  fork: boolean,
  lane: number,
  ways: Ways,
): RuleEdge["data"] {
  const gates = (rule.gates ?? []).map((key) => ({
    name: gateName(line, key),
    mode: line.gates?.find((gate) => gate.key === key)?.mode ?? "manual",
  }));
  return {
    rule: rule.id,
    target,
    number: index + 1,
    label: rulesOf(station).length > 1 ? rule.label || findings.rules[rule.id]?.words || rule.id : "",
    gates: targetsOf(rule)[0] === target ? gates : [],
    dead: findings.rules[rule.id]?.status === "dead",
    back,
    fork,
    lane,
    rules: rulesOf(station).length,
    way: back ? [] : (ways[`${rule.id}>${target}`] ?? []),
  };
}

function startEdge(start: string): RuleEdge {
  return {
    id: `${START_ID}>${start}`,
    type: "rule",
    source: START_ID,
    target: start,
    selectable: false,
    data: { rule: "", target: start, number: 0, label: "", gates: [], dead: false, back: false, fork: false, lane: 0, rules: 1, way: [] },
  };
}

/** What a target is called where a person reads it. */
export function targetName(line: LineDocument, key: string, words: { origin: string; blocked: string }): string {
  if (key === ORIGIN) return words.origin;
  if (key === BLOCKED) return words.blocked;
  const station = stationOf(line, key);
  if (station) return nameOf(station);
  return endName(endOf(line, key)?.label ?? key);
}

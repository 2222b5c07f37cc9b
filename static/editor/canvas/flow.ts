/** From a line to the nodes of React Flow. What did not change is the same node as before: only that keeps a line of
 * hundreds of stations quick. */
import type { Edge, Node } from "@xyflow/react";
import { isBadge, onwardId, rejectedId, rejectionsOf, waitsWords } from "../drawing/graph";
import { say } from "../shell/words";
import {
  endOf,
  endsOf,
  kindOf,
  type LineDocument,
  type Note,
  nameOf,
  type Rule,
  rulesOf,
  type Station,
  startOf,
  stationOf,
  targetsOf,
} from "../store/document";
import type { Finding, Findings, Sign } from "../store/findings";
import { endName, gateName, targetName } from "../store/names";
import { isHeading, noteId, placedNotes } from "../store/notes";
import type { Selection } from "../store/selection";
import { type Box, nextPort, START_ID } from "./layout";
import { edgeMark } from "./marks";

/** What the badge of a rule says that leads back to its own station. */
interface Retry {
  edge: string;
  most: number | undefined;
  endless: boolean;
  words: string;
  /** Painted by a test. */
  mark?: string | undefined;
}

type StationData = {
  name: string;
  kind: string;
  rules: { id: string; title: string; mark: "dead" | undefined; retry: Retry | undefined }[];
  dead: number;
  errors: number;
  warnings: number;
  visits: number | undefined;
  gate: { key: string; name: string } | undefined;
  join: { how: string; waits: string } | undefined;
  /** Who works there, where a station names an agent. */
  agent: string;
  signs: { kind: Sign; words: string }[];
  otherwise: string;
  /** From the upper right corner of the card to each port, to that of the policy where it leads on after the rules, and
   * from its top to the one that is not there yet. */
  ports: Box["ports"];
  onward: { id: string; port: number; title: string } | undefined;
  nextPort: number;
  /** Only the bar of its join, no card. */
  bar: boolean;
  /** Painted by a test or a difference. */
  mark: string | undefined;
};
export type StationNode = Node<StationData, "station">;
export type EndNode = Node<{ name: string; kind: string; mark: string | undefined }, "end">;
export type StartNode = Node<{ inputs: number; limits: string }, "start">;
export type NoteNode = Node<{ note: Note }, "note">;
export type AnyNode = StationNode | EndNode | StartNode | NoteNode;
/** Edges are drawn by edges.tsx, one for each rule; React Flow holds none. */
export type RuleEdge = Edge;

/** One way of a rule or of the policy, as the keyboard walks it. */
interface Reach {
  id: string;
  source: string;
  target: string;
  /** "" where no rule leads. */
  rule: string;
}

export const edgeId = (rule: string, target: string): string => `${rule}>${target}`;

/** To everything that stands on the canvas, of each station in the order of its rules, each before what its gates reject;
 * last where the policy leads. */
export function edgesOf(line: LineDocument, said: Pick<Findings, "onward" | "rejected" | "rules">): Reach[] {
  const there = new Set([...line.stations.map((station) => station.key), ...endsOf(line)]);
  const start = startOf(line);
  const reaches: Reach[] =
    start && there.has(start) ? [{ id: edgeId(START_ID, start), source: START_ID, target: start, rule: "" }] : [];
  for (const station of line.stations) {
    for (const rule of rulesOf(station)) {
      for (const target of targetsOf(rule)) {
        if (there.has(target))
          reaches.push({ id: edgeId(rule.id, target), source: station.key, target, rule: rule.id });
      }
      for (const target of rejectionsOf(line, station, rule, said))
        reaches.push({ id: edgeId(rejectedId(rule.id), target), source: station.key, target, rule: "" });
    }
    const target = said.onward[station.key];
    if (target !== undefined && there.has(target) && target !== station.key)
      reaches.push({ id: edgeId(onwardId(station.key), target), source: station.key, target, rule: "" });
  }
  return reaches;
}

type Made = { made: string; node: AnyNode };

export class Nodes {
  #before = new Map<string, Made>();

  of(
    line: LineDocument,
    boxes: readonly Box[],
    findings: Findings,
    selection: Selection,
    marks: Readonly<Record<string, string>>,
  ): AnyNode[] {
    const chosen = new Set(selection.keys);
    const byPart = new Map<string, Finding[]>();
    for (const finding of findings.findings) {
      const key = finding.station ?? "";
      byPart.set(key, [...(byPart.get(key) ?? []), finding]);
    }
    const next = new Map<string, Made>();
    const keep = (node: AnyNode): AnyNode => {
      const made = JSON.stringify(node);
      const before = this.#before.get(node.id);
      const entry = before?.made === made ? before : { made, node };
      next.set(node.id, entry);
      return entry.node;
    };
    const nodes = boxes.map((box) =>
      keep(nodeOf(line, box, findings, byPart.get(box.key) ?? [], chosen.has(box.key), marks)),
    );
    const notes = placedNotes(line, boxes).map((note) => keep(noteNode(note, chosen.has(noteId(note.key)))));
    this.#before = next;
    return [...nodes, ...notes];
  }
}

function noteNode(note: Note, selected: boolean): NoteNode {
  return {
    id: noteId(note.key),
    type: "note",
    position: { x: note.x, y: note.y },
    width: note.width,
    height: note.height,
    zIndex: -1,
    selected,
    data: { note },
    // Only the words of a heading are in the way of the mouse, not all that it stands over.
    ...(isHeading(note) ? { style: { pointerEvents: "none" } } : {}),
    ariaLabel: say(isHeading(note) ? "headingOf" : "noteOf", note.text.slice(0, 80)),
  };
}

function nodeOf(
  line: LineDocument,
  box: Box,
  findings: Findings,
  own: readonly Finding[],
  selected: boolean,
  marks: Readonly<Record<string, string>>,
): AnyNode {
  const mark = marks[box.key];
  const base = { id: box.key, position: { x: box.x, y: box.y }, width: box.width, height: box.height, selected };
  const station = stationOf(line, box.key);
  if (station) {
    const stationNode = stationData(line, station, findings, own);
    const rules = stationNode.rules.map((rule) =>
      rule.retry ? { ...rule, retry: { ...rule.retry, mark: marks[edgeMark(rule.id)] } } : rule,
    );
    const port = box.ports[rules.length]?.[1];
    const onward =
      port === undefined
        ? undefined
        : { id: onwardId(station.key), port, title: say("otherwiseDoes", stationNode.otherwise) };
    const data = { ...stationNode, rules, ports: box.ports, onward, nextPort: nextPort(box), bar: box.bar, mark };
    return { ...base, type: "station", data, ariaLabel: spoken(data) };
  }
  if (box.key === START_ID) {
    const inputs = Array.isArray(line.inputs) ? line.inputs.length : 0;
    return {
      ...base,
      type: "start",
      data: { inputs, limits: findings.signs.line.join(" ") },
      deletable: false,
      ariaLabel: [say("startInputs"), ...findings.signs.line].join(". "),
    };
  }
  const end = endOf(line, box.key);
  const name = endName(end?.label ?? box.key);
  return { ...base, type: "end", data: { name, kind: end?.kind ?? "completed", mark }, ariaLabel: name };
}

/** What a screen reader says of a station: all that hovering shows. */
function spoken(data: Omit<StationData, "mark">): string {
  const visits = data.visits === undefined ? "" : say("visits", String(data.visits));
  const agent = data.agent ? say("byAgent", data.agent) : "";
  return [data.name, agent, visits, ...data.signs.map(({ words }) => words)].filter(Boolean).join(". ");
}

function retryOf(station: Station, rule: Rule, findings: Findings): Retry {
  const limit = findings.signs.rules[rule.id];
  const endless = findings.endless[rule.id] !== undefined;
  const words = limit?.words.join(" ") ?? (endless ? say("noLimitWhy") : "");
  return { edge: edgeId(rule.id, station.key), most: limit?.most, endless, words };
}

const SIGNS: readonly Sign[] = ["limits", "escalates", "needs"];

function stationData(
  line: LineDocument,
  station: Station,
  findings: Findings,
  own: readonly Finding[],
): Omit<StationData, "mark" | "ports" | "onward" | "nextPort" | "bar"> {
  const rules = rulesOf(station).map((rule, index) => {
    const says = findings.rules[rule.id];
    const mark = says?.status === "dead" ? ("dead" as const) : undefined;
    const title = [rule.label || says?.words || say("ruleNumber", String(index + 1)), says?.why]
      .filter(Boolean)
      .join(". ");
    return { id: rule.id, title, mark, retry: isBadge(station, rule) ? retryOf(station, rule, findings) : undefined };
  });
  const waits = (station.join?.wait_for ?? []).map((key) => targetName(line, key, { origin: key, blocked: key }));
  return {
    name: nameOf(station),
    kind: kindOf(station),
    rules,
    dead: rules.filter((rule) => rule.mark === "dead").length,
    errors: own.filter((finding) => finding.severity === "error").length,
    warnings: own.filter((finding) => finding.severity === "warning").length,
    visits: findings.visits[station.key],
    gate: station.gate ? { key: station.gate, name: gateName(line, station.gate) } : undefined,
    join: station.join ? { how: waitsWords(station), waits: waits.join(", ") } : undefined,
    agent: typeof station.agent === "string" ? station.agent : "",
    signs: SIGNS.flatMap((kind) => {
      const words = findings.signs.stations[station.key]?.[kind]?.join(" ");
      return words ? [{ kind, words }] : [];
    }),
    otherwise: findings.otherwise[station.key] ?? say("byPolicy"),
  };
}

/** What is drawn of the rules: one edge each, also where it splits, with its words, gates and pills. Where everything stands
 * is the layout's; here is what it says. */
import { asksFirst, onwardId, pillKey, stubName, wordsOfRule } from "../drawing/graph";
import { forkOf, meetings } from "../drawing/parting";
import { rounded } from "../drawing/routes";
import type { Outlet, Part, Point, Rect, Rejection, Way } from "../drawing/types";
import { HEXAGON } from "../drawing/zones";
import { say } from "../shell/words";
import {
  BLOCKED,
  endOf,
  type LineDocument,
  nameOf,
  ORIGIN,
  type Rule,
  rulesOf,
  type Station,
  stationOf,
} from "../store/document";
import type { Findings } from "../store/findings";
import { endName, partName } from "../store/names";
import { type Box, type Laid, START_ID } from "./layout";
import { type Origin, staying } from "./staying";

export { onwardId };

interface Branch {
  target: string;
  points: readonly Point[];
  path: string;
  back: boolean;
}

/** A target that is too far away for an edge, or is no place: named at the end of its edge. */
export interface Stub extends Rect {
  target: string;
  kind: "station" | "end" | "origin" | "blocked" | "unknown";
  icon: string;
  name: string;
  title: string;
  /** What leads to it. */
  points: readonly Point[];
  path: string;
}

export interface GateMark {
  key: string;
  name: string;
  mode: string;
  known: boolean;
}

/** One edge with what is said of it: of a rule, of the start, of where the policy leads what no rule takes, or of where
 * gates lead what they reject. */
export interface Drawn {
  id: string;
  kind: "rule" | "start" | "onward" | "rejected";
  station: string;
  rule: Rule | undefined;
  /** Those that it is drawn for: this one, then those that share its edge. */
  rules: readonly string[];
  number: number;
  from: Point;
  branches: readonly Branch[];
  stubs: readonly Stub[];
  fork: Point | undefined;
  /** Where its ways back come to others, which they share the rest with. */
  joins: readonly Point[];
  /** Tells whether a part of it is a part of others, too. */
  shares: boolean;
  /** On the way that a task takes when all goes well. */
  main: boolean;
  /** What is said of it, and as much of that as stands on the edge. */
  label: string;
  words: string;
  labelAt: Rect | undefined;
  gates: readonly GateMark[];
  gateAt: Point | undefined;
  /** Over it, as its room was made. */
  gateRows: readonly string[];
  /** What it rejects leaves it below. */
  rejects: boolean;
  state: "dead" | undefined;
  /** Tells whether somebody or something has to be asked before it can match. */
  asks: boolean;
  /** Where "No limit" stands, on a loop that no budget ends. */
  endlessAt: Point | undefined;
  /** Counts how often a loop may be gone, where that is said, and in which words. */
  limit: { most: number; words: string } | undefined;
  limitAt: Point | undefined;
  title: string;
  /** Of each target: where the edge comes from and leads to, in names. */
  between: Readonly<Record<string, string>>;
  bounds: Rect;
}

/** The room that all of it takes. */
export function boundsOfAll(boxes: readonly Rect[], drawn: readonly Pick<Drawn, "bounds">[]): Rect | undefined {
  const all = [...boxes, ...drawn.map(({ bounds }) => bounds)];
  if (all.length === 0) return undefined;
  const [x, y] = [Math.min(...all.map((each) => each.x)), Math.min(...all.map((each) => each.y))];
  const right = Math.max(...all.map((each) => each.x + each.width));
  return { x, y, width: right - x, height: Math.max(...all.map((each) => each.y + each.height)) - y };
}

const origins = new WeakMap<readonly Drawn[], Origin>();
let last: readonly Drawn[] = [];

/** `before`: what was drawn last; an edge that is still the same is the same object. */
export function drawnOf(
  line: LineDocument,
  laid: Laid,
  findings: Findings,
  before: readonly Drawn[] = [],
): readonly Drawn[] {
  for (const known of [before, last]) {
    const of = origins.get(known);
    if (of?.line === line && of.laid === laid && of.findings === findings) return known;
  }
  last = drawnAnew(line, laid, findings, before);
  origins.set(last, { line, laid, findings });
  return last;
}

function drawnAnew(line: LineDocument, laid: Laid, findings: Findings, before: readonly Drawn[]): Drawn[] {
  const stays = staying({ line, laid, findings }, origins.get(before));
  const boxes = new Map(laid.boxes.map((box) => [box.key, box]));
  const parts = new Map(laid.graph.parts.map((part) => [part.key, part]));
  const main = new Set(laid.graph.mainRules);
  const leaders = laid.graph.parts.flatMap(({ outlets }) => outlets.filter(({ leader }) => leader === undefined));
  const crossings = meetings(
    leaders.flatMap(({ id, rejected }) => [id, rejected?.id ?? ""]).flatMap((id) => laid.ways.get(id) ?? []),
  );
  const old = new Map(before.map((each) => [each.id, each]));
  const ways: Drawn[] = [];
  const add = (each: Drawn): void => {
    const was = old.get(each.id);
    ways.push(was && isSame(was, each) ? was : each);
  };
  const isStill = (box: Box, outlet: Outlet, id: string): boolean => {
    const was = old.get(id);
    // What it shares with others changes with theirs.
    const shares = was?.shares || laid.ways.get(id)?.some((way) => crossings.has(way));
    if (!was || shares || outlet.leader !== undefined || !stays(box, outlet)) return false;
    ways.push(was);
    return true;
  };
  const draw = (box: Box, part: Part, outlet: Outlet, station: Station | undefined, index: number): void => {
    const rule = station && rulesOf(station)[index];
    if (outlet.rejected && rule && !isStill(box, outlet, outlet.rejected.id))
      add(rejectionOf({ line, laid, box, outlet, rule, rejected: outlet.rejected, met: crossings, findings }));
    if (isStill(box, outlet, outlet.id)) return;
    const kind = rule ? "rule" : station ? "onward" : "start";
    add(
      edgeOf({
        line,
        laid,
        findings,
        box,
        part,
        outlet,
        station,
        rule,
        index,
        kind,
        met: crossings,
        main: main.has(outlet.id),
      }),
    );
  };
  const [begin, first] = [boxes.get(START_ID), parts.get(START_ID)];
  if (begin && first)
    for (const outlet of first.outlets) if (outlet.targets.length > 0) draw(begin, first, outlet, undefined, 0);
  for (const station of line.stations) {
    const [box, part] = [boxes.get(station.key), parts.get(station.key)];
    if (!box || !part) continue;
    part.outlets.forEach((outlet, index) => {
      if (outlet.badge || (rulesOf(station).length === 0 && outlet.targets.length === 0)) return;
      draw(box, part, outlet, station, index);
    });
  }
  return ways;
}

interface Asked {
  line: LineDocument;
  laid: Laid;
  findings: Findings;
  box: Box;
  part: Part;
  outlet: Outlet;
  station: Station | undefined;
  rule: Rule | undefined;
  index: number;
  kind: Drawn["kind"];
  met: ReturnType<typeof meetings>;
  main: boolean;
}

function edgeOf({ line, laid, findings, box, part, outlet, station, rule, index, kind, met, main }: Asked): Drawn {
  const ways = laid.ways.get(outlet.id) ?? [];
  const leads = outlet.leader === undefined;
  const sharing = part.outlets.flatMap(({ id, leader }, at) => (leader === outlet.id ? [{ id, at }] : []));
  const label = leads && rule && station && outlet.label ? wordsOfRule(station, rule, findings) : "";
  const gates = gatesOf(line, rule);
  const pillAt = leads ? ways.find((way) => way.pillAt)?.pillAt : undefined;
  const limit = limitOf(findings, outlet.id);
  const { branches, stubs } = endsOfWays(line, laid, ways, outlet.leader ?? outlet.id);
  const titles = [{ id: outlet.id, at: index }, ...sharing].map(({ at }) => {
    const of = station && rulesOf(station)[at];
    return kind === "rule" && station && of ? titleOf(line, station, of, at + 1, findings) : "";
  });
  const drawn = {
    id: outlet.id,
    kind,
    station: box.key,
    rule,
    rules: [outlet.id, ...sharing.map(({ id }) => id)],
    number: rule ? index + 1 : 0,
    from: [box.x + box.width + outlet.aside, box.y + outlet.port] as const,
    branches,
    stubs: leads ? stubs : [],
    fork: forkOf(ways),
    joins: ways.map((way) => met.get(way)?.at).filter((at) => at !== undefined),
    shares: !leads || sharing.length > 0 || ways.some((way) => met.has(way)),
    main,
    label,
    words: label && outlet.label,
    labelAt: label ? ways.find((way) => way.wordsAt)?.wordsAt : undefined,
    gates,
    gateAt: leads && gates.length > 0 ? laid.gates.get(outlet.id) : undefined,
    gateRows: outlet.gateRows,
    rejects: outlet.rejected !== undefined,
    state: findings.rules[outlet.id]?.status === "dead" ? "dead" : undefined,
    asks: asksFirst(rule?.when),
    endlessAt: limit ? undefined : pillAt,
    limit,
    limitAt: limit ? pillAt : undefined,
    title:
      kind === "onward" && station && rulesOf(station).length > 0
        ? say("otherwiseDoes", findings.otherwise[station.key] ?? say("byPolicy"))
        : titles.filter(Boolean).join("\n"),
    between: Object.fromEntries(
      [...branches, ...stubs].map(({ target }) => [
        target,
        say("fromTo", kind === "start" ? say("start") : partName(line, box.key), partName(line, target)),
      ]),
    ),
  } as const;
  return { ...drawn, bounds: boundsOf(drawn) };
}

function limitOf(findings: Findings, rule: string): Drawn["limit"] {
  const limits = findings.signs.rules[rule];
  return limits && { most: limits.most, words: limits.words.join(" ") };
}

/** `leader`: the rule whose pills they lead to. */
function endsOfWays(
  line: LineDocument,
  laid: Laid,
  ways: readonly Way[],
  leader: string,
): Pick<Drawn, "branches" | "stubs"> {
  const isPill = ({ target }: Way): boolean => target.startsWith(pillKey(leader, ""));
  return {
    branches: branchesOf(ways.filter((way) => !isPill(way))),
    stubs: ways.filter(isPill).flatMap((way) => pillOf(line, laid, way, way.target.slice(pillKey(leader, "").length))),
  };
}

interface Rejected extends Pick<Asked, "line" | "laid" | "findings" | "box" | "outlet" | "met"> {
  rule: Rule;
  rejected: Rejection;
}

/** Out of the gate, with its word beside it. */
function rejectionOf({ line, laid, findings, box, outlet, rule, rejected, met }: Rejected): Drawn {
  const ways = laid.ways.get(rejected.id) ?? [];
  const from = ways[0]?.points[0] ?? [box.x + box.width, box.y + outlet.port];
  const { branches, stubs } = endsOfWays(line, laid, ways, rejected.id);
  const names = gatesOf(line, rule)
    .filter(({ key }) => rejected.targets.includes(findings.rejected[key] ?? ""))
    .map(({ name }) => name)
    .join(", ");
  const drawn = {
    id: rejected.id,
    kind: "rejected",
    station: box.key,
    rule: undefined,
    rules: [rejected.id],
    number: 0,
    from,
    branches,
    stubs,
    fork: forkOf(ways),
    joins: ways.map((way) => met.get(way)?.at).filter((at) => at !== undefined),
    shares: ways.some((way) => met.has(way)),
    main: false,
    label: say("rejected"),
    words: say("rejected"),
    labelAt: ways.find((way) => way.wordsAt)?.wordsAt,
    gates: [],
    gateAt: undefined,
    gateRows: [],
    rejects: false,
    state: undefined,
    asks: false,
    endlessAt: undefined,
    limit: undefined,
    limitAt: undefined,
    title: say("rejectedBy", names),
    between: Object.fromEntries(
      [...branches, ...stubs].map(({ target }) => [
        target,
        say("fromTo", partName(line, box.key), partName(line, target)),
      ]),
    ),
  } as const;
  return { ...drawn, bounds: boundsOf(drawn) };
}

const branchesOf = (ways: readonly Way[]): Branch[] =>
  ways.map(({ target, points, back }) => ({ target, points, path: rounded(points), back }));

/** A far edge is drawn anew only where something of it changed: the rest is the very object of before. */
function isSame(was: Drawn, now: Drawn): boolean {
  return (
    was.rule === now.rule &&
    was.title === now.title &&
    was.state === now.state &&
    was.label === now.label &&
    was.words === now.words &&
    was.main === now.main &&
    was.rejects === now.rejects &&
    JSON.stringify([
      was.from,
      was.rules,
      was.joins,
      was.shares,
      was.between,
      was.stubs,
      was.labelAt,
      was.gates,
      was.gateAt,
      was.gateRows,
      was.endlessAt,
      was.limit,
      was.limitAt,
    ]) ===
      JSON.stringify([
        now.from,
        now.rules,
        now.joins,
        now.shares,
        now.between,
        now.stubs,
        now.labelAt,
        now.gates,
        now.gateAt,
        now.gateRows,
        now.endlessAt,
        now.limit,
        now.limitAt,
      ]) &&
    was.branches.length === now.branches.length &&
    was.branches.every((each, at) => each.path === now.branches[at]?.path && each.target === now.branches[at]?.target)
  );
}

function gatesOf(line: LineDocument, rule: Rule | undefined): GateMark[] {
  return (rule?.gates ?? []).map((key): GateMark => {
    const gate = line.gates?.find((each) => each.key === key);
    return { key, name: gate?.name || key, mode: gate?.mode ?? "manual", known: gate !== undefined };
  });
}

/** The whole of what its edge says, and more. */
function titleOf(line: LineDocument, station: Station, rule: Rule, number: number, findings: Findings): string {
  const words = wordsOfRule(station, rule, findings) || findings.rules[rule.id]?.words || "";
  return [
    say("ruleNumber", String(number)),
    asksFirst(rule.when) ? `${words} · ${say("asks")}` : words,
    ...gatesOf(line, rule).map((gate) => gate.name),
    ...(findings.signs.rules[rule.id]?.words ?? []),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The layout gave it a place. */
function pillOf(line: LineDocument, laid: Laid, { target: key, points }: Way, target: string): Stub[] {
  const spot = laid.pills.find((each) => each.key === key);
  const part = laid.graph.parts.find((each) => each.key === key);
  if (!spot || !part) return [];
  const { x, y } = spot;
  const { width, height } = part;
  return [{ ...known(line, target), target, x, y, width, height, points, path: rounded(points) }];
}

function known(line: LineDocument, target: string): Pick<Stub, "kind" | "icon" | "name" | "title"> {
  if (target === ORIGIN) return { kind: "origin", icon: "send-back", name: say("originShort"), title: say("origin") };
  if (target === BLOCKED)
    return { kind: "blocked", icon: "status-blocked", name: say("blockedShort"), title: say("blocked") };
  const [end, station] = [endOf(line, target), stationOf(line, target)];
  const name = stubName(line, target);
  if (station) return { kind: "station", icon: "arrow-right", name: nameOf(station), title: nameOf(station) };
  if (end)
    return { kind: "end", icon: `end-${end.kind ?? "completed"}`, name: endName(end.label ?? target), title: name };
  return { kind: "unknown", icon: "danger", name, title: say("unknownTarget", target) };
}

function boundsOf({ from, branches, stubs, labelAt }: Pick<Drawn, "from" | "branches" | "stubs" | "labelAt">): Rect {
  const points = [
    from,
    ...branches.flatMap((branch) => branch.points),
    ...stubs.map((stub): Point => [stub.x + stub.width, stub.y + stub.height]),
    ...(labelAt ? [[labelAt.x + labelAt.width, labelAt.y] as const] : []),
  ];
  const [xs, ys] = [points.map((point) => point[0]), points.map((point) => point[1])];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/** One path: every branch, and what leads to pills. */
export function pathOf({ branches, stubs }: Drawn): string {
  return [...branches.map((branch) => branch.path), ...stubs.map((stub) => stub.path)].join("");
}

export const headsOf = ({ branches, stubs, gateAt }: Drawn): string =>
  [...branches, ...stubs].map(({ points }) => arrow(points)).join("") + (gateAt ? arrow([intoGate(gateAt)]) : "");

const intoGate = ([x, y]: Point): Point => [x - HEXAGON.width / 2, y];

function arrow(points: readonly Point[]): string {
  const [x, y] = points.at(-1) ?? [0, 0];
  const [bx = x, by = y] = points.at(-2) ?? [];
  return bx === x && by > y
    ? `M${x} ${y}l-4.5 9h9z`
    : bx === x && by < y
      ? `M${x} ${y}l-4.5 -9h9z`
      : `M${x} ${y}l-9 -4.5v9z`;
}

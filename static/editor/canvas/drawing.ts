/** What is drawn of the rules: one edge each, also where it splits, with its words, gates and pills. Where everything stands
 * is the layout's; here is what it says. */
import { asksFirst, inOne, linesOf, onwardId, pillKey, stubName, wordsOfRule } from "../drawing/graph";
import { forkOf, meetings } from "../drawing/parting";
import { type Point, type Rect, rounded } from "../drawing/routes";
import { rejectedBox } from "../drawing/shapes";
import type { Outlet, Part, Rejection, Way } from "../drawing/types";
import { STUB, stubsFrom, wordsOf } from "../drawing/zones";
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

/** A target that is too far away for an edge, or is no place: named beside the station. */
export interface Stub extends Rect {
  target: string;
  kind: "station" | "end" | "origin" | "blocked" | "unknown";
  icon: string;
  name: string;
  title: string;
  /** What leads to it. */
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
  number: number;
  from: Point;
  branches: readonly Branch[];
  stubs: readonly Stub[];
  fork: Point | undefined;
  /** Where its ways back come to others, which they share the rest with. */
  joins: readonly Point[];
  /** Whether a part of it is a part of others, too. */
  shares: boolean;
  /** On the way that a task takes when all goes well. */
  main: boolean;
  label: string;
  /** As it stands over the edge. */
  lines: readonly string[];
  labelAt: Rect | undefined;
  /** The words stand on the edge, not beside its port. */
  along: boolean;
  gates: readonly GateMark[];
  gateAt: Point | undefined;
  /** Over it, as its room was made. */
  gateRows: readonly string[];
  /** What it rejects leaves it below. */
  rejects: boolean;
  state: "dead" | undefined;
  /** Whether somebody or something has to be asked before it can match. */
  asks: boolean;
  /** Where "No limit" stands, on a loop that no budget ends. */
  endlessAt: Point | undefined;
  /** How often a loop may be gone, where that is said, and in which words. */
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
  const crossings = meetings([...laid.ways.values()].flat());
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
    if (!was || shares || !stays(box, outlet)) return false;
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
      if (outlet.badge || (rulesOf(station).length === 0 && outlet.targets.length + outlet.stubs.length === 0)) return;
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
  const says = findings.rules[outlet.id];
  const asks = asksFirst(rule?.when);
  const ways = laid.ways.get(outlet.id) ?? [];
  const isWay = (way: Way): boolean => rule === undefined || !way.target.startsWith(pillKey(rule, ""));
  const from: Point = [box.x + box.width, box.y + outlet.port];
  const along = ways.find((way) => way.wordsAt)?.wordsAt;
  const label = rule && station && (outlet.lines > 0 || along) ? wordsOfRule(station, rule, findings) : "";
  const state = says?.status === "dead" ? "dead" : undefined;
  const at = wordsOf(part, outlet);
  const gates = gatesOf(line, rule);
  const gateAt = laid.gates.get(outlet.id);
  const pillAt = ways.find((way) => way.pillAt)?.pillAt;
  const limits = findings.signs.rules[outlet.id];
  const limit = limits && { most: limits.most, words: limits.words.join(" ") };
  const words = label || says?.words || "";
  const drawn = {
    id: outlet.id,
    kind,
    station: box.key,
    rule,
    number: rule ? index + 1 : 0,
    from,
    branches: branchesOf(ways.filter(isWay)),
    stubs: [
      ...stubsOf(line, part, outlet, box),
      ...ways.filter((way) => !isWay(way)).flatMap((way) => pillOf(line, laid, way)),
    ],
    fork: forkOf(ways),
    joins: ways.map((way) => met.get(way)?.at).filter((at) => at !== undefined),
    shares: ways.some((way) => met.has(way)),
    main,
    label,
    lines:
      rule && station
        ? linesAt(station, rule, findings, along && along.width < outlet.long ? "short" : along && "long")
        : [],
    labelAt: along ?? (label ? { ...at, x: box.x + at.x, y: box.y + at.y } : undefined),
    along: along !== undefined,
    gates,
    gateAt: gates.length > 0 ? gateAt : undefined,
    gateRows: outlet.gateRows,
    rejects: outlet.rejected !== undefined,
    state,
    asks,
    endlessAt: limit ? undefined : pillAt,
    limit,
    limitAt: limit ? pillAt : undefined,
    title:
      kind === "onward" && station && rulesOf(station).length > 0
        ? say("otherwiseDoes", findings.otherwise[station.key] ?? say("byPolicy"))
        : titleOf(kind, index + 1, limits?.words ?? [], asks ? `${words} · ${say("asks")}` : words, gates),
    between: Object.fromEntries(
      ways.map(({ target }) => [
        target,
        say("fromTo", kind === "start" ? say("start") : partName(line, box.key), partName(line, target)),
      ]),
    ),
  } as const;
  return { ...drawn, bounds: boundsOf(drawn) };
}

interface Rejected extends Pick<Asked, "line" | "laid" | "findings" | "box" | "outlet" | "met"> {
  rule: Rule;
  rejected: Rejection;
}

/** Out of the gate, with its word beside it. */
function rejectionOf({ line, laid, findings, box, outlet, rule, rejected, met }: Rejected): Drawn {
  const ways = laid.ways.get(rejected.id) ?? [];
  const gate = laid.gates.get(outlet.id) ?? [box.x + box.width, box.y + outlet.port];
  const from = ways[0]?.points[0] ?? gate;
  const names = gatesOf(line, rule)
    .filter(({ key }) => rejected.targets.includes(findings.rejected[key] ?? ""))
    .map(({ name }) => name)
    .join(", ");
  const drawn = {
    id: rejected.id,
    kind: "rejected",
    station: box.key,
    rule: undefined,
    number: 0,
    from,
    branches: branchesOf(ways),
    stubs: [],
    fork: forkOf(ways),
    joins: ways.map((way) => met.get(way)?.at).filter((at) => at !== undefined),
    shares: ways.some((way) => met.has(way)),
    main: false,
    label: say("rejected"),
    lines: [say("rejected")],
    labelAt: rejectedBox({ key: outlet.id, x: gate[0], y: gate[1] }, outlet),
    along: false,
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
      ways.map(({ target }) => [target, say("fromTo", partName(line, box.key), partName(line, target))]),
    ),
  } as const;
  return { ...drawn, bounds: boundsOf(drawn) };
}

const branchesOf = (ways: readonly Way[]): Branch[] =>
  ways.map(({ target, points, back }) => ({ target, points, path: rounded(points), back }));

/** As they stand beside the port, or on the edge. */
function linesAt(station: Station, rule: Rule, findings: Findings, along: "long" | "short" | undefined): string[] {
  const lines = linesOf(station, rule, findings);
  return along ? [inOne(lines, along === "short")] : lines;
}

/** A far edge is drawn anew only where something of it changed: the rest is the very object of before. */
function isSame(was: Drawn, now: Drawn): boolean {
  return (
    was.rule === now.rule &&
    was.title === now.title &&
    was.state === now.state &&
    was.label === now.label &&
    was.main === now.main &&
    was.rejects === now.rejects &&
    JSON.stringify([
      was.from,
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

function titleOf(
  kind: Drawn["kind"],
  number: number,
  limits: readonly string[],
  words: string,
  gates: readonly GateMark[],
): string {
  if (kind !== "rule") return "";
  return [say("ruleNumber", String(number)), words, ...gates.map((gate) => gate.name), ...limits]
    .filter(Boolean)
    .join(" · ");
}

function stubsOf(line: LineDocument, part: Part, outlet: Outlet, box: Box): Stub[] {
  // From the card to the first, and on from one to the next: never through one.
  let [from, x] = [box.x + box.width, box.x + part.width + stubsFrom(part)];
  return outlet.stubs.map(({ target, width }) => {
    const stub = {
      ...known(line, target),
      target,
      x,
      y: box.y + outlet.port - STUB.height / 2,
      width,
      height: STUB.height,
      path: `M${from} ${box.y + outlet.port}H${x}`,
    };
    from = x + width;
    x = from + STUB.between;
    return stub;
  });
}

/** A pill beside an edge that goes on: the layout gave it a place. */
function pillOf(line: LineDocument, laid: Laid, way: Way): Stub[] {
  const spot = laid.pills.find((each) => each.key === way.target);
  const part = laid.graph.parts.find((each) => each.key === way.target);
  const target = way.target.slice(way.rule.length + 1);
  if (!spot || !part) return [];
  const { x, y } = spot;
  return [{ ...known(line, target), target, x, y, width: part.width, height: part.height, path: rounded(way.points) }];
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

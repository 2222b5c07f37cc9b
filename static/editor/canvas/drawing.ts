/** What is drawn of the rules: one edge each, also where it splits, with its words, gates and stubs in free places. */

import { say } from "../shell/words";
import {
  BLOCKED,
  endOf,
  type Json,
  type LineDocument,
  nameOf,
  ORIGIN,
  type Rule,
  rulesOf,
  startOf,
  stationOf,
  targetsOf,
} from "../store/document";
import type { Findings } from "../store/findings";
import { endName } from "../store/names";
import { type Box, type Laid, START_ID, STATION } from "./layout";
import { type Point, type Rect, Router, RUN, rounded } from "./routes";
import { along, besides, Spots } from "./spots";
import { broken, brokenWidth, cut, pillWidth, widthOf } from "./text";

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
  row: number;
}

/** The geometry of one edge: of a rule, of the start, or of what the policy does where a station has no rules. */
export interface Route {
  id: string;
  kind: "rule" | "start" | "onward";
  station: string;
  rule: Rule | undefined;
  number: number;
  many: boolean;
  from: Point;
  branches: readonly Branch[];
  stubs: readonly Stub[];
  fork: Point | undefined;
}

export interface GateMark {
  key: string;
  name: string;
  mode: string;
  known: boolean;
}

/** A route with what is said of it. */
export interface Drawn extends Route {
  label: string;
  labelAt: Rect | undefined;
  gates: readonly GateMark[];
  gateAt: Point | undefined;
  gateName: boolean;
  state: "dead" | "shadowed" | undefined;
  /** Whether somebody or something has to be asked before it can match. */
  asks: boolean;
  /** Where "No limit" stands, on a loop that no budget ends. */
  endlessAt: Point | undefined;
  /** How often a loop may be gone, where that is said, and in which words. */
  limit: { most: number; words: string } | undefined;
  limitAt: Point | undefined;
  title: string;
  bounds: Rect;
}

export interface Routed {
  routes: readonly Route[];
  router: Router;
  boxes: readonly Box[];
}

const FAR = { end: 900, station: 2400, row: 1500, down: 720 };
const PILL = { gap: 26, height: 20 };
const PLUS = 30;
const HEXAGON = { width: 40, height: 32 };
const LINE = 16;

export const onwardId = (station: string): string => `${station}@onward`;

export function routed(line: LineDocument, laid: Laid, onward: Readonly<Record<string, string>>): Routed {
  if (last?.line === line && last.onward === onward) return last.found;
  const boxes = new Map(laid.boxes.map((box) => [box.key, box]));
  const plans = plansOf(line, laid, boxes, onward);
  // Most changes are no matter of geometry: names, conditions, findings.
  const shape = JSON.stringify([
    laid.boxes,
    plans.map(({ id, from, targets, stubs }) => [id, from, targets, stubs.map((stub) => stub.width)]),
  ]);
  const found = last?.shape === shape ? renewed(plans, last.found) : laidAnew(plans, laid, boxes);
  last = { line, onward, shape, found };
  return found;
}

let last: { line: LineDocument; onward: object; shape: string; found: Routed } | undefined;

function renewed(plans: readonly Plan[], before: Routed): Routed {
  const routes = plans.map(({ targets: _, ...plan }, index): Route => {
    const old = before.routes[index];
    return { ...plan, branches: old?.branches ?? [], fork: old?.fork };
  });
  return { ...before, routes };
}

function laidAnew(plans: readonly Plan[], laid: Laid, boxes: ReadonlyMap<string, Box>): Routed {
  const router = new Router(laid.boxes, plans.length);
  for (const plan of plans) for (const stub of plan.stubs) router.block(stub);
  return { routes: run(plans, boxes, router), router, boxes: laid.boxes };
}

/** The room that all of it takes. */
export function boundsOfAll(boxes: readonly Rect[], routes: readonly Route[]): Rect | undefined {
  const all = [...boxes, ...routes.map(boundsOf)];
  if (all.length === 0) return undefined;
  const [x, y] = [Math.min(...all.map((each) => each.x)), Math.min(...all.map((each) => each.y))];
  const right = Math.max(...all.map((each) => each.x + each.width));
  return { x, y, width: right - x, height: Math.max(...all.map((each) => each.y + each.height)) - y };
}

/** While some stations are under way: only the edges at them are laid anew, without words. */
export function rerouted(
  line: LineDocument,
  laid: Laid,
  onward: Readonly<Record<string, string>>,
  before: readonly Drawn[],
  moving: ReadonlySet<string>,
): Drawn[] {
  const boxes = new Map(laid.boxes.map((box) => [box.key, box]));
  const plans = plansOf(line, laid, boxes, onward);
  const touched = (plan: Plan): boolean => moving.has(plan.station) || plan.targets.some((key) => moving.has(key));
  const fresh = new Map(
    run(plans, boxes, new Router(laid.boxes, plans.length), touched).map((route) => [route.id, route]),
  );
  return before.map((each) => {
    const route = fresh.get(each.id);
    return route
      ? {
          ...each,
          ...route,
          labelAt: undefined,
          gateAt: route.rule?.gates?.length ? middleOf(route) : undefined,
          endlessAt: undefined,
          limitAt: undefined,
          bounds: boundsOf(route),
        }
      : each;
  });
}

const middleOf = (route: Route): Point =>
  along(route.branches[0]?.points ?? [], HEXAGON.width)[0] ?? [route.from[0] + 32, route.from[1]];

interface Plan extends Omit<Route, "branches"> {
  targets: readonly string[];
}

function plansOf(
  line: LineDocument,
  laid: Laid,
  boxes: ReadonlyMap<string, Box>,
  onward: Readonly<Record<string, string>>,
): Plan[] {
  const plans: Plan[] = [];
  const start = startOf(line);
  const mark = boxes.get(START_ID);
  if (start && mark && boxes.has(start)) {
    plans.push({ ...bare(START_ID, "start", START_ID), from: portOf(mark, 0), targets: [start], stubs: [] });
  }
  for (const station of line.stations) {
    const box = boxes.get(station.key);
    if (!box) continue;
    const rules = rulesOf(station);
    const target = onward[station.key];
    if (rules.length === 0 && target !== undefined) {
      const from = portOf(box, 0);
      const near = isNear(box, boxes.get(target), laid);
      const stubs = near ? [] : [stubOf(line, target, [from[0] + PLUS - 8, from[1]], 0)];
      plans.push({ ...bare(onwardId(station.key), "onward", station.key), from, targets: near ? [target] : [], stubs });
    }
    rules.forEach((rule, index) => {
      const from = portOf(box, index);
      const all = targetsOf(rule);
      const targets = all.filter((key) => isNear(box, boxes.get(key), laid));
      const rest = all.filter((key) => !targets.includes(key));
      // The gate stands before the pill, where no edge leads on.
      const begin: Point = targets.length === 0 && rule.gates?.length ? [from[0] + HEXAGON.width, from[1]] : from;
      const stubs = rest.map((key, place) => stubOf(line, key, begin, place + (targets.length > 0 ? 1 : 0)));
      if (all.length === 0) stubs.push(stubOf(line, "", begin, 0));
      plans.push({
        ...bare(rule.id, "rule", station.key),
        rule,
        number: index + 1,
        many: rules.length > 1,
        from,
        targets,
        stubs,
      });
    });
  }
  return plans;
}

function bare(id: string, kind: Route["kind"], station: string) {
  return { id, kind, station, rule: undefined, number: 0, many: false, fork: undefined };
}

const portOf = (box: Box, index: number): Point => [box.x + box.width, box.y + box.port + STATION.step * index];

function isNear(source: Box, target: Box | undefined, laid: Laid): boolean {
  if (!target) return false;
  if (laid.wraps.has(`${source.key}>${target.key}`) || laid.boxes.length <= 4) return true;
  const across = Math.max(target.x - source.x - source.width, source.x - target.x - target.width);
  const down = Math.max(target.y - source.y - source.height, source.y - target.y - target.height);
  if (laid.rows.length > 0 && down > 0 && source.row !== target.row) return false;
  const most = target.kind === "end" ? FAR.end : laid.rows.length > 0 ? FAR.row : FAR.station;
  return across <= most && down <= FAR.down;
}

function stubOf(line: LineDocument, target: string, [x, y]: Point, row: number): Stub {
  const end = endOf(line, target);
  const station = stationOf(line, target);
  const known = (): Pick<Stub, "kind" | "icon" | "name" | "title"> => {
    if (target === ORIGIN) return { kind: "origin", icon: "send-back", name: say("origin"), title: say("origin") };
    if (target === BLOCKED)
      return { kind: "blocked", icon: "status-blocked", name: say("blockedShort"), title: say("blocked") };
    if (station) return { kind: "station", icon: "arrow-right", name: nameOf(station), title: nameOf(station) };
    if (end) {
      const name = endName(end.label ?? target);
      return { kind: "end", icon: `end-${end.kind ?? "completed"}`, name, title: name };
    }
    return { kind: "unknown", icon: "danger", name: target || say("nowhere"), title: say("unknownTarget", target) };
  };
  const shown = known();
  const width = pillWidth(shown.name);
  return {
    ...shown,
    target,
    row,
    x: x + PILL.gap,
    y: y - PILL.height / 2 + row * (PILL.height + 4),
    width,
    height: PILL.height,
  };
}

interface Leg {
  plan: Plan;
  target: Box;
  source: Box;
  from: Point;
  entry: Point;
  back: boolean;
}

function run(
  plans: readonly Plan[],
  boxes: ReadonlyMap<string, Box>,
  router: Router,
  wanted: (plan: Plan) => boolean = () => true,
): Route[] {
  const legs: Leg[] = [];
  const forks = new Map<string, Point>();
  for (const plan of plans) {
    const source = boxes.get(plan.station);
    if (!source) continue;
    const fork: Point | undefined =
      plan.targets.length + plan.stubs.length > 1 ? [plan.from[0] + RUN - 4, plan.from[1]] : undefined;
    if (fork) forks.set(plan.id, fork);
    for (const key of plan.targets) {
      const target = boxes.get(key);
      if (!target) continue;
      const back = target.x - plan.from[0] <= 2 * RUN;
      legs.push({ plan, source, target, from: fork ?? plan.from, entry: [0, 0], back });
    }
  }
  enter(legs);
  const found = new Map<string, Branch[]>();
  for (const leg of inTurn(legs)) {
    const { plan, source, target, from, entry, back } = leg;
    if (!wanted(plan)) continue;
    const lane =
      entry[1] < from[1]
        ? plan.number - 1
        : Math.max(0, Math.round((source.height - STATION.height) / STATION.step) + 1 - plan.number);
    const points = router.route({ owner: plan.id, from, to: entry, source, target, lane });
    const branch = { target: target.key, points, path: rounded(points), back };
    found.set(plan.id, [...(found.get(plan.id) ?? []), branch]);
  }
  return plans.filter(wanted).map(({ targets: _, ...plan }) => ({
    ...plan,
    branches: found.get(plan.id) ?? [],
    fork: forks.get(plan.id),
  }));
}

/** Straight ones first, then the short ones, then loops from the innermost: who comes first has the better lane. */
function inTurn(legs: readonly Leg[]): Leg[] {
  const weight = ({ from, entry, back }: Leg): number => {
    const [across, down] = [Math.abs(entry[0] - from[0]), Math.abs(entry[1] - from[1])];
    return (back ? 1e6 : down < 2 ? 0 : 1e3) + across + down;
  };
  return [...legs].sort((a, b) => weight(a) - weight(b));
}

/** Each edge comes in at a height of its own, those from above higher; a straight one at the port. */
function enter(legs: Leg[]): void {
  const into = new Map<Box, Leg[]>();
  for (const leg of legs) into.set(leg.target, [...(into.get(leg.target) ?? []), leg]);
  for (const [box, all] of into) {
    const port = box.y + box.port;
    const height = (leg: Leg): number => (leg.back ? 1e6 + leg.from[0] : leg.from[1]);
    const order = [...all].sort((a, b) => height(a) - height(b));
    const straight = order.findIndex((leg) => !leg.back && Math.abs(leg.from[1] - port) < 2);
    const above = straight >= 0 ? straight : order.filter((leg) => !leg.back && leg.from[1] < port).length;
    const middle = straight >= 0 ? straight : Math.min(order.length - 1, Math.floor((order.length - 1) / 2));
    const centre = order.length === 1 ? 0 : straight >= 0 ? above : middle;
    const room = box.kind === "end" ? 8 : 12;
    const up = centre > 0 ? Math.min(14, (box.port - room) / centre) : 14;
    const down =
      order.length - 1 - centre > 0 ? Math.min(14, (box.height - box.port - room) / (order.length - 1 - centre)) : 14;
    order.forEach((leg, index) => {
      const off = index - centre;
      leg.entry = [box.x, Math.round(port + off * (off < 0 ? up : down))];
    });
  }
}

/** Words, gates and warnings for routes that are laid; the geometry stays. `labels`: whether words can be read at all. */
export function worded(
  line: LineDocument,
  { routes, router, boxes }: Routed,
  findings: Findings,
  labels = true,
): Drawn[] {
  const spots = new Spots(router);
  for (const box of boxes) spots.take({ x: box.x - 4, y: box.y - 2, width: box.width + 14, height: box.height + 4 });
  for (const route of routes) for (const stub of route.stubs) spots.take(stub);
  const gates = new Map((line.gates ?? []).map((gate) => [gate.key, gate]));
  // Gates first: an edge without its words can be read, one without its gate would be wrong.
  const placed = routes.map((route) => {
    const own = (route.rule?.gates ?? []).map((key): GateMark => {
      const gate = gates.get(key);
      return { key, name: gate?.name || key, mode: gate?.mode ?? "manual", known: gate !== undefined };
    });
    return { route, own, at: own.length > 0 ? hexagonAt(route, own, spots) : undefined };
  });
  const endless = new Map(routes.map((route) => [route.id, endlessAt(route, findings, spots)]));
  const limits = new Map(routes.map((route) => [route.id, limitAt(route, findings, spots)]));
  return placed.map(({ route, own, at }) => {
    const says = findings.rules[route.id];
    const asks = asksFirst(route.rule?.when);
    const label = route.rule ? route.rule.label || (route.many || asks ? says?.words || route.id : "") : "";
    const state = says?.status === "dead" ? "dead" : says?.status === "partly shadowed" ? "shadowed" : undefined;
    return {
      ...route,
      label,
      labelAt: label && labels ? labelAt(route, label, said(state, asks), at?.point, spots) : undefined,
      gates: own,
      gateAt: at?.point,
      gateName: at?.named ?? false,
      state,
      asks,
      endlessAt: endless.get(route.id),
      limit: limitOf(route.id, findings),
      limitAt: limits.get(route.id),
      title: titleOf(
        route,
        findings.signs.rules[route.id]?.words ?? [],
        asks ? `${label || says?.words || ""} · ${say("asks")}` : label || says?.words || "",
        own,
      ),
      bounds: boundsOf(route),
    };
  });
}

function titleOf(route: Route, limits: readonly string[], words: string, gates: readonly GateMark[]): string {
  if (route.kind !== "rule") return "";
  return [say("ruleNumber", String(route.number)), words, ...gates.map((gate) => gate.name), ...limits]
    .filter(Boolean)
    .join(" · ");
}

function hexagonAt(
  route: Route,
  gates: readonly GateMark[],
  spots: Spots,
): { point: Point; named: boolean } | undefined {
  const width = widthOf(gateWords(gates), 12) + 8;
  const first = route.branches[0];
  if (!first) {
    const [x, y] = route.from;
    return { point: [x + HEXAGON.width / 2 + 12, y], named: false };
  }
  const before: Point[] = route.fork ? [route.from, ...first.points] : [...first.points];
  const points = along(before, HEXAGON.width);
  for (const named of [true, false]) {
    const wide = named ? Math.max(width, HEXAGON.width) : HEXAGON.width;
    const over = named ? LINE + 2 : 0;
    for (const point of points) {
      const area = {
        x: point[0] - wide / 2,
        y: point[1] - HEXAGON.height / 2 - over,
        width: wide,
        height: HEXAGON.height + over,
      };
      if (!spots.free(area)) continue;
      spots.take(area);
      return { point, named };
    }
  }
  const [x, y] = points[0] ?? [(first.points[0]?.[0] ?? 0) + 30, first.points[0]?.[1] ?? 0];
  return { point: [x, y], named: false };
}

export const gateWords = (gates: readonly GateMark[]): string => cut(gates[0]?.name ?? "");

function endlessAt(route: Route, findings: Findings, spots: Spots): Point | undefined {
  const targets = findings.endless?.[route.id];
  const loop = targets && route.branches.find((branch) => branch.back && targets.includes(branch.target));
  if (!loop) return undefined;
  return middleIn(loop, widthOf(say("noLimit"), 12) + 36, spots);
}

const limitOf = (rule: string, findings: Findings): Drawn["limit"] => {
  const says = findings.signs.rules[rule];
  return says && { most: says.most, words: says.words.join(" ") };
};

/** Only on loops: elsewhere a number says nothing that the words of the rule do not. */
function limitAt(route: Route, findings: Findings, spots: Spots): Point | undefined {
  const says = findings.signs.rules[route.id];
  const loop = says && route.branches.find((branch) => branch.back);
  return loop && middleIn(loop, widthOf(say("atMost", String(says.most)), 12) + 28, spots);
}

/** A free place on the way, as wide as this. */
function middleIn(loop: Branch, width: number, spots: Spots): Point | undefined {
  const area = ([x, y]: Point): Rect => ({ x: x - width / 2, y: y - 11, width, height: 22 });
  const points = along(loop.points, width);
  const point = points.find((each) => spots.free(area(each))) ?? points[0] ?? along(loop.points, 20)[0];
  if (point) spots.take(area(point));
  return point;
}

/** The words that stand under a rule's own, one in a row. */
function said(state: Drawn["state"], asks: boolean): string[] {
  return [...(asks ? [say("asks")] : []), ...(state === "dead" ? [say("neverReached")] : [])];
}

/** Whether a condition holds one that must be asked: agentic or hook, however deep. */
function asksFirst(when: Json | undefined): boolean {
  if (Array.isArray(when)) return when.some(asksFirst);
  if (when === null || typeof when !== "object") return false;
  return "agentic" in when || "hook" in when || ["all", "any", "not"].some((key) => asksFirst(when[key]));
}

function labelAt(
  route: Route,
  label: string,
  below: readonly string[],
  gate: Point | undefined,
  spots: Spots,
): Rect | undefined {
  const width = Math.max(brokenWidth(label, 12), ...below.map((row) => widthOf(row, 12) + LINE)) + 6;
  const height = (broken(label).length + below.length) * LINE;
  const under = gate ? [{ x: gate[0] - width / 2, y: gate[1] + HEXAGON.height / 2 + 1, width, height }] : [];
  const beside = route.branches.flatMap((branch) => besides(branch.points, width, height));
  const area = spots.find(route.id, [...under, ...beside]);
  if (area) spots.take(area);
  return area;
}

function boundsOf({ from, branches, stubs }: Route): Rect {
  const points = [
    from,
    ...branches.flatMap((branch) => branch.points),
    ...stubs.map((s): Point => [s.x + s.width, s.y + s.height]),
  ];
  const [xs, ys] = [points.map((point) => point[0]), points.map((point) => point[1])];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

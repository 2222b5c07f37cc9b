/** A graph as ELK is asked to lay it out, and what it answers as places and routes. ELK's `layered` knows ports, orthogonal
 * routes and nodes as obstacles; words and pills are part of the nodes they belong to (zones.ts), so it keeps clear of them. */
import type { ElkExtendedEdge, ElkNode, ElkPort } from "elkjs/lib/elk-api";
import { entryOf, exitOf, type RowOf } from "./rows";
import type { Graph, Outlet, Part, Placed, Point, Spot, Way } from "./types";
import { badgesWidth, gateHeight, gateWidth, HEXAGON, laneOf, leavingOf, rejectedFrom, zoneOf } from "./zones";

export interface Engine {
  layout(graph: ElkNode): Promise<ElkNode>;
}

const [MEDIUM, LONG] = [40, 120];
const SOUTH = { first: 18, step: 16 };

const STRAIGHT = "100";
/** ELK counts what crosses, and knows no edge that counts more: the main way leads as often as this. */
const WEIGHT = { few: 16, many: 1 };
/** What only joins the main way, or parts from it, does so a little lower: to do it from above would be to cross it. */
const LOWER = 1;
const GATE = "gate ";
const gateId = (rule: string): string => `${GATE}${rule}`;
const turnId = (edge: string): string => `turn ${edge}`;
const partId = (key: string): string => `part ${key}`;

function options(graph: Graph): Record<string, string> {
  const many = graph.parts.length > LONG;
  return {
    "elk.algorithm": "layered",
    "elk.direction": "RIGHT",
    "elk.edgeRouting": "ORTHOGONAL",
    // Quicker, and about half as high as BRANDES_KOEPF, with as many crossings.
    "elk.layered.nodePlacement.strategy": many ? "LINEAR_SEGMENTS" : "NETWORK_SIMPLEX",
    ...(many ? { "elk.layered.crossingMinimization.greedySwitch.type": "OFF" } : {}),
    "elk.layered.nodePlacement.favorStraightEdges": "true",
    "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
    "elk.layered.cycleBreaking.strategy": "GREEDY",
    "elk.layered.thoroughness": many ? "1" : graph.parts.length > MEDIUM ? "3" : "10",
    "elk.layered.spacing.nodeNodeBetweenLayers": "20",
    "elk.layered.spacing.edgeNodeBetweenLayers": "10",
    "elk.layered.spacing.edgeEdgeBetweenLayers": "10",
    // Words stand between what is below one another.
    "elk.spacing.nodeNode": "36",
    "elk.spacing.edgeNode": many ? "12" : "14",
    // What stands on a way back has room between it and the next.
    "elk.spacing.edgeEdge": many ? "10" : "14",
    "elk.padding": "[top=0,left=0,bottom=0,right=0]",
    "elk.separateConnectedComponents": "false",
  };
}

const port = (id: string, side: string, x: number, y: number): ElkPort => ({
  id,
  width: 0,
  height: 0,
  x,
  y,
  layoutOptions: { "elk.port.side": side },
});

/** One of several rows: what leads out of it ends, and what leads into it begins, at points on its edges. */
interface InRow {
  rowOf: RowOf;
  row: number;
}

export function asked(graph: Graph, only?: InRow): ElkNode {
  const mainEdges = new Set(graph.mainEdges);
  const mainRules = new Set(graph.mainRules);
  const back = new Set(graph.back);
  const turned = new Set(graph.turned);
  const children: ElkNode[] = [];
  const edges: ElkExtendedEdge[] = [];
  const parts = new Map(graph.parts.map((part) => [part.key, part]));
  /** Rules that never match keep a line of their own, right of the one that the others share. */
  const deadInto = (to: string): string[] =>
    graph.parts.flatMap(({ outlets }) =>
      outlets.filter((each) => each.dead && back.has(`${each.id}>${to}`)).map((each) => each.id),
    );
  const onMain = new Set(graph.main);
  const here = (key: string): boolean => only === undefined || only.rowOf.get(key) === only.row;
  const gates: ElkNode[] = [];
  for (const part of graph.parts) {
    if (!here(part.key)) continue;
    const zone = zoneOf(part);
    const node: ElkNode = {
      id: partId(part.key),
      width: zone.width,
      height: zone.height,
      ports: [],
      layoutOptions: {
        "elk.portConstraints": "FIXED_POS",
        ...(part.kind === "start" ? { "elk.layered.layering.layerConstraint": "FIRST" } : {}),
      },
    };
    children.push(node);
    for (const outlet of part.outlets) {
      if (outlet.gate === 0) continue;
      (mainRules.has(outlet.id) ? children : gates).push({
        id: gateId(outlet.id),
        width: gateWidth(outlet),
        height: gateHeight(outlet),
        ports: [port(`in ${gateId(outlet.id)}`, "WEST", 0, outlet.gateOver + HEXAGON.height / 2)],
        layoutOptions: { "elk.portConstraints": "FIXED_POS" },
      });
    }
  }
  children.push(...gates);
  const byId = new Map(children.map((each) => [each.id, each]));
  const point = (id: string, end: "FIRST" | "LAST"): string => {
    const side = end === "FIRST" ? "EAST" : "WEST";
    children.push({
      id,
      width: 1,
      height: 1,
      ports: [port(`at ${id}`, side, end === "FIRST" ? 1 : 0, 0)],
      layoutOptions: { "elk.portConstraints": "FIXED_POS", "elk.layered.layering.layerConstraint": end },
    });
    return `at ${id}`;
  };
  /** From left to right: whole in this row, or as much of it as is here. */
  const lead = (
    edge: { id: string; from: string; to: string; options: Record<string, string> },
    source: () => string,
    target: () => string,
  ): void => {
    const [begins, ends] = [here(edge.from), here(edge.to)];
    if (!begins && !ends) return;
    edges.push({
      id: edge.id,
      sources: [begins ? source() : point(entryOf(edge.id), "FIRST")],
      targets: [ends ? target() : point(exitOf(edge.id), "LAST")],
      layoutOptions: edge.options,
    });
  };
  /** Once for all that leads there. */
  const ported = (node: ElkNode | undefined, id: string, side: string, x: number, y: number): string => {
    if (!node?.ports?.some((each) => each.id === id)) node?.ports?.push(port(id, side, x, y));
    return id;
  };
  /** Out of the hexagon below. */
  const rejects = (outlet: Outlet): string => {
    const node = byId.get(gateId(outlet.id));
    const x = (node?.width ?? 0) / 2 + rejectedFrom(outlet);
    return ported(node, `rejected ${outlet.id}`, "SOUTH", x, node?.height ?? 0);
  };
  const outOf = (part: Part, outlet: Outlet, leadsBack: boolean, lower: boolean): string => {
    const gated = outlet.gate > 0;
    const node = byId.get(gated ? gateId(outlet.id) : partId(part.key)) as ElkNode;
    const [width, height] = [node.width ?? 0, node.height ?? 0];
    if (leadsBack) {
      // Down right of its ports, each rule in a lane of its own.
      const x = gated ? width / 2 : part.before + part.width + laneOf(part, outlet);
      return ported(node, `back ${outlet.id}`, "SOUTH", x, height);
    }
    const level = gated ? outlet.gateOver + HEXAGON.height / 2 : part.over + outlet.port;
    return ported(node, `${lower ? "low" : "out"} ${outlet.id}`, "EAST", width, level + (lower ? LOWER : 0));
  };
  const into = ({ key, over, port: down }: Part, lower: boolean): string =>
    ported(byId.get(partId(key)), `${lower ? "low" : "in"} ${key}`, "WEST", 0, over + down + (lower ? LOWER : 0));
  for (const part of graph.parts) {
    for (const outlet of part.outlets) {
      if (outlet.targets.length === 0) continue;
      const rule = outlet.id;
      const weigh = (on: boolean): Record<string, string> =>
        on ? { "elk.layered.priority.straightness": STRAIGHT, "elk.layered.priority.direction": "10" } : {};
      const isMain = mainRules.has(rule);
      if (outlet.gate > 0 && here(part.key)) {
        const id = `out ${rule} to gate`;
        byId.get(partId(part.key))?.ports?.push(port(id, "EAST", zoneOf(part).width, part.over + outlet.port));
        edges.push({
          id: `gate ${rule}`,
          sources: [id],
          targets: [`in ${gateId(rule)}`],
          layoutOptions: weigh(isMain),
        });
      }
      for (const { id: own, to } of leavingOf(outlet)) {
        const other = parts.get(to);
        if (!other) continue;
        const id = `${own}>${to}`;
        const out = (leadsBack: boolean) => (): string =>
          own === rule ? outOf(part, outlet, leadsBack, isMain && !mainEdges.has(id)) : rejects(outlet);
        if (!back.has(id)) {
          const isLower = onMain.has(to) && !mainEdges.has(id);
          lead({ id, from: part.key, to, options: weigh(mainEdges.has(id)) }, out(false), () => into(other, isLower));
          continue;
        }
        const loop = (): string => {
          const room = Math.max(0, Math.floor((other.width - badgesWidth(other) - 2 * SOUTH.first) / SOUTH.step));
          const place = Math.min(room, outlet.dead ? deadInto(to).indexOf(rule) : deadInto(to).length);
          const x = other.before + other.width - SOUTH.first - SOUTH.step * place;
          const target = byId.get(partId(to));
          return ported(target, `loop ${to} ${outlet.dead ? rule : ""}`, "SOUTH", x, target?.height ?? 0);
        };
        if (turned.has(id) && here(part.key) && here(to)) {
          const turn = turnId(id);
          const ports = [port(`in ${turn}`, "WEST", 0, 0), port(`on ${turn}`, "WEST", 0, SOUTH.step)];
          const layoutOptions = { "elk.portConstraints": "FIXED_POS" };
          children.push({ id: turn, width: 1, height: SOUTH.step, ports, layoutOptions });
          edges.push({ id: turn, sources: [out(false)()], targets: [`in ${turn}`] });
          edges.push({ id, sources: [loop()], targets: [`on ${turn}`] });
          continue;
        }
        // Turned round, so that nothing in the graph leads back. Ways back to one station share their last piece.
        lead({ id, from: to, to: part.key, options: {} }, loop, out(true));
      }
    }
  }
  for (const [from, to] of graph.silent) {
    if (!here(from) || !here(to)) continue;
    const id = `silent ${from}`;
    byId.get(partId(from))?.ports?.push(port(id, "EAST", byId.get(partId(from))?.width ?? 0, 1));
    const other = parts.get(to);
    if (other) edges.push({ id, sources: [id], targets: [into(other, onMain.has(to))] });
  }
  // What nothing here leads to stands below where the main way begins: above, what leaves it would cross the main way.
  const entry = children.find(({ id }) => graph.mainEdges.some((edge) => id === entryOf(edge)));
  const origin = entry ?? children.find(({ id }) => id === partId(graph.main[0] ?? ""));
  const targets = new Set(edges.flatMap((edge) => edge.targets));
  for (const part of origin ? graph.parts : []) {
    if (!here(part.key) || onMain.has(part.key) || targets.has(into(part, false))) continue;
    const id = `silent ${part.key} from ${origin?.id}`;
    const level = origin === entry ? 0 : (graph.parts[0]?.port ?? 0);
    origin?.ports?.push(port(id, "EAST", origin.width ?? 0, level + LOWER));
    edges.push({ id, sources: [id], targets: [into(part, false)] });
  }
  const weight = graph.parts.length > LONG ? WEIGHT.many : WEIGHT.few;
  for (const edge of [...edges])
    if (mainEdges.has(edge.id) || mainRules.has(edge.id.slice(GATE.length)))
      for (let copy = 1; copy < weight; copy += 1) edges.push({ ...edge, id: `${edge.id} ${copy}` });
  // What comes in stands before all that it leads to.
  if (entry) children.unshift(...children.splice(children.indexOf(entry), 1));
  return { id: "line", layoutOptions: options(graph), children, edges };
}

export function answered(graph: Graph, whole: ElkNode): Placed {
  const laid = fromStart(graph, whole);
  const at = new Map((laid.children ?? []).map((each) => [each.id, each]));
  const parts: Spot[] = [];
  const gates: Spot[] = [];
  const ways: Way[] = [];
  const back = new Set(graph.back);
  const [mainEdges, mainRules, onMain] = [new Set(graph.mainEdges), new Set(graph.mainRules), new Set(graph.main)];
  const edgeAt = new Map((laid.edges ?? []).map((each) => [each.id, each]));
  const pointsOf = (id: string): Point[] =>
    (edgeAt.get(id)?.sections ?? []).flatMap((section) => [
      [section.startPoint.x, section.startPoint.y] as Point,
      ...(section.bendPoints ?? []).map(({ x, y }): Point => [x, y]),
      [section.endPoint.x, section.endPoint.y] as Point,
    ]);
  const spots = new Map<string, Spot>();
  for (const part of graph.parts) {
    const node = at.get(partId(part.key));
    const spot = { key: part.key, x: (node?.x ?? 0) + part.before, y: (node?.y ?? 0) + part.over };
    parts.push(spot);
    spots.set(part.key, spot);
  }
  for (const part of graph.parts) {
    const spot = spots.get(part.key) as Spot;
    for (const outlet of part.outlets) {
      if (outlet.targets.length === 0) continue;
      const begin: Point = [spot.x + part.width, spot.y + outlet.port];
      let lead: Point[] = [begin];
      let below: Point = begin;
      if (outlet.gate > 0) {
        const node = at.get(gateId(outlet.id));
        const middle: Point = [
          (node?.x ?? 0) + gateWidth(outlet) / 2,
          (node?.y ?? 0) + outlet.gateOver + HEXAGON.height / 2,
        ];
        gates.push({ key: outlet.id, x: middle[0], y: middle[1] });
        lead = [begin, ...pointsOf(`gate ${outlet.id}`), middle];
        below = [middle[0] + rejectedFrom(outlet), middle[1] + HEXAGON.height / 2];
      }
      for (const { id: own, to } of leavingOf(outlet)) {
        const target = spots.get(to);
        const other = graph.parts.find((each) => each.key === to);
        if (!target || !other) continue;
        const id = `${own}>${to}`;
        const isBack = back.has(id);
        let points = pointsOf(id);
        if (isBack) {
          points = [...pointsOf(turnId(id)), ...points.reverse()];
          const first = points[0];
          if (first && outlet.gate === 0) points = [[first[0], begin[1]], ...points];
          const last = points.at(-1);
          if (last) points = [...points.slice(0, -1), [last[0], target.y + other.height]];
        } else {
          const isMain = mainEdges.has(id);
          points = lifted(points, mainRules.has(own) && !isMain, onMain.has(to) && !isMain);
          points = [...points, [target.x, target.y + other.port]];
        }
        ways.push({
          rule: own,
          target: to,
          points: plain([...(own === outlet.id ? lead : [below]), ...points]),
          back: isBack,
          pillAt: undefined,
        });
      }
    }
  }
  return { parts, gates, ways: [...ways, ...followers(graph, ways)], rows: [] };
}

/** From where it parts, or comes to where it joins, at the level of the main way. */
function lifted(points: readonly Point[], parts: boolean, joins: boolean): Point[] {
  const [first, last] = [points[0]?.[1], points.at(-1)?.[1]];
  return points.map(([x, y], index): Point => {
    const isLower = (parts && index < 2 && y === first) || (joins && index > points.length - 3 && y === last);
    return [x, isLower ? y - LOWER : y];
  });
}

/** Of rules that share the edge of another, the same once more. */
export function followers(graph: Graph, ways: readonly Way[]): Way[] {
  const copied = (from: string | undefined, rule: string | undefined): Way[] =>
    from === undefined || rule === undefined
      ? []
      : ways.filter((way) => way.rule === from).map((way) => ({ ...way, rule }));
  return graph.parts.flatMap(({ outlets }) =>
    outlets.flatMap(({ id, leader, rejected }) => {
      if (leader === undefined) return [];
      const leading = outlets.find((each) => each.id === leader);
      return [...copied(leader, id), ...copied(leading?.rejected?.id, rejected?.id)];
    }),
  );
}

/** Seen from the start: where it stands does not depend on what stands above it, so that places a person chose stay right. */
function fromStart(graph: Graph, laid: ElkNode): ElkNode {
  const first = graph.parts[0];
  const node = laid.children?.find((each) => each.id === partId(first?.key ?? ""));
  const [dx, dy] = [-(node?.x ?? 0) - (first?.before ?? 0), -(node?.y ?? 0) - (first?.over ?? 0) - (first?.port ?? 0)];
  const by = <P extends { x?: number; y?: number }>(point: P): P => ({
    ...point,
    x: Math.round((point.x ?? 0) + dx),
    y: Math.round((point.y ?? 0) + dy),
  });
  return {
    ...laid,
    children: (laid.children ?? []).map(by),
    edges: (laid.edges ?? []).map((edge) => ({
      ...edge,
      sections: (edge.sections ?? []).map((section) => ({
        ...section,
        startPoint: by(section.startPoint),
        endPoint: by(section.endPoint),
        bendPoints: (section.bendPoints ?? []).map(by),
      })),
    })),
  };
}

/** Without points that lie on a straight line between others, or twice. */
export function plain(points: readonly Point[]): Point[] {
  const corners: Point[] = [];
  for (const point of points) {
    const [before, last] = [corners.at(-2), corners.at(-1)];
    if (last && last[0] === point[0] && last[1] === point[1]) continue;
    if (
      before &&
      last &&
      ((before[0] === last[0] && last[0] === point[0]) || (before[1] === last[1] && last[1] === point[1]))
    )
      corners.pop();
    corners.push(point);
  }
  return corners;
}

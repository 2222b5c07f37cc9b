/** One line drawn four times in one style, a picture a line on its input: where Gateline puts its parts, where ELK does by itself,
 * where dagre does, and where bpmn-auto-layout does. Bundled and started by proof/blind_drawings.py, which says where those two are. */
import { createInterface } from "node:readline";
import ELK, { type ElkExtendedEdge, type ElkNode } from "elkjs/lib/elk.bundled.js";
import type { Picture } from "../static/editor/api/line";
import { best } from "../static/editor/drawing/best";
import type { Engine } from "../static/editor/drawing/elk";
import { WINDOWS } from "../static/editor/drawing/frames";
import { graphOf, stubName } from "../static/editor/drawing/graph";
import { middleOf } from "../static/editor/drawing/moved";
import { shownOf } from "../static/editor/drawing/rows";
import type { Graph, Outlet, Part, Placed, Point } from "../static/editor/drawing/types";
import { gateHeight, gateWidth, HEXAGON, leavingOf, WORDS } from "../static/editor/drawing/zones";
import { findingsOf } from "../static/editor/shown/findings";
import { say } from "../static/editor/shell/words";
import { type LineDocument, nameOf, stationOf } from "../static/editor/store/document";
import { type KindOfWork, takeKinds } from "../static/editor/store/kinds";

interface Node {
  id: string;
  kind: Part["kind"] | "gate";
  names: readonly string[];
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Edge {
  from: string;
  to: string;
  label: string;
  width: number;
  points: readonly Point[];
  /** Upper left corner of its words. */
  at?: Point | undefined;
}

type Drawing = { nodes: Node[]; edges: Edge[] };

/** As much of dagre as is used here: it is no dependency. */
interface Dagre {
  graphlib: { Graph: new (options: object) => DagreGraph };
  layout(graph: DagreGraph): void;
}
interface DagreGraph {
  setGraph(options: object): void;
  setDefaultEdgeLabel(make: () => object): void;
  setNode(id: string, node: object): void;
  setEdge(from: string, to: string, label: object, name: string): void;
  node(id: string): { x: number; y: number };
  edge(edge: { v: string; w: string; name: string }): { x?: number; y?: number; points: { x: number; y: number }[] };
}

const elk = new ELK();
const { default: dagre } = (await import(process.argv[2] ?? "")) as { default: Dagre };
const { layoutProcess } = (await import(process.argv[3] ?? "")) as { layoutProcess(xml: string): Promise<string> };

function nameOfPart(line: LineDocument, { key, kind }: Part): string {
  if (kind === "start") return "Start";
  const station = stationOf(line, key);
  return station ? nameOf(station) : stubName(line, kind === "pill" ? key.slice(key.lastIndexOf(">") + 1) : key);
}

const gateId = ({ id }: Pick<Outlet, "id">): string => `gate ${id}`;

/** As high over the middle of its hexagon as below, for edges lead to the middle of a node. */
const gateRoom = (outlet: Outlet): number => 2 * gateHeight({ ...outlet, rejected: undefined }) - HEXAGON.height;

/** Its parts, gates and edges, without places. */
function drawingOf(line: LineDocument, { parts }: Graph): Drawing {
  const at = { x: 0, y: 0 };
  const nodes = parts.map((part): Node => {
    const { key, kind, width, height } = part;
    return { id: key, kind, names: [nameOfPart(line, part)], ...at, width, height };
  });
  const edges: Edge[] = [];
  for (const part of parts)
    for (const outlet of part.outlets) {
      const { gate, gateRows: names, label, words, targets } = outlet;
      if (outlet.badge || outlet.leader !== undefined || targets.length === 0) continue;
      if (gate > 0) {
        nodes.push({ id: gateId(outlet), kind: "gate", names, ...at, width: gateWidth(outlet), height: gateRoom(outlet) });
        edges.push({ from: part.key, to: gateId(outlet), label: "", width: 0, points: [] });
      }
      for (const { id, to } of leavingOf(outlet)) {
        const from = gate > 0 ? gateId(outlet) : part.key;
        const rejects = id !== outlet.id;
        const [said, width] = rejects ? [say("rejected"), outlet.rejected?.width ?? 0] : [label, words];
        edges.push({ from, to, label: said, width, points: [] });
      }
    }
  const ids = new Set(nodes.map(({ id }) => id));
  return { nodes, edges: edges.filter(({ to }) => ids.has(to)) };
}

function ours(line: LineDocument, graph: Graph, placed: Placed): Drawing {
  const spots = new Map(placed.parts.map((spot) => [spot.key, spot]));
  const gates = new Map(placed.gates.map((spot) => [spot.key, spot]));
  const { nodes } = drawingOf(line, graph);
  const outlets = graph.parts.flatMap((part) => part.outlets);
  const labels = new Map(outlets.flatMap(({ id, label, rejected }) => [[id, label], [rejected?.id, say("rejected")]] as const));
  const copies = new Set(outlets.flatMap((each) => (each.leader ? [each.id] : [])));
  const ways = placed.ways.filter(({ rule }) => !copies.has(rule));
  const known = new Map(ways.map(({ rule, points }) => [rule, points] as const));
  return {
    nodes: nodes.map((node) => {
      const [spot, gate] = [spots.get(node.id), node.kind === "gate" ? gates.get(node.id.slice(gateId({ id: "" }).length)) : undefined];
      if (!gate) return { ...node, x: spot?.x ?? 0, y: spot?.y ?? 0 };
      return { ...node, x: gate.x - node.width / 2, y: gate.y - node.height / 2 };
    }),
    edges: [
      ...[...gates].map(([key, { x, y }]) => {
        const before = upTo(known.get(key) ?? [], [x, y]);
        return { from: key, to: gateId({ id: key }), label: "", width: 0, points: [...before, [x - HEXAGON.width / 2, y]] as Point[] };
      }),
      ...ways.map(({ rule, target, points, wordsAt }) => {
        const gate = gates.get(rule);
        return {
          ...{ from: rule, to: target, label: wordsAt ? (labels.get(rule) ?? "") : "", width: wordsAt?.width ?? 0 },
          points: gate ? pastGate(points, [gate.x, gate.y]) : points,
          at: wordsAt && ([wordsAt.x, wordsAt.y] as const),
        };
      }),
    ],
  };
}

/** Counts the points of an edge before the middle of its gate. */
const countBefore = (points: readonly Point[], [x, y]: Point): number => {
  const at = points.findIndex(([bx, by], index) => {
    const [ax = bx, ay = by] = points[index - 1] ?? [];
    return ay === y && by === y && ax < x && x <= bx;
  });
  return at < 0 ? 1 : at;
};

const upTo = (points: readonly Point[], gate: Point): readonly Point[] => points.slice(0, countBefore(points, gate));

/** What leads on begins at the border of its gate, so that nothing is drawn over the head of what leads there. */
function pastGate(points: readonly Point[], [x, y]: Point): Point[] {
  const rest = points.slice(countBefore(points, [x, y])).filter((point) => point[0] !== x || point[1] !== y);
  const [next = [x, y]] = rest;
  const goesDown = next[0] === x;
  return [goesDown ? [x, y + (HEXAGON.height / 2) * Math.sign(next[1] - y)] : [x + HEXAGON.width / 2, y], ...rest];
}

/** With its ends at the hexagon, where the node is as wide as its name. */
function atHexagons(points: readonly Point[], from: Node | undefined, to: Node | undefined): readonly Point[] {
  if (points.length < 2) return points;
  const reversed = [...atHexagon(points, to)].reverse();
  return atHexagon(reversed, from).reverse();
}

function atHexagon(points: readonly Point[], node: Node | undefined): Point[] {
  const [before, last] = [points.at(-2), points.at(-1)];
  if (node?.kind !== "gate" || !before || !last) return [...points];
  const [x, y] = [node.x + node.width / 2, node.y + node.height / 2];
  const [halfWidth, halfHeight] = [HEXAGON.width / 2, HEXAGON.height / 2];
  const [dx, dy] = [last[0] - x, last[1] - y];
  if (before[1] === last[1] && Math.abs(dy) <= halfHeight)
    return [...points.slice(0, -1), [x + Math.sign(dx) * (halfWidth - (halfWidth / 2) * (Math.abs(dy) / halfHeight)), last[1]]];
  const scale = 1 / Math.max(Math.abs(dx) / halfWidth, Math.abs(dy) / halfHeight, 1);
  return [...points, [x + dx * scale, y + dy * scale]];
}

async function byElk({ nodes, edges }: Drawing): Promise<Drawing> {
  const request: ElkNode = {
    id: "line",
    layoutOptions: { "elk.algorithm": "layered" },
    children: nodes.map(({ id, width, height }) => ({ id, width, height })),
    edges: edges.map(({ from, to, label, width }, index) => ({
      id: `${index}`,
      sources: [from],
      targets: [to],
      labels: label ? [{ text: label, width, height: WORDS.line }] : [],
    })),
  };
  const laid = await elk.layout(request);
  const at = new Map((laid.children ?? []).map((child) => [child.id, child]));
  const placed = nodes.map((node) => ({ ...node, x: at.get(node.id)?.x ?? 0, y: at.get(node.id)?.y ?? 0 }));
  const byId = new Map(placed.map((node) => [node.id, node]));
  return {
    nodes: placed,
    edges: edges.map((edge, index) => {
      const { sections = [], labels = [] }: Partial<ElkExtendedEdge> = laid.edges?.[index] ?? {};
      const points = sections.flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint]);
      const [label] = labels;
      return {
        ...edge,
        points: atHexagons(points.map(({ x, y }): Point => [x, y]), byId.get(edge.from), byId.get(edge.to)),
        at: label && ([label.x ?? 0, label.y ?? 0] as const),
      };
    }),
  };
}

function byDagre({ nodes, edges }: Drawing): Drawing {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of nodes) graph.setNode(id, { width, height });
  edges.forEach(({ from, to, label, width }, index) => {
    graph.setEdge(from, to, label ? { width, height: WORDS.line, labelpos: "c" } : {}, `${index}`);
  });
  dagre.layout(graph);
  const placed = nodes.map((node) => {
    const { x, y } = graph.node(node.id);
    return { ...node, x: x - node.width / 2, y: y - node.height / 2 };
  });
  const byId = new Map(placed.map((node) => [node.id, node]));
  return {
    nodes: placed,
    edges: edges.map((edge, index) => {
      const { points, x, y } = graph.edge({ v: edge.from, w: edge.to, name: `${index}` });
      const at: Point | undefined = edge.label ? [(x ?? 0) - edge.width / 2, (y ?? 0) - WORDS.line / 2] : undefined;
      const line = points.map((point): Point => [point.x, point.y]);
      return { ...edge, points: atHexagons(line, byId.get(edge.from), byId.get(edge.to)), at };
    }),
  };
}

const BPMN = { start: "startEvent", station: "task", gate: "exclusiveGateway", end: "endEvent", pill: "endEvent" } as const;
/** How wide it makes tasks, and from one to the next. */
const [TASK, CELL] = [100, 150];

/** All sizes are its own there: the columns of its grid are spread so that our cards have as much room between them as its tasks. */
async function byBpmn({ nodes, edges }: Drawing): Promise<Drawing> {
  const [ids, flows] = [new Map(nodes.map(({ id }, at) => [id, `n${at}`])), edges.map((_, at) => `f${at}`)];
  const leading = (tag: string, which: "from" | "to", id: string): string =>
    edges.flatMap((edge, at) => (edge[which] === id ? [`<bpmn:${tag}>f${at}</bpmn:${tag}>`] : [])).join("");
  const elements = nodes.map(
    ({ id, kind }) =>
      `<bpmn:${BPMN[kind]} id="${ids.get(id)}">${leading("incoming", "to", id)}${leading("outgoing", "from", id)}</bpmn:${BPMN[kind]}>`,
  );
  const sequence = edges.map(
    ({ from, to }, at) => `<bpmn:sequenceFlow id="f${at}" sourceRef="${ids.get(from)}" targetRef="${ids.get(to)}"/>`,
  );
  const laid = await layoutProcess(
    '<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="line" id="line">' +
      `<bpmn:process id="p">${[...elements, ...sequence].join("")}</bpmn:process></bpmn:definitions>`,
  );
  const bounds = new Map(
    [...laid.matchAll(/<bpmndi:BPMNShape [^>]*bpmnElement="([^"]+)"[^>]*>\s*<dc:Bounds x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"/g)].map(
      ([, id = "", ...numbers]) => [id, numbers.map(Number)] as const,
    ),
  );
  const ways = new Map(
    [...laid.matchAll(/<bpmndi:BPMNEdge [^>]*bpmnElement="([^"]+)"[^>]*>([\s\S]*?)<\/bpmndi:BPMNEdge>/g)].map(
      ([, id = "", inside = ""]) =>
        [id, [...inside.matchAll(/waypoint x="([^"]+)" y="([^"]+)"/g)].map(([, x, y]): Point => [Number(x), Number(y)])] as const,
    ),
  );
  const widest = Math.max(...nodes.map(({ width }) => width));
  const spread = (CELL - TASK + widest) / CELL;
  const placed = nodes.map((node) => {
    const [x = 0, y = 0, width = 0, height = 0] = bounds.get(ids.get(node.id) ?? "") ?? [];
    const [across, down] = [(x + width / 2) * spread, y + height / 2];
    return { ...node, x: across - node.width / 2, y: down - node.height / 2 };
  });
  const byId = new Map(placed.map((node) => [node.id, node]));
  return {
    nodes: placed,
    edges: edges.map((edge, at) => {
      const points = (ways.get(flows[at] ?? "") ?? []).map(([x, y]): Point => [x * spread, y]);
      const ends = points.length < 2 ? points : snapped(points, byId.get(edge.from), byId.get(edge.to));
      const [x, y] = middleOf(ends);
      return { ...edge, points: ends, at: edge.label ? ([x - edge.width / 2, y - WORDS.line / 2] as const) : undefined };
    }),
  };
}

/** With its ends at the borders of what it leads from and to. */
function snapped(points: readonly Point[], from: Node | undefined, to: Node | undefined): Point[] {
  const [first, second, before, last] = [points[0], points[1], points.at(-2), points.at(-1)] as [Point, Point, Point, Point];
  return [atBorder(from, first, second), ...points.slice(1, -1), atBorder(to, last, before)];
}

function atBorder(node: Node | undefined, [x, y]: Point, [towardX, towardY]: Point): Point {
  if (!node) return [x, y];
  const [width, height] = node.kind === "gate" ? [HEXAGON.width, HEXAGON.height] : [node.width, node.height];
  const [across, down] = [node.x + node.width / 2, node.y + node.height / 2];
  if (y === towardY) return [across + (Math.sign(towardX - x) * width) / 2, y];
  return [x, down + (Math.sign(towardY - y) * height) / 2];
}

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

function svgOf({ nodes, edges }: Drawing): string {
  const words = edges.flatMap(({ at, width }) => (at ? [at[0], at[0] + width] : []));
  const xs = [
    ...nodes.flatMap(({ x, width }) => [x, x + width]),
    ...edges.flatMap(({ points }) => points.map(([x]) => x)),
    ...words,
  ];
  const ys = [...nodes.flatMap(({ y, height }) => [y, y + height + 18]), ...edges.flatMap(({ points }) => points.map(([, y]) => y))];
  const [left, top] = [Math.min(...xs) - 24, Math.min(...ys) - 24];
  const [width, height] = [Math.max(...xs) - left + 24, Math.max(...ys) - top + 24];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${left} ${top} ${width} ${height}" font-family="IBM Plex Sans, sans-serif">` +
    '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">' +
    '<path d="M0 0 L8 4 L0 8 z" fill="#555"/></marker></defs>' +
    edges.map(edgeSvg).join("") +
    nodes.map(nodeSvg).join("") +
    edges.map(wordsSvg).join("") +
    "</svg>"
  );
}

const edgeSvg = ({ points }: Edge): string =>
  `<polyline points="${points.map(([x, y]) => `${x},${y}`).join(" ")}" fill="none" stroke="#777" stroke-width="1.5" marker-end="url(#tip)"/>`;

const wordsSvg = ({ at, label, width }: Edge): string =>
  at && label
    ? `<rect x="${at[0]}" y="${at[1]}" width="${width}" height="${WORDS.line}" fill="#fff" opacity="0.85"/>` +
      `<text x="${at[0] + width / 2}" y="${at[1] + 12}" font-size="12" text-anchor="middle" fill="#555">${escaped(label)}</text>`
    : "";

function nodeSvg({ kind, names, x, y, width, height }: Node): string {
  const middle = x + width / 2;
  const text = (level: number, words: string, size = 13): string =>
    `<text x="${middle}" y="${level}" font-size="${size}" font-weight="600" text-anchor="middle">${escaped(words)}</text>`;
  const shape = 'fill="#fff" stroke="#555" stroke-width="1.25"';
  if (kind === "gate") {
    const [half, level] = [HEXAGON.width / 2, y + height / 2];
    const corners = [[-half, 0], [-half / 2, -16], [half / 2, -16], [half, 0], [half / 2, 16], [-half / 2, 16]];
    const points = corners.map(([dx = 0, dy = 0]) => `${middle + dx},${level + dy}`).join(" ");
    const over = level - 20 - 16 * (names.length - 1);
    return `<polygon points="${points}" ${shape}/>${names.map((name, row) => text(over + 16 * row, name, 12)).join("")}`;
  }
  if (kind === "start") return `<circle cx="${middle}" cy="${y + height / 2}" r="${width / 2}" ${shape}/>${text(y + height + 15, names[0] ?? "", 12)}`;
  const isBar = width < 20;
  if (isBar) return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="3" fill="#555"/>${text(y - 6, names[0] ?? "", 12)}`;
  const round = kind === "station" ? 8 : height / 2;
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${round}" ${shape}/>${text(y + height / 2 + 5, names[0] ?? "")}`;
}

for await (const request of createInterface({ input: process.stdin })) {
  const picture: Picture & { kinds: KindOfWork[] } = JSON.parse(request);
  takeKinds(picture.kinds);
  const line = picture.document;
  const graph = graphOf(line, findingsOf(picture), WINDOWS.wide);
  const placed = await best(graph, elk as unknown as Engine);
  const plain = drawingOf(line, graph);
  const drawings = { gateline: ours(line, shownOf(graph, placed), placed), elk: await byElk(plain), dagre: byDagre(plain), bpmn: await byBpmn(plain) };
  const svgs = Object.fromEntries(Object.entries(drawings).map(([name, drawing]) => [name, svgOf(drawing)]));
  process.stdout.write(`${JSON.stringify(svgs)}\n`);
}

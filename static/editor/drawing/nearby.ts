/** Pills that name a target stand close to where their edges leave, where the layout put them so far away that these would go
 * round, through something or across others. */
import { plain } from "./elk";
import { crossings, faulty } from "./geometry";
import { meet, passes } from "./moved";
import { boxesOf, frameOf, grown } from "./shapes";
import type { Graph, Outlet, Part, Placed, Point, Rect, Way } from "./types";
import { HEXAGON, portsWidth } from "./zones";

const STEP = 12;
/** Distance within which a place is looked for, to the right and up or down. */
const FAR = { right: 276, down: 216 };
/** Distance from where it leaves to where it turns, and from there to the pill. */
const [OUT, IN] = [8, 16];
/** Distance of the pill from others, of its edge from others', and of its edge from what stands beside it. */
const [APART, LANE, CLEAR] = [6, 8, 3];
const COST = { crossing: 400, growth: 3, bend: 24 };

interface Leaving {
  way: Way;
  /** Beginning of the search, and what leads there. */
  from: Point;
  lead: readonly Point[];
}

/** Puts pills where they stand better, and leaves all else as it was. */
export function nearer(graph: Graph, placed: Placed): Placed {
  const pills = new Map(graph.parts.filter(({ kind }) => kind === "pill").map((part) => [part.key, part]));
  const wrong = new Set(faulty(graph, placed));
  let better = placed;
  for (const part of graph.parts)
    for (const outlet of part.outlets)
      for (const to of outlet.targets) {
        const pill = pills.get(to);
        const way = better.ways.find(({ rule, target }) => rule === outlet.id && target === to);
        if (!pill || !way || graph.mainEdges.includes(`${outlet.id}>${to}`)) continue;
        const there = better.parts.some(({ key }) => key === to) && !wrong.has(`${outlet.id}>${to}`);
        const others = better.ways.filter(({ points }) => points !== way.points);
        const count = there ? crossings([way, ...others]) - crossings(others) : Number.POSITIVE_INFINITY;
        if (count > 0) better = put(graph, better, leavingFrom(better, part, outlet, way), pill, count) ?? better;
      }
  return better;
}

function leavingFrom({ parts, gates }: Placed, part: Part, outlet: Outlet, way: Way): Leaving {
  const gate = gates.find(({ key }) => key === outlet.id);
  if (gate) {
    const passed = way.points.findIndex(
      ([x, y], index) => y === gate.y && x >= gate.x && way.points[index - 1]?.[1] === gate.y,
    );
    const lead = way.points.slice(0, Math.max(1, passed));
    return { way, lead, from: [gate.x + HEXAGON.width / 2 + CLEAR, gate.y] };
  }
  const spot = parts.find(({ key }) => key === part.key);
  const begin: Point = [(spot?.x ?? 0) + part.width, (spot?.y ?? 0) + outlet.port];
  const numbers = part.outlets.filter(({ id, leader }) => id === outlet.id || leader === outlet.id);
  const numbersWidth = portsWidth({ ...part, open: false, outlets: numbers });
  return { way, lead: [begin], from: [begin[0] + numbersWidth, begin[1]] };
}

function put(graph: Graph, placed: Placed, { way, from, lead }: Leaving, pill: Part, most: number): Placed | undefined {
  const rest = { ...placed, parts: placed.parts.filter(({ key }) => key !== pill.key) };
  const others = placed.ways.filter(({ points, rule }) => points !== way.points && rule !== way.rule);
  const [x, y] = from;
  const reach = { x: x - FAR.right, y: y - FAR.down, width: 3 * FAR.right, height: 2 * FAR.down };
  const boxes = boxesOf(graph, rest).flatMap((box) => (meet(box, reach) ? [grown(box, CLEAR)] : []));
  const frame = frameOf(graph, { ...rest, ways: others });
  const pieces = piecesOf(graph, others).filter((piece) => meet(grown(boxOf(piece), APART), reach));
  let chosen: { points: readonly Point[]; box: Rect; cost: number } | undefined;
  const places = placesAt(from, pill).map((box) => {
    const down = Math.abs(box.y + pill.port - y);
    return { box, least: down + (down > 0 ? COST.bend : 0) + (box.x - x) / 2 + COST.growth * outside(box, frame) };
  });
  for (const { box, least } of places.sort((one, other) => one.least - other.least)) {
    if (chosen && least >= chosen.cost) break;
    const room = grown(box, APART);
    if (boxes.some((each) => meet(room, each)) || pieces.some((piece) => meet(room, boxOf(piece)))) continue;
    const level = box.y + pill.port;
    for (const lane of level === y ? [x] : steps(x + OUT, box.x - IN)) {
      const run = plain([from, [lane, y], [lane, level], [box.x, level]]);
      const count = crossed(run, pieces);
      const cost = least + COST.crossing * count;
      if (count >= most || (chosen && cost >= chosen.cost) || boxes.some((each) => passes(run, each))) continue;
      chosen = { points: plain([...lead, ...run]), box, cost };
    }
  }
  if (!chosen) return undefined;
  const { points, box } = chosen;
  return {
    ...placed,
    parts: [...rest.parts, { key: pill.key, x: box.x, y: box.y }],
    ways: placed.ways.map((each) =>
      each.points === way.points ? { ...each, points, back: false, pillAt: undefined } : each,
    ),
  };
}

interface Piece {
  a: Point;
  b: Point;
  main: boolean;
}

function piecesOf({ mainEdges }: Graph, ways: readonly Way[]): Piece[] {
  const main = new Set(mainEdges);
  return ways.flatMap(({ rule, target, points }) =>
    points.slice(1).map((b, at): Piece => ({ a: points[at] as Point, b, main: main.has(`${rule}>${target}`) })),
  );
}

const boxOf = ({ a, b }: Pick<Piece, "a" | "b">): Rect => ({
  ...{ x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]) },
  ...{ width: Math.abs(a[0] - b[0]), height: Math.abs(a[1] - b[1]) },
});

/** Counts pieces that a run crosses: any number where it crosses the main way, or runs so near to one that both seem one. */
function crossed(run: readonly Point[], pieces: readonly Piece[]): number {
  let count = 0;
  for (let at = 1; at < run.length; at += 1) {
    const [a, b] = [run[at - 1], run[at]] as [Point, Point];
    const [along, across] = a[1] === b[1] ? ([0, 1] as const) : ([1, 0] as const);
    const [from, to] = [Math.min(a[along], b[along]), Math.max(a[along], b[along])];
    for (const { a: c, b: d, main } of pieces) {
      if (c[across] === d[across]) {
        const [begin, end] = [Math.max(from, Math.min(c[along], d[along])), Math.min(to, Math.max(c[along], d[along]))];
        if (end > begin && Math.abs(a[across] - c[across]) < LANE) return Number.POSITIVE_INFINITY;
      } else if (c[along] > from && c[along] < to) {
        const level = a[across];
        if (level <= Math.min(c[across], d[across]) || level >= Math.max(c[across], d[across])) continue;
        if (main) return Number.POSITIVE_INFINITY;
        count += 1;
      }
    }
  }
  return count;
}

const steps = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, Math.floor((to - from) / STEP) + 1) }, (_, at) => from + STEP * at);

function placesAt([x, y]: Point, { width, height, port }: Part): Rect[] {
  return steps(x + IN, x + FAR.right).flatMap((left) =>
    steps(-FAR.down, FAR.down)
      .filter((down) => down === 0 || left > x + OUT + IN)
      .map((down) => ({ x: left, y: y + down - port, width, height })),
  );
}

/** Tells by how much the frame would have to grow. */
const outside = (box: Rect, { x, y, width, height }: Rect): number =>
  Math.max(0, x - box.x, box.x + box.width - x - width) + Math.max(0, y - box.y, box.y + box.height - y - height);

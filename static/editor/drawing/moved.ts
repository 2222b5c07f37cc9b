/** A drawing in which some parts stand elsewhere than the layout put them: where a person put them, or drags them, or because
 * they are new and the layout is still under way. Only the edges at them, and those they stand on, are led anew. */
import { followers } from "./elk";
import { Router } from "./routes";
import type { Graph, Outlet, Part, Placed, Point, Rect, Spot, Way } from "./types";
import { after, gateHeight, gateWidth, HEXAGON, leavingOf, rejectedFrom, WORDS, zoneOf } from "./zones";

export type Places = ReadonlyMap<string, readonly [number, number]>;

const GATE_GAP = 20;
/** So far below a gate what it rejects turns. */
const BELOW = 8;
const GAP = 64;

const shifted = ({ x, y, width, height }: Rect, spot: Spot): Rect => ({ x: x + spot.x, y: y + spot.y, width, height });

export const gateBox = ({ x, y }: Spot, outlet: Pick<Outlet, "gate" | "gateOver" | "rejected">): Rect => {
  const width = gateWidth(outlet);
  return { x: x - width / 2, y: y - HEXAGON.height / 2 - outlet.gateOver, width, height: gateHeight(outlet) };
};

/** `places` counts more than `placed`; what is in neither stands beside what leads to it. */
export function moved(graph: Graph, placed: Placed, places: Places): Placed {
  const parts = new Map(graph.parts.map((part) => [part.key, part]));
  const known = new Map(placed.parts.map((each) => [each.key, each]));
  const spots = new Map<string, Spot>();
  const elsewhere = new Set<string>();
  for (const part of graph.parts) {
    const [own, was] = [places.get(part.key), known.get(part.key)];
    if (own || !was) elsewhere.add(part.key);
    if (own) spots.set(part.key, { key: part.key, x: own[0], y: own[1] });
    else if (was) spots.set(part.key, was);
  }
  for (const part of graph.parts) if (!spots.has(part.key)) spots.set(part.key, beside(graph, part, spots));
  const oldWays = new Map(placed.ways.map((way) => [`${way.rule}>${way.target}`, way]));
  const oldGates = new Map(placed.gates.map((each) => [each.key, each]));
  const stays = (part: Part, outlet: Outlet): boolean =>
    !elsewhere.has(part.key) &&
    // A gate that is new on its edge has no place yet, though the edge leads as before.
    (outlet.gate === 0 || outlet.targets.length === 0 || oldGates.has(outlet.id)) &&
    leavingOf(outlet).every(({ id, to }) => {
      const way = oldWays.get(`${id}>${to}`);
      const begins = id !== outlet.id || leaves(way, part, outlet, spots);
      return !elsewhere.has(to) && begins && arrives(way, to, spots, parts);
    });
  if (elsewhere.size === 0 && graph.parts.every((part) => part.outlets.every((outlet) => stays(part, outlet))))
    return placed;

  const zones = roomsOf(graph, spots);
  const gates: Spot[] = [];
  const gateBoxes = new Map<string, Rect>();
  for (const part of graph.parts) {
    const spot = spots.get(part.key) as Spot;
    for (const outlet of part.outlets) {
      if (outlet.gate === 0) continue;
      const old = elsewhere.has(part.key) ? undefined : oldGates.get(outlet.id);
      const gate = old ?? {
        key: outlet.id,
        x: spot.x + part.width + after(part) + GATE_GAP + gateWidth(outlet) / 2,
        y: spot.y + outlet.port,
      };
      gates.push(gate);
      gateBoxes.set(outlet.id, gateBox(gate, outlet));
    }
  }
  const fresh = [...elsewhere].flatMap((key) => zones.get(key) ?? []);
  const ways: Way[] = [];
  const open: { part: Part; outlet: Outlet; id: string; to: string }[] = [];
  for (const part of graph.parts)
    for (const outlet of part.outlets)
      for (const { id, to } of leavingOf(outlet)) {
        const old = oldWays.get(`${id}>${to}`);
        if (old && stays(part, outlet) && !fresh.some((zone) => passes(old.points, zone))) ways.push(old);
        else if (zones.has(to)) open.push({ part, outlet, id, to });
      }
  const router = new Router([...zones.values(), ...gateBoxes.values()], open.length);
  for (const { part, outlet, id, to } of open) {
    const spot = spots.get(part.key) as Spot;
    const other = parts.get(to) as Part;
    const goal = spots.get(to) as Spot;
    const begin: Point = [spot.x + part.width, spot.y + outlet.port];
    const gate = gates.find((each) => each.key === outlet.id);
    const source = gateBoxes.get(outlet.id) ?? (zones.get(part.key) as Rect);
    const rejects = gate !== undefined && id !== outlet.id;
    let lead: Point[] = [begin];
    let from: Point = [spot.x + part.width, begin[1]];
    if (rejects) {
      const x = gate.x + rejectedFrom(outlet);
      lead = [[x, gate.y + HEXAGON.height / 2]];
      from = [x, source.y + source.height + BELOW];
    } else if (gate) {
      if (gate.y !== begin[1]) lead = [begin, [source.x, begin[1]], [source.x, gate.y]];
      from = [source.x + source.width, gate.y];
    }
    const entry: Point = [goal.x, goal.y + other.port];
    const target = zones.get(to) as Rect;
    const way = router.route({ owner: id, from, to: entry, source, target, lane: part.outlets.indexOf(outlet) });
    const back = graph.back.includes(`${id}>${to}`);
    const points = [...lead, ...way];
    const [x, y] = middleOf(way);
    const words = rejects ? (outlet.rejected?.width ?? 0) : outlet.words;
    const pill = rejects ? 0 : outlet.pill;
    ways.push({
      rule: id,
      target: to,
      points,
      back,
      pillAt: pill > 0 && back ? [x - (words > 0 ? (words + pill) / 2 + 6 : 0), y] : undefined,
      wordsAt: words > 0 ? { x: x - words / 2, y: y - WORDS.line / 2, width: words, height: WORDS.line } : undefined,
    });
  }
  const all = [...ways, ...followers(graph, ways)];
  return { parts: graph.parts.map((part) => spots.get(part.key) as Spot), gates, ways: all, rows: placed.rows };
}

/** The room of each part, as far as it has it: where a line stands narrow, others stand in what is free of it. */
function roomsOf(graph: Graph, spots: ReadonlyMap<string, Spot>): Map<string, Rect> {
  const cards = graph.parts.map((part): [string, Rect] => {
    const { x, y } = spots.get(part.key) as Spot;
    return [part.key, { x: x - part.before, y, width: part.before + part.width, height: part.height }];
  });
  return new Map(
    graph.parts.map((part, index) => {
      const zone = shifted(zoneOf(part), spots.get(part.key) as Spot);
      const isFree = cards.every(([key, card]) => key === part.key || !meet(zone, card));
      return [part.key, isFree ? zone : (cards[index]?.[1] ?? zone)];
    }),
  );
}

type Spots = ReadonlyMap<string, Spot>;

/** Tells whether a way still begins at its port: cards grow, rules change places. */
function leaves(way: Way | undefined, part: Part, outlet: Outlet, spots: Spots): boolean {
  const [first, spot] = [way?.points[0], spots.get(part.key)];
  if (!first || !spot) return false;
  return first[0] === spot.x + part.width && first[1] === spot.y + outlet.port;
}

/** Tells whether it still ends at its target. */
function arrives(way: Way | undefined, to: string, spots: Spots, parts: ReadonlyMap<string, Part>): boolean {
  const [last, goal, target] = [way?.points.at(-1), spots.get(to), parts.get(to)];
  if (!last || !goal || !target) return false;
  return last[0] === goal.x
    ? last[1] === goal.y + target.port
    : last[1] === goal.y + target.height && last[0] > goal.x && last[0] < goal.x + target.width;
}

/** A place for what is new: right of what leads to it, under what stands there already. */
function beside(graph: Graph, part: Part, spots: ReadonlyMap<string, Spot>): Spot {
  const leads = graph.parts.find(
    (each) => spots.has(each.key) && each.outlets.some((out) => out.targets.includes(part.key)),
  );
  const rects = graph.parts.flatMap((each) => {
    const spot = spots.get(each.key);
    return spot ? [shifted(zoneOf(each), spot)] : [];
  });
  const from = leads && spots.get(leads.key);
  const x =
    from && leads
      ? from.x + leads.width + after(leads) + GAP
      : Math.max(-GAP, ...rects.map((each) => each.x + each.width)) + GAP;
  const spot = { key: part.key, x, y: (from && leads ? from.y + leads.port : 0) - part.port };
  for (let tries = 0; tries < 200; tries += 1) {
    const own = shifted(zoneOf(part), spot);
    const hit = rects.find((each) => meet(own, each));
    if (!hit) break;
    spot.y = hit.y + hit.height + 28 + part.over;
  }
  return spot;
}

export const meet = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** Tells whether a way goes through the inside of a box. */
export const passes = (points: readonly Point[], { x, y, width, height }: Rect): boolean =>
  points.some((point, index) => {
    const before = points[index - 1];
    if (!before) return false;
    const [left, right] = [Math.min(before[0], point[0]), Math.max(before[0], point[0])];
    const [top, bottom] = [Math.min(before[1], point[1]), Math.max(before[1], point[1])];
    return left < x + width && right > x && top < y + height && bottom > y;
  });

/** The middle of the longest level piece. */
export function middleOf(points: readonly Point[]): Point {
  let best: { at: Point; length: number } = { at: points[0] ?? [0, 0], length: -1 };
  points.forEach((point, index) => {
    const before = points[index - 1];
    if (!before || before[1] !== point[1]) return;
    const length = Math.abs(point[0] - before[0]);
    if (length > best.length) best = { at: [(point[0] + before[0]) / 2, point[1]], length };
  });
  return best.at;
}

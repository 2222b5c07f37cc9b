/** What of a part nothing else may cover or come through, each piece for itself: its card, its ports, the words of a join. Their
 * frame (zones.ts) is what the layout keeps free. */
import type { Graph, Outlet, Part, Placed, Rect, Spot } from "./types";
import { BADGE, badgesWidth, HEXAGON, JOIN, PORT, portsWidth } from "./zones";

export interface Shape extends Rect {
  kind: "card" | "bar" | "port" | "words";
  /** The rule that it is about. */
  rule: string | undefined;
}

/** Seen from the upper left corner of the card. */
export function shapesOf(part: Part): Shape[] {
  const { width, height, before } = part;
  const shapes: Shape[] = [];
  const add = (kind: Shape["kind"], rule: string | undefined, x: number, y: number, right: number, bottom: number) =>
    shapes.push({ kind, rule, x, y, width: right - x, height: bottom - y });
  if (part.kind === "start") {
    add(part.bar > 0 ? "bar" : "card", undefined, 0, 0, width, height);
    // Its words are wider than it is.
    add("card", undefined, -before, height, width + before, height + part.under);
    return shapes;
  }
  add("card", undefined, 0, 0, width, height);
  if (before > 0) add("bar", undefined, -before, -JOIN.out, 0, height + JOIN.out);
  if (part.bar > 0) add("words", undefined, 0, -part.over, part.bar, -JOIN.out);
  // Over a card what a task did there, and over that of a join what it waits for.
  if (part.kind === "station" && part.bar === 0) add("words", undefined, -before, -part.over, width, -JOIN.out);
  if (badgesWidth(part) > 0) add("card", undefined, 0, height, BADGE.first + badgesWidth(part), height + part.under);
  for (const { badge, id, port, aside } of part.outlets) {
    const right = part.open ? portsWidth(part) : aside + PORT;
    if (!badge) add("port", id, width + Math.max(0, aside - PORT), port - PORT, width + right, port + PORT);
  }
  return shapes;
}

/** The hexagon of a gate, and the name over it. */
export const gateBoxes = ({ x, y }: Spot, { gate, gateOver }: Pick<Outlet, "gate" | "gateOver">): Rect[] => [
  { x: x - HEXAGON.width / 2, y: y - HEXAGON.height / 2, width: HEXAGON.width, height: HEXAGON.height },
  { x: x - gate / 2, y: y - HEXAGON.height / 2 - gateOver, width: gate, height: gateOver },
];

/** Cards, ports and gates. */
export function boxesOf(graph: Graph, placed: Placed): Rect[] {
  const at = new Map(placed.parts.map((each) => [each.key, each]));
  const gates = new Map(placed.gates.map((each) => [each.key, each]));
  return graph.parts.flatMap((part): Rect[] => {
    const spot = at.get(part.key);
    if (!spot) return [];
    const own = shapesOf(part).map((each) => ({ ...each, x: each.x + spot.x, y: each.y + spot.y }));
    const over = part.outlets.flatMap((outlet) => {
      const gate = gates.get(outlet.id);
      if (outlet.gate === 0 || !gate) return [];
      return gateBoxes(gate, outlet);
    });
    return [...own, ...over];
  });
}

export const grown = ({ x, y, width, height }: Rect, by: number): Rect => ({
  x: x - by,
  y: y - by,
  width: width + 2 * by,
  height: height + 2 * by,
});

/** All that a drawing takes, edges too. */
export function frameOf(graph: Graph, placed: Placed): Rect {
  const spots = new Map(placed.parts.map((each) => [each.key, each]));
  const outlets = new Map(graph.parts.flatMap((part) => part.outlets.map((each) => [each.id, each] as const)));
  const [xs, ys] = [[] as number[], [] as number[]];
  const add = ({ x, y, width, height }: Rect): void => {
    xs.push(x, x + width);
    ys.push(y, y + height);
  };
  for (const part of graph.parts) {
    const spot = spots.get(part.key);
    if (spot) for (const shape of shapesOf(part)) add({ ...shape, x: shape.x + spot.x, y: shape.y + spot.y });
  }
  for (const gate of placed.gates) {
    const outlet = outlets.get(gate.key);
    if (outlet) for (const shape of gateBoxes(gate, outlet)) add(shape);
  }
  for (const { points, wordsAt } of placed.ways) {
    for (const [x, y] of points) add({ x, y, width: 0, height: 0 });
    if (wordsAt) add(wordsAt);
  }
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

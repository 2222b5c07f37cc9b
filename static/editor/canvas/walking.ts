/** Which way the arrow keys go: along the edges as they are drawn. Right goes on along the line, left back, down and up
 * step through the rules of a station, so that every edge can be reached. */

export interface Spot {
  kind: "node" | "edge";
  id: string;
}

interface Way {
  id: string;
  source: string;
  target: string;
}

export interface Map {
  nodes: readonly { id: string }[];
  /** Of each source in the order of its rules. */
  edges: readonly Way[];
}

export type Direction = "Left" | "Right" | "Up" | "Down";

const node = (id: string): Spot => ({ kind: "node", id });
const edge = (way: Way | undefined): Spot | undefined => way && { kind: "edge", id: way.id };

/** `from`: where this walk came from, which is what left goes back to. */
export function next(map: Map, spot: Spot, to: Direction, from?: string): Spot | undefined {
  return spot.kind === "node" ? ofNode(map, spot.id, to, from) : ofEdge(map, spot.id, to);
}

function ofNode(map: Map, id: string, to: Direction, from?: string): Spot | undefined {
  const out = map.edges.filter((each) => each.source === id);
  if (to === "Down") return edge(out[0]);
  if (to === "Up") return edge(out.at(-1));
  if (to === "Right") {
    // On along the line: what ends a task, or leads nowhere else, comes after what goes on.
    const others = out.filter((each) => each.target !== id);
    const on = others.find((each) => map.edges.some((way) => way.source === each.target)) ?? others[0];
    return on ? node(on.target) : beside(map, id, 1);
  }
  const back = map.edges.filter((each) => each.target === id && each.source !== id);
  const way = back.find((each) => each.source === from) ?? back[0];
  return way ? node(way.source) : beside(map, id, -1);
}

/** What no edge leads on from or back from: its neighbour in the order of the line. */
function beside(map: Map, id: string, step: 1 | -1): Spot | undefined {
  const nextNode = map.nodes[map.nodes.findIndex((each) => each.id === id) + step];
  return nextNode && node(nextNode.id);
}

function ofEdge(map: Map, id: string, to: Direction): Spot | undefined {
  const here = map.edges.find((each) => each.id === id);
  if (!here) return undefined;
  if (to === "Right") return node(here.target);
  if (to === "Left") return node(here.source);
  const all = map.edges.filter((each) => each.source === here.source);
  const place = all.indexOf(here) + (to === "Down" ? 1 : -1);
  return place < 0 ? node(here.source) : edge(all[place]);
}

/** The one before or after in the order of the line, edges left out: this way everything is reached. */
export function step(map: Map, id: string | undefined, by: 1 | -1): Spot | undefined {
  const at = map.nodes.findIndex((each) => each.id === id);
  const neighbour = at < 0 ? map.nodes[by > 0 ? 0 : map.nodes.length - 1] : map.nodes[at + by];
  return neighbour && node(neighbour.id);
}

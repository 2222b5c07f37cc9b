/** A long line before its layout is there: its cards in the rows in which they will stand, without edges. It takes some
 * milliseconds, ELK seconds. */
import { columnsOf, countOf, edgesOf, rowsFor, widthsOf } from "./rows";
import type { Graph, Placed, Spot } from "./types";
import { zoneOf } from "./zones";

const APART = 28;
const BETWEEN_ROWS = 64;

export function quick(graph: Graph): Placed {
  const column = columnsOf(graph, edgesOf(graph));
  const widths = widthsOf(graph, column);
  const { rowOf } = rowsFor(graph, countOf(graph));
  const begins = new Map<number, number>();
  for (const [key, row] of rowOf)
    begins.set(row, Math.min(begins.get(row) ?? Number.POSITIVE_INFINITY, column.get(key) ?? 0));
  const upTo = [0];
  for (const width of widths) upTo.push((upTo.at(-1) ?? 0) + width);
  const parts: Spot[] = [];
  const rows: string[][] = [];
  let top = 0;
  for (let row = 0; row <= Math.max(0, ...rowOf.values()); row += 1) {
    const bottoms = new Map<number, number>();
    const here = graph.parts.filter((part) => rowOf.get(part.key) === row);
    for (const part of here) {
      const at = column.get(part.key) ?? 0;
      const y = bottoms.get(at) ?? top;
      const x = (upTo[at] ?? 0) - (upTo[begins.get(row) ?? 0] ?? 0);
      parts.push({ key: part.key, x: x + part.before, y: y + part.over });
      bottoms.set(at, y + zoneOf(part).height + APART);
    }
    if (here.length > 0) rows.push(here.map((part) => part.key));
    top = Math.max(top, ...bottoms.values()) + BETWEEN_ROWS;
  }
  // As in the layout itself, the start stands at the origin.
  const [left, above] = [parts[0]?.x ?? 0, parts[0]?.y ?? 0];
  const spots = parts.map(({ key, x, y }) => ({ key, x: x - left, y: y - above }));
  return { parts: spots, gates: [], ways: [], rows, provisional: true };
}

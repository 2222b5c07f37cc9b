/** The layout of a line in the room that it is seen in, asked for while the page is drawn. */
import { graphOf, type Said } from "../drawing/graph";
import { edition, placedFor } from "../drawing/layouts";
import { type LineDocument, positionsOf } from "../store/document";
import { NOTHING } from "../store/findings";
import { type Laid, withPlaces } from "./layout";

let window: readonly [number, number] = [0, 0];
let labels: Said = NOTHING;
let last: { line: LineDocument; said: Said; edition: number; window: object; laid: Laid } | undefined;

/** The room in which lines are drawn from now on. */
export function drawnIn(width: number, height: number): void {
  if (window[0] !== width || window[1] !== height) window = [width, height];
}

/** `findings`: what the server said of it, which stands in words on the edges; without, what was known last. */
export function laidOut(line: LineDocument, findings: Said = labels): Laid {
  labels = findings;
  if (last?.line === line && last.said === findings && last.edition === edition() && last.window === window)
    return last.laid;
  const graph = graphOf(line, findings, window);
  const { placed, exact } = placedFor(graph);
  const laid = withPlaces(graph, placed, exact, positionsOf(line));
  last = { line, said: findings, edition: edition(), window, laid };
  return laid;
}

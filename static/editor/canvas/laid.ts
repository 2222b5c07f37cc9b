/** The layout of a line in the frame that it is seen in, asked for while the page is drawn. */
import { frameFor, WINDOWS } from "../drawing/frames";
import { graphOf, type Said } from "../drawing/graph";
import { edition, placedFor } from "../drawing/layouts";
import { type LineDocument, positionsOf } from "../store/document";
import { NOTHING } from "../store/findings";
import { type Laid, withPlaces } from "./layout";

/** Has no size before the place of the first line is measured: nothing is laid out then. */
let window: readonly [number, number] = [0, 0];
let labels: Said = NOTHING;
let last: { line: LineDocument; said: Said; edition: number; window: object; laid: Laid } | undefined;

/** Takes the frame for a place that is so wide: lines are drawn in it from now on. */
export function drawnIn(width: number): void {
  window = WINDOWS[frameFor(width)];
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

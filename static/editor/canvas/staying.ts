/** Which edges are drawn as they were: while something is dragged most of them are, and are not made anew to see it. */
import type { Outlet, Way } from "../drawing/types";
import type { LineDocument } from "../store/document";
import type { Findings } from "../store/findings";
import type { Box, Laid } from "./layout";

/** Of which line, layout and findings something was drawn. */
export interface Origin {
  line: LineDocument;
  laid: Laid;
  findings: Findings;
}

/** Tells of an outlet of a card whether its edge is led and said as it was. */
export function staying(now: Origin, was: Origin | undefined): (box: Box, outlet: Outlet) => boolean {
  if (!was || was.line !== now.line || was.findings !== now.findings || was.laid.graph !== now.laid.graph)
    return () => false;
  const boxes = new Map(was.laid.boxes.map((each) => [each.key, each]));
  const waysOf = ({ ways }: Laid, { id, rejected }: Outlet): readonly Way[] =>
    [id, rejected?.id ?? ""].flatMap((each) => ways.get(each) ?? []);
  return (box, outlet) => {
    const { id } = outlet;
    const before = boxes.get(box.key);
    const [one, other] = [waysOf(was.laid, outlet), waysOf(now.laid, outlet)];
    const [gate, gateNow] = [was.laid.gates.get(id), now.laid.gates.get(id)];
    return (
      before?.x === box.x &&
      before.y === box.y &&
      gate?.[0] === gateNow?.[0] &&
      gate?.[1] === gateNow?.[1] &&
      one.length === other.length &&
      one.every((way, index) => way === other[index])
    );
  };
}

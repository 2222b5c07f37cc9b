import { ViewportPortal } from "@xyflow/react";
import type { Picture } from "../api/line";
import type { Drawn } from "../canvas/drawing";
import { say } from "../shell/words";

type Point = readonly [number, number];

interface Given {
  picture: Picture;
  drawn: readonly Drawn[];
}

/** Far enough along an edge to stand beside its words and its number. */
const LEAST = 40;
const BEFORE_ARROW = 24;
/** From the middle of a gate: nearer a letter would hide it; and so far below the edge it does not. */
const BESIDE_GATE = 36;
const BELOW_GATE = 28;

/** On each edge that changed the letter that its sentences have; where its limit is another number, that too. */
export function Letters({ picture: { letters = [], limits = {}, marks }, drawn }: Given) {
  const edges = new Map(drawn.map((each) => [each.id, each]));
  return (
    <ViewportPortal>
      {letters.map(({ rule, letter }) => {
        const edge = edges.get(rule);
        const at = edge && placeOn(edge);
        if (!at) return null;
        const { before, most } = limits[rule] ?? {};
        return (
          <span
            key={rule}
            className="diff-letter diff-letter-on"
            data-mark={marks?.rules[rule]}
            style={{ transform: `translate(${at[0]}px, ${at[1]}px) translate(-50%, -50%)` }}
          >
            {letter}
            {before !== undefined ? <span> {say("limitChanged", before, most ?? 0)}</span> : null}
          </span>
        );
      })}
    </ViewportPortal>
  );
}

/** Of stations and ends, and of rules that are drawn as a badge of their station. */
export function lettersOf({ picture: { letters = [] }, drawn }: Given, node: string): string {
  const edges = new Set(drawn.map((each) => each.id));
  return letters
    .filter((each) => each.node === node && (!each.rule || !edges.has(each.rule)))
    .map((each) => each.letter)
    .join(" ");
}

/** At its limit, else in the middle of the longest run up or down, else before the arrow, or below that where a gate is. */
function placeOn({ limitAt, branches, gateAt }: Drawn): Point | undefined {
  if (limitAt) return limitAt;
  const points = branches[0]?.points ?? [];
  const runs = points.slice(1).map((to, index) => ({ from: points[index] as Point, to }));
  const upright = runs.filter(({ from, to }) => from[0] === to[0]).sort((a, b) => lengthOf(b) - lengthOf(a))[0];
  if (upright && lengthOf(upright) >= LEAST) return middle(upright);
  const { to } = runs.at(-1) ?? {};
  if (!to) return undefined;
  const at: Point = [to[0] - BEFORE_ARROW, to[1]];
  const hides = gateAt && Math.abs(gateAt[0] - at[0]) < BESIDE_GATE && Math.abs(gateAt[1] - at[1]) < BESIDE_GATE;
  return hides ? [at[0], at[1] + BELOW_GATE] : at;
}

interface Run {
  from: Point;
  to: Point;
}

const lengthOf = ({ from, to }: Run): number => Math.abs(to[0] - from[0]) + Math.abs(to[1] - from[1]);
const middle = ({ from, to }: Run): Point => [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];

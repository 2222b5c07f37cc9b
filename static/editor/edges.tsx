import { BaseEdge, EdgeLabelRenderer, type EdgeProps, useInternalNode } from "@xyflow/react";
import { memo } from "react";

import type { RuleEdge } from "./flow";
import { Icon } from "./Icon";
import { say } from "./words";

const RADIUS = 8;
const BELOW = 48;
const LANE = 14;

/** Along the rule's port to its target: forward with one vertical run, back below everything in a lane of its own. */
export const RuleWay = memo(function RuleWay(props: EdgeProps<RuleEdge>) {
  const { source, target, sourceX, sourceY, targetX, targetY, data, selected, markerEnd } = props;
  const from = useInternalNode(source);
  const to = useInternalNode(target);
  if (!data) return null;
  const bottom = Math.max(bottomOf(from), bottomOf(to), sourceY, targetY) + BELOW + (data.lane % 6) * LANE;
  const [path, labelX, labelY] = data.back
    ? backWay(sourceX, sourceY, targetX, targetY, bottom, data.number)
    : forwardWay(props, data);
  const state = data.dead ? " ed-edge-dead" : "";
  return (
    <>
      <BaseEdge
        path={path}
        markerEnd={markerEnd}
        interactionWidth={16}
        className={`ed-edge${state}${selected ? " ed-edge-selected" : ""}`}
      />
      {data.label || data.gates.length > 0 ? (
        <EdgeLabelRenderer>
          <div
            className={`ed-label${data.gates.length > 0 ? " ed-label-gate" : ""}${state}`}
            data-edge={props.id}
            style={{ transform: `translate(-50%, -50%) translate(${labelX}px, ${labelY}px)` }}
          >
            {data.gates[0] ? (
              <span className="ed-gate" title={data.gates.map((gate) => gate.name).join(", ")}>
                <span className="ed-hexagon">
                  <Icon name={`gate-${data.gates[0].mode}`} size={14} />
                </span>
                <span className="ed-gate-name">
                  {cut(data.gates[0].name)}
                  {data.gates.length > 1 ? ` +${data.gates.length - 1}` : ""}
                </span>
              </span>
            ) : null}
            <span className="ed-words" title={data.label}>
              {cut(data.label)}
              {data.dead ? <span className="ed-never"> {say("neverReached")}</span> : null}
            </span>
          </div>
        </EdgeLabelRenderer>
      ) : null}
    </>
  );
});

function bottomOf(node: ReturnType<typeof useInternalNode>): number {
  return node ? node.internals.positionAbsolute.y + (node.measured.height ?? node.height ?? 0) : 0;
}

const RUN = 20;
const APART = 12;

/** Right of its port the edge turns to the height of its target, or of the free lane that leads there. An edge that
 * turns up and has a later number turns first, one that turns down last: so no two of one station cross. */
function forwardWay(props: EdgeProps<RuleEdge>, data: NonNullable<RuleEdge["data"]>): [string, number, number] {
  const { sourceX, sourceY, targetX, targetY } = props;
  const first = data.way[0]?.[1] ?? targetY;
  const place = first < sourceY ? data.number - 1 : data.rules - data.number;
  const points: [number, number][] = [[sourceX, sourceY]];
  let x = sourceX + RUN + place * APART;
  let y = sourceY;
  for (const [nextX, nextY] of [...data.way, [targetX, targetY] as [number, number]]) {
    if (Math.abs(nextY - y) > 1) points.push([x, y], [x, nextY]);
    y = nextY;
    x = nextX + RUN * 4;
  }
  points.push([targetX, targetY]);
  const from = points.length > 2 ? (points[2]?.[0] ?? sourceX) : sourceX + RUN;
  const to = points.length > 3 ? (points[3]?.[0] ?? targetX) : targetX;
  return [rounded(points), (from + to) / 2 - 4, points.length > 2 ? (points[2]?.[1] ?? targetY) : targetY];
}

function backWay(sx: number, sy: number, tx: number, ty: number, bottom: number, number: number): [string, number, number] {
  const right = sx + RUN + number * 8;
  const left = tx - RUN - number * 4;
  return [rounded([[sx, sy], [right, sy], [right, bottom], [left, bottom], [left, ty], [tx, ty]]), (left + right) / 2, bottom];
}

/** A path through these points with rounded corners. */
function rounded(points: [number, number][]): string {
  const parts = points.map(([x, y], index) => {
    const before = points[index - 1];
    const after = points[index + 1];
    if (!before) return `M ${x} ${y}`;
    if (!after) return `L ${x} ${y}`;
    const into = Math.min(RADIUS, distance(before, [x, y]) / 2);
    const out = Math.min(RADIUS, distance([x, y], after) / 2);
    const [ax, ay] = towards([x, y], before, into);
    const [bx, by] = towards([x, y], after, out);
    return `L ${ax} ${ay} Q ${x} ${y} ${bx} ${by}`;
  });
  return parts.join(" ");
}

const distance = (a: [number, number], b: [number, number]): number => Math.hypot(b[0] - a[0], b[1] - a[1]);

function towards(from: [number, number], to: [number, number], by: number): [number, number] {
  const length = distance(from, to) || 1;
  return [from[0] + ((to[0] - from[0]) * by) / length, from[1] + ((to[1] - from[1]) * by) / length];
}

const cut = (text: string): string => (text.length <= 24 ? text : `${text.slice(0, 23).trimEnd()}…`);

export const edgeTypes = { rule: RuleWay };

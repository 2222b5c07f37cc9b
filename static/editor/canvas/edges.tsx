import { ViewportPortal } from "@xyflow/react";
import { type CSSProperties, memo, useContext, useDeferredValue, useState } from "react";
import { cut } from "../drawing/text";
import type { Point, Rect } from "../drawing/types";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type Drawn, type GateMark, headsOf, pathOf, type Stub } from "./drawing";
import { edgeId } from "./flow";
import { STATION } from "./layout";
import { type Level, useView } from "./level";
import { edgeMark } from "./marks";
import { GatePath, Over } from "./path";

interface Shown {
  drawn: readonly Drawn[];
  level: Level;
  /** Only what is in view is drawn. */
  cull: boolean;
  chosenRule: string | undefined;
  chosenGate: string | undefined;
  marks: Readonly<Record<string, string>>;
  /** What somebody is drawing with the mouse. */
  drawing: { from: Point; to: Point; fresh: boolean } | undefined;
}

/** All edges in one picture under the stations, and their words, gates and stubs. Clicks are heard by the canvas,
 * which finds the rule by its `data-rule`, the gate by its `data-gate`. */
export const EdgeLayer = memo(function EdgeLayer({
  drawn,
  level,
  cull,
  chosenRule,
  chosenGate,
  marks,
  drawing,
}: Shown) {
  const view = useDeferredValue(useView(cull));
  const inView = view ? drawn.filter((each) => meets(each.bounds, view)) : drawn;
  const marksInView = underFirst(inView, marks);
  const chosen = (each: Drawn): boolean => each.id === chosenRule;
  const [pointed, setPointed] = useState<string>();
  const point = ({ target }: { target: EventTarget }): void =>
    setPointed(target instanceof Element ? target.closest<SVGElement>(".ed-way")?.dataset.rule : undefined);
  return (
    <ViewportPortal>
      <svg
        className="ed-edges"
        role="group"
        aria-label={say("edges")}
        onPointerOver={point}
        onPointerLeave={() => setPointed(undefined)}
        onFocus={point}
        onBlur={() => setPointed(undefined)}
      >
        {level === "far" ? <Far drawn={marksInView} chosen={chosenRule} marks={marks} /> : null}
        {level === "far"
          ? null
          : marksInView.map((each) => (
              <Way key={each.id} drawn={each} chosen={chosen(each)} mark={marks[edgeMark(each.id)]} />
            ))}
        {level === "far" ? null : <Shared drawn={marksInView} lit={[chosenRule, pointed]} marks={marks} />}
        {drawing?.fresh ? (
          <rect
            className="ed-ghost"
            x={drawing.to[0]}
            y={drawing.to[1] - STATION.height / 2}
            width={STATION.width}
            height={STATION.height}
            rx={8}
          />
        ) : null}
        {drawing ? <path className="ed-drawing" d={`M${drawing.from.join(" ")}L${drawing.to.join(" ")}`} /> : null}
      </svg>
      {level === "far" ? null : (
        <div>
          {marksInView.map((each) => (
            <Words key={each.id} drawn={each} chosen={chosen(each)} chosenGate={chosenGate} near={level === "near"} />
          ))}
        </div>
      )}
    </ViewportPortal>
  );
});

/** Edges that lead to one port share their arrow: of those that were not taken it is the lower one. */
function underFirst(drawn: readonly Drawn[], marks: Shown["marks"]): readonly Drawn[] {
  const isUnder = (each: Drawn): boolean => marks[edgeMark(each.id)] === "not";
  const under = drawn.filter(isUnder);
  return under.length > 0 ? [...under, ...drawn.filter((each) => !isUnder(each))] : drawn;
}

function meets({ x, y, width, height }: Rect, view: string): boolean {
  const [left = 0, top = 0, right = 0, bottom = 0] = view.split(" ").map(Number);
  return x <= right && x + width >= left && y <= bottom && y + height >= top;
}

/** All that look the same in one path: a thousand edges as a few elements. */
const Far = memo(function Far({
  drawn,
  chosen,
  marks,
}: {
  drawn: readonly Drawn[];
  chosen: string | undefined;
  marks: Shown["marks"];
}) {
  const looks = new Map<string, { first: Drawn; path: string }>();
  for (const way of drawn) {
    const look = [
      way.id === chosen,
      way.main,
      way.state === "dead",
      way.kind === "onward",
      marks[edgeMark(way.id)],
    ].join(" ");
    const same = looks.get(look);
    if (same) same.path += pathOf(way);
    else looks.set(look, { first: way, path: pathOf(way) });
  }
  const gates = drawn.map(({ gateAt }) => (gateAt ? hexagon(gateAt) : "")).join("");
  const ways = [...looks].map(([look, { first, path }]) => (
    <g
      key={look}
      className="ed-way"
      data-kind={first.kind}
      data-state={first.state}
      data-main={first.main || undefined}
      data-chosen={first.id === chosen || undefined}
      data-mark={marks[edgeMark(first.id)]}
    >
      <path className="ed-edge" d={path} />
    </g>
  ));
  return (
    <>
      {ways}
      {gates ? <path className="ed-far-gates" d={gates} /> : null}
    </>
  );
});

/** As large as it is nearer by. */
const hexagon = ([x, y]: Point): string => `M${x - 20} ${y}l10 -16h20l10 16l-10 16h-20z`;

const Way = memo(function Way({ drawn, chosen, mark }: { drawn: Drawn; chosen: boolean; mark: string | undefined }) {
  const path = pathOf(drawn);
  return (
    <g
      className="ed-way"
      data-rule={drawn.id}
      data-kind={drawn.kind}
      data-state={drawn.state}
      data-main={drawn.main || undefined}
      data-chosen={chosen || undefined}
      data-mark={mark}
    >
      <path className="ed-edge" d={path} />
      <path className="ed-arrow" d={headsOf(drawn)} />
      <Reached drawn={drawn} />
      {drawn.fork ? <circle className="ed-fork" cx={drawn.fork[0]} cy={drawn.fork[1]} r={4} /> : null}
      {drawn.joins.map(([x, y]) => (
        <circle key={`${x} ${y}`} className="ed-fork" cx={x} cy={y} r={3} />
      ))}
      {chosen
        ? drawn.branches.map((branch) => {
            const [x, y] = gripAt(branch.points);
            return (
              <circle key={branch.target} className="ed-grip nopan" data-grip={branch.target} cx={x} cy={y} r={7}>
                <title>{say("grip")}</title>
              </circle>
            );
          })
        : null}
    </g>
  );
});

/** Of edges that share their end, once more and over the others what is chosen, pointed at or painted: all of it is seen. */
function Shared({
  drawn,
  lit,
  marks,
}: {
  drawn: readonly Drawn[];
  lit: readonly (string | undefined)[];
  marks: Shown["marks"];
}) {
  return drawn.map((each) => {
    const mark = marks[edgeMark(each.id)];
    if (!each.shares || !(mark || lit.includes(each.id))) return null;
    return (
      <g
        key={`shared ${each.id}`}
        className="ed-way"
        data-state={each.state}
        data-chosen={lit.includes(each.id) || undefined}
        data-mark={mark}
      >
        <path className="ed-edge" d={pathOf(each)} />
        <path className="ed-arrow" d={headsOf(each)} />
      </g>
    );
  });
}

/** What the pointer hits and the keyboard walks to: each branch for itself. */
function Reached({ drawn }: { drawn: Drawn }) {
  const ends = [
    ...drawn.branches.map(({ target, path }) => ({ target, path })),
    ...drawn.stubs.map((stub) => ({ target: stub.target, path: stub.path })),
  ];
  return ends.map(({ target, path }) => (
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the walk over the canvas focuses it; Tab does not.
    <g
      key={target}
      className="react-flow__edge"
      data-id={edgeId(drawn.id, target)}
      role="img"
      tabIndex={-1}
      aria-label={[drawn.between[target], drawn.title].filter(Boolean).join(" · ") || say("start")}
    >
      <path className="ed-hit" d={path}>
        {drawn.title ? <title>{drawn.title}</title> : null}
      </path>
    </g>
  ));
}

/** Just before the end, on the edge. */
function gripAt(points: readonly Point[]): Point {
  const [x, y] = points.at(-1) ?? [0, 0];
  return points.at(-2)?.[0] === x ? [x, y + 9] : [x - 9, y];
}

interface Said {
  drawn: Drawn;
  chosen: boolean;
  chosenGate: string | undefined;
  near: boolean;
}

const Words = memo(function Words({ drawn, chosen, chosenGate, near }: Said) {
  const { label, labelAt, gateAt, gates, endlessAt, limit, limitAt, stubs, state, id } = drawn;
  const edge = edgeId(id, (drawn.branches[0] ?? stubs[0])?.target ?? "");
  return (
    <>
      {near && labelAt ? (
        <span
          className="ed-words"
          data-edge={edge}
          data-rule={id}
          data-state={state}
          data-chosen={chosen || undefined}
          title={label}
          style={at(labelAt.x, labelAt.y)}
        >
          {drawn.asks ? (
            <span className="ed-asks" title={say("asks")}>
              <Icon name="status-evaluating" size={12} />
              <span className="visually-hidden">{say("asks")}</span>
            </span>
          ) : null}
          {drawn.words}
        </span>
      ) : null}
      {gateAt ? <Gates at={gateAt} gates={gates} drawn={drawn} edge={edge} near={near} chosen={chosenGate} /> : null}
      {endlessAt ? (
        <span className="ed-endless" data-rule={id} title={say("noLimitWhy")} style={at(endlessAt[0], endlessAt[1])}>
          <Icon name="warning" size={near ? 12 : 20} /> {near ? say("noLimit") : null}
        </span>
      ) : null}
      {limit && limitAt && near ? (
        <span className="ed-limit" data-rule={id} title={limit.words} style={at(limitAt[0], limitAt[1])}>
          <Icon name="limit" size={12} /> {say("atMost", String(limit.most))}
        </span>
      ) : null}
      {stubs.map((stub) => (
        <StubPill key={stub.target} stub={stub} rule={id} label={label} />
      ))}
    </>
  );
});

const at = (x: number, y: number) => ({ transform: `translate(${x}px, ${y}px)` });

interface GateShown {
  at: Point;
  gates: readonly GateMark[];
  drawn: Drawn;
  edge: string;
  near: boolean;
  chosen: string | undefined;
}

/** A hexagon on the edge; of several the first stands on top, and their number beside its name. */
function Gates({ at: [x, y], gates, drawn: { id: rule, rules, gateRows, rejects }, edge, near, chosen }: GateShown) {
  const path = useContext(GatePath);
  const mark = rules.map((id) => path?.[id]).find((each) => each !== undefined);
  const chosenGate = gates.find((gate) => gate.key === chosen) ?? gates[0];
  if (!chosenGate) return null;
  const names = gates.map((gate) => gate.name).join(", ");
  return (
    <button
      type="button"
      className="ed-gate nodrag nopan"
      data-gate={chosenGate.key}
      data-edge={edge}
      data-rule={rule}
      data-chosen={gates.some((gate) => gate.key === chosen) || undefined}
      data-unknown={gates.some((gate) => !gate.known) || undefined}
      data-many={gates.length > 1 || undefined}
      data-rejects={rejects || undefined}
      data-state={mark?.state}
      title={names}
      aria-label={[say("ruleGate", names), mark?.words].filter(Boolean).join(", ")}
      style={{ ...at(x, y), "--gate-rows": near ? gateRows.length : 0 } as CSSProperties}
    >
      <span className="ed-hexagon">
        <Icon name={`gate-${chosenGate.mode}`} size={14} />
      </span>
      {near && gates.length > 1 ? <span className="ed-gate-count">{gates.length}</span> : null}
      {near ? <span className="ed-gate-name">{gateRows.join("\n")}</span> : null}
      {mark ? <Over mark={mark} /> : null}
    </button>
  );
}

function StubPill({ stub, rule, label }: { stub: Stub; rule: string; label: string }) {
  return (
    <button
      type="button"
      tabIndex={-1}
      className="ed-stub nodrag nopan"
      data-edge={edgeId(rule, stub.target)}
      data-rule={rule}
      data-stub={stub.target}
      data-kind={stub.kind}
      title={[label, stub.title].filter(Boolean).join(" → ")}
      style={{ ...at(stub.x, stub.y), maxWidth: stub.width }}
    >
      <Icon name={stub.icon} size={12} />
      <span>{cut(stub.name)}</span>
    </button>
  );
}

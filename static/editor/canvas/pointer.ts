/** Drawing rules with the mouse: from a station's dashed circle a new rule, from a number one more target of it, from the
 * grip at the end of a branch to another target, or off it. Let go where nothing is: the list of targets. */
import type { ReactFlowInstance } from "@xyflow/react";
import { type PointerEvent, useRef, useState } from "react";

import { announce } from "../../ts/dom";
import type { Point } from "../drawing/types";
import { say } from "../shell/words";
import * as commands from "../store/commands";
import { addTarget, removeTarget } from "../store/commands-canvas";
import { endOf, ruleOf, stationOf, targetsOf } from "../store/document";
import type { Editor } from "../store/store";
import type { DropPoint } from "./connecting";
import type { AnyNode, RuleEdge } from "./flow";

interface Held {
  station: string;
  /** Undefined: a rule that is not there yet. */
  rule: string | undefined;
  /** The branch that is held at its end. */
  target: string | undefined;
  from: Point;
  begin: Point;
  moved: boolean;
}

const STILL = 4;

export function useDrawing(
  editor: Editor,
  flow: ReactFlowInstance<AnyNode, RuleEdge>,
  mayEdit: boolean,
  openTargets: (station: string, at?: DropPoint) => void,
) {
  const grabbed = useRef<Held | undefined>(undefined);
  const [drawing, setDrawing] = useState<{ from: Point; to: Point; fresh: boolean }>();
  const [holding, setHolding] = useState(false);

  const down = (event: PointerEvent<HTMLElement>): void => {
    const grip = event.button === 0 && mayEdit ? heldAt(event.target as Element, editor) : undefined;
    if (!grip) return;
    const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    grabbed.current = { ...grip, from: [at.x, at.y], begin: [event.clientX, event.clientY], moved: false };
    setHolding(true);
    event.currentTarget.setPointerCapture(event.pointerId);
    event.stopPropagation();
  };

  const move = (event: PointerEvent<HTMLElement>): void => {
    const now = grabbed.current;
    if (!now) return;
    now.moved ||= Math.hypot(event.clientX - now.begin[0], event.clientY - now.begin[1]) > STILL;
    if (!now.moved) return;
    const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const onto = partAt(event.clientX, event.clientY);
    setDrawing({ from: now.from, to: [x, y], fresh: !onto && now.rule === undefined });
    mark(onto);
  };

  const up = (event: PointerEvent<HTMLElement>): void => {
    const now = grabbed.current;
    if (!now) return;
    release();
    const place = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const at: DropPoint = { screen: [event.clientX, event.clientY], canvas: [place.x, place.y] };
    if (now.moved)
      letGo(editor, now, partAt(event.clientX, event.clientY)?.dataset.id, (station) => openTargets(station, at));
    else if (now.rule) editor.select({ keys: [now.station], rule: now.rule });
    else openTargets(now.station);
  };

  const release = (): void => {
    grabbed.current = undefined;
    setHolding(false);
    setDrawing(undefined);
    mark(undefined);
  };

  return {
    drawing,
    /** True while the button is down on a port or a grip. */
    holding,
    handlers: { onPointerDownCapture: down, onPointerMove: move, onPointerUp: up, onPointerCancel: release },
  };
}

function heldAt(target: Element, editor: Editor): Pick<Held, "station" | "rule" | "target"> | undefined {
  const port = target.closest<HTMLElement>("[data-port]");
  if (port) {
    const station = port.closest<HTMLElement>(".react-flow__node")?.dataset.id ?? "";
    const rule = port.dataset.port === "@new" ? undefined : port.dataset.port;
    return { station, rule, target: undefined };
  }
  const grip = target.closest<SVGElement>("[data-grip]");
  const rule = grip?.closest<SVGElement>("[data-rule]")?.dataset.rule;
  const ofRule = rule === undefined ? undefined : ruleOf(editor.line, rule);
  return ofRule && grip ? { station: ofRule.station.key, rule, target: grip.dataset.grip } : undefined;
}

const partAt = (x: number, y: number): HTMLElement | undefined =>
  document.elementFromPoint(x, y)?.closest<HTMLElement>(".react-flow__node") ?? undefined;

/** Shows where it would be dropped. */
export function mark(part: Element | undefined): void {
  for (const target of document.querySelectorAll("[data-drop]"))
    if (target !== part) target.removeAttribute("data-drop");
  part?.setAttribute("data-drop", "");
}

function letGo(
  editor: Editor,
  { station, rule, target }: Held,
  onto: string | undefined,
  openTargets: (station: string) => void,
): void {
  const { line } = editor;
  const known =
    onto !== undefined && (stationOf(line, onto) !== undefined || endOf(line, onto) !== undefined) ? onto : undefined;
  if (rule === undefined) {
    if (known) editor.run(commands.connect(station, known));
    else openTargets(station);
    return;
  }
  if (target === undefined) {
    if (known) editor.run(addTarget(rule, known));
    return;
  }
  if (known && known !== target) editor.run(commands.retarget(rule, target, known));
  else if (!known && targetsOf(ruleOf(line, rule)?.rule ?? { id: rule }).length > 1)
    editor.run(removeTarget(rule, target));
  else if (!known) announce(say("lastTarget"));
}

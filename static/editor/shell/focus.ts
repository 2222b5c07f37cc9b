/** Where the focus of the keyboard stands on the page of the editor, and how it gets there. */
import type { ReactFlowInstance } from "@xyflow/react";
import { type AnyNode, edgesOf, type RuleEdge } from "../canvas/flow";
import { gliding } from "../canvas/gliding";
import { START_ID } from "../canvas/layout";
import type { Spot } from "../canvas/walking";
import { ruleOf, stationOf } from "../store/document";
import type { Editor } from "../store/store";

type Flow = ReactFlowInstance<AnyNode, RuleEdge>;

const FOCUSABLE =
  'a[href], button:not([disabled]), input:not([disabled]):not([type=hidden]), select:not([disabled]), textarea:not([disabled]), summary, [tabindex]:not([tabindex="-1"])';
/** In the order in which F6 visits them. */
const REGIONS = [
  ".editor-bar",
  ".ed-conflict",
  ".ed-test",
  ".ed-palette",
  ".ed-canvas",
  ".ed-inspector",
  ".ed-inspector-rail",
  ".ed-code",
  ".ed-problems",
  ".ed-promises",
];

export const canvas = (): HTMLElement | null => document.querySelector<HTMLElement>(".ed-canvas");

/** Nothing has the focus: the keys go to the canvas, which is what the page is for. */
export const onCanvas = (target: EventTarget | null): boolean =>
  target === document.body ||
  (target instanceof Element && target.closest(".ed-canvas .react-flow, .ed-canvas:focus") !== null);

export function elementOf(spot: Spot): HTMLElement | SVGElement | null {
  return document.querySelector(`.ed-canvas .react-flow__${spot.kind}[data-id="${CSS.escape(spot.id)}"]`);
}

/** The node or edge with the focus; without one, what is chosen. */
export function spotNow(editor: Editor): Spot | undefined {
  const part = document.activeElement?.closest<HTMLElement>(".react-flow__node, .react-flow__edge");
  const id = part?.getAttribute("data-id");
  if (part && id) return { kind: part.classList.contains("react-flow__node") ? "node" : "edge", id };
  return spotOfChoice(editor);
}

export function spotOfChoice(editor: Editor): Spot | undefined {
  const { keys, rule } = editor.state.selection;
  if (rule) {
    const edge = document.querySelector(`.react-flow__edge[data-id^="${CSS.escape(rule)}>"]`)?.getAttribute("data-id");
    if (edge) return { kind: "edge", id: edge };
  }
  return keys[0] === undefined ? undefined : { kind: "node", id: keys[0] };
}

/** Chooses a node or an edge, brings it into view and gives it the focus. */
export function goTo(editor: Editor, flow: Flow, spot: Spot): void {
  choose(editor, spot);
  bringIntoView(editor, flow, spot);
  whenDrawn(spot, (element) => element.focus({ preventScroll: true }));
}

export function choose(editor: Editor, spot: Spot): void {
  if (spot.kind === "node") {
    editor.select(spot.id === START_ID ? { keys: [], part: "inputs" } : { keys: [spot.id] });
    return;
  }
  const edge = edgesOf(editor.line, editor.state.findings).find((each) => each.id === spot.id);
  const ofRule = edge?.rule ? ruleOf(editor.line, edge.rule) : undefined;
  if (edge && ofRule) editor.select({ keys: [ofRule.station.key], rule: edge.rule });
  else if (edge && stationOf(editor.line, edge.source)) editor.select({ keys: [edge.source], part: "rules" });
}

/** Room for what lies over the canvas above and below, and beside it some air. */
const [ABOVE, BESIDE] = [64, 24];

/** The least that the canvas has to move for a node just out of view; undefined where it is far, or too small to be read. */
function leastMove(flow: Flow, node: AnyNode, pane: DOMRect): { x: number; y: number } | undefined {
  const zoom = flow.getZoom();
  const { x, y } = flow.flowToScreenPosition(node.position);
  const least = (from: number, to: number, first: number, last: number): number =>
    from < first ? first - from : to > last ? last - to : 0;
  const by = {
    x: least(x, x + (node.width ?? 0) * zoom, pane.left + BESIDE, pane.right - BESIDE),
    y: least(y, y + (node.height ?? 0) * zoom, pane.top + ABOVE, pane.bottom - ABOVE),
  };
  const isNear = Math.abs(by.x) < pane.width / 2 && Math.abs(by.y) < pane.height / 2;
  return isNear && zoom >= 0.5 ? by : undefined;
}

/** Moves the canvas, if it has to, until this is in view: as little as that takes, so that nobody loses their place. */
export function bringIntoView(editor: Editor, flow: Flow, spot: Spot): void {
  const element = elementOf(spot);
  const pane = canvas()?.getBoundingClientRect();
  const box = element?.getBoundingClientRect();
  if (
    pane &&
    box &&
    box.left >= pane.left &&
    box.right <= pane.right &&
    box.top >= pane.top &&
    box.bottom <= pane.bottom
  )
    return;
  const edges = spot.kind === "edge" ? edgesOf(editor.line, editor.state.findings) : [];
  const edge = edges.find((each) => each.id === spot.id);
  if (edge && element) return;
  const node = flow.getNode(edge ? edge.source : spot.id);
  if (!node) return;
  const by = pane && leastMove(flow, node, pane);
  if (by) {
    const { x, y, zoom } = flow.getViewport();
    void flow.setViewport({ x: x + by.x, y: y + by.y, zoom }, { duration: element ? gliding() : 0 });
    return;
  }
  // What is out of view may not be drawn at all: there it must not glide, or there is nothing to give the focus to.
  void flow.setCenter(node.position.x + (node.width ?? 0) / 2, node.position.y + (node.height ?? 0) / 2, {
    zoom: Math.max(flow.getZoom(), 0.5),
    duration: element ? gliding() : 0,
  });
}

function whenDrawn(spot: Spot, then: (element: HTMLElement | SVGElement) => void, tries = 12): void {
  const element = elementOf(spot);
  if (element) then(element);
  else if (tries > 0) requestAnimationFrame(() => whenDrawn(spot, then, tries - 1));
}

/** Unless the focus has gone elsewhere meanwhile. */
function whenFocusable(spot: Spot, held: Element | null, tries = 600): void {
  requestAnimationFrame(() => {
    const now = document.activeElement;
    if (now !== held && now !== document.body && now !== canvas()) return;
    const element = elementOf(spot);
    element?.focus({ preventScroll: true });
    if (tries > 0 && (!element || document.activeElement !== element)) whenFocusable(spot, held, tries - 1);
  });
}

/** Back from a panel to what is chosen on the canvas, or to the canvas itself; of an empty line to what begins it. */
export function backToCanvas(editor: Editor): void {
  const spot = spotOfChoice(editor);
  const element = spot && elementOf(spot);
  const first = document.querySelector<HTMLElement>(".ed-canvas .ed-empty button");
  (element ?? first ?? canvas())?.focus({ preventScroll: true });
  // What was just made is drawn when its layout is there, and hidden until it was measured.
  if (spot?.kind === "node" && document.activeElement !== element) whenFocusable(spot, document.activeElement);
}

/** Into the inspector: to the open rule, else to its tabs, else to its first control. At once, so that the next key counts
 * there; one that was folded is there a frame later. */
export function intoInspector(): void {
  const go = (): boolean => {
    const first = firstOf(document.querySelector(".ed-inspector"));
    first?.focus();
    return first !== undefined;
  };
  if (!go()) requestAnimationFrame(go);
}

/** Into this field of a form, once the server has drawn it; unless the focus has gone elsewhere meanwhile. */
export function intoField(name: string, held = document.activeElement, tries = 600): void {
  requestAnimationFrame(() => {
    const now = document.activeElement;
    if (now !== held && now !== document.body) return;
    const block = document.querySelector(`.ed-inspector [data-name="${CSS.escape(name)}"]`);
    const control = block?.querySelector<HTMLElement>("textarea, select, input:not([type=hidden])");
    if (control) control.focus();
    else if (tries > 0) intoField(name, held, tries - 1);
  });
}

/** Into this list of a form, unfolded, once the server has drawn it; unless the focus has gone elsewhere meanwhile. */
export function intoList(name: string, held = document.activeElement, tries = 600): void {
  requestAnimationFrame(() => {
    const now = document.activeElement;
    if (now !== held && now !== document.body) return;
    const section = document.querySelector(`.ed-inspector [data-list="${CSS.escape(name)}"]`)?.closest("details");
    if (section) {
      section.open = true;
      section.querySelector("summary")?.focus();
      section.scrollIntoView({ block: "nearest" });
    } else if (tries > 0) intoList(name, held, tries - 1);
  });
}

/** Where the keyboard begins in a part of the page. */
export function firstOf(part: Element | null | undefined): HTMLElement | undefined {
  const inspector = part?.matches(".ed-inspector") ? part : undefined;
  return (
    inspector?.querySelector<HTMLElement>(".ed-rule[data-open] .ed-rule-head") ??
    inspector?.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]') ??
    (part instanceof HTMLElement && part.matches(FOCUSABLE) && isShown(part) ? part : undefined) ??
    [...(part?.querySelectorAll<HTMLElement>(FOCUSABLE) ?? [])].find(isShown)
  );
}

export const isShown = (element: Element): boolean => element.isConnected && element.getClientRects().length > 0;

export function intoPalette(): void {
  document.getElementById("ed-search")?.focus();
}

/** To the next or previous area of the page; on the canvas to what is chosen there. */
export function toRegion(editor: Editor, by: 1 | -1): void {
  const there = REGIONS.map((each) => document.querySelector<HTMLElement>(each)).filter(
    (each): each is HTMLElement => each !== null && each.getClientRects().length > 0,
  );
  const now = there.findIndex((each) => each.contains(document.activeElement));
  const region = there[now < 0 ? (by > 0 ? 0 : there.length - 1) : (now + by + there.length) % there.length];
  if (!region) return;
  if (region.matches(".ed-canvas")) backToCanvas(editor);
  else (region.querySelector<HTMLElement>(FOCUSABLE) ?? region).focus();
}

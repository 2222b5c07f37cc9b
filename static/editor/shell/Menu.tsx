import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { START_ID } from "../canvas/layout";
import type { Spot } from "../canvas/walking";
import { ruleOf, stationOf } from "../store/document";
import { partName, ruleName } from "../store/names";
import { ACTIONS, possible } from "./actions";
import type { Action, Desk, Place } from "./desk";
import { backToCanvas, choose, elementOf, spotNow } from "./focus";
import { Icon } from "./Icon";
import { shown } from "./keystrokes";
import { say } from "./words";

export interface MenuAt {
  x: number;
  y: number;
  place: Place;
}

const EDGE = 8;

/** What can be done with what it was opened on: by the right button, by Shift+F10, by the key for it. */
export function ContextMenu({ desk, at, close }: { desk: Desk; at: MenuAt; close(): void }) {
  const menu = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = menu.current;
    if (!element) return;
    element.showPopover();
    const box = element.getBoundingClientRect();
    element.style.left = `${Math.max(EDGE, Math.min(at.x, window.innerWidth - box.width - EDGE))}px`;
    element.style.top = `${Math.max(EDGE, Math.min(at.y, window.innerHeight - box.height - EDGE))}px`;
    element.querySelector<HTMLElement>(".menu-item")?.focus();
  }, [at]);
  useEffect(() => {
    const outside = (event: PointerEvent): void => {
      if (!menu.current?.contains(event.target as Node)) close();
    };
    document.addEventListener("pointerdown", outside);
    window.addEventListener("blur", close);
    return () => {
      document.removeEventListener("pointerdown", outside);
      window.removeEventListener("blur", close);
    };
  }, [close]);
  // The list of the phone has a button of its own for it; on the canvas the place itself gets the focus back.
  const [opener] = useState(() => document.activeElement);
  const leave = (): void => {
    close();
    if (opener instanceof HTMLElement && opener.closest(".ed-outline-list") && opener.isConnected) opener.focus();
    else backToCanvas(desk.editor);
  };
  const actions = ACTIONS.filter((each) => each.on?.includes(at.place) && possible(each, desk));
  return (
    // Manual: the browser would take the right button going up for a click beside it.
    <div
      ref={menu}
      className="menu"
      popover="manual"
      role="menu"
      aria-label={say("actionsFor", named(desk, at.place))}
      onKeyDown={(event) => {
        if (event.key !== "Escape" && event.key !== "Tab") return;
        event.preventDefault();
        event.stopPropagation();
        leave();
      }}
      onContextMenu={(event) => event.preventDefault()}
    >
      {actions.map((each, index) => (
        <Item
          key={each.id}
          {...{ each, line: index > 0 && actions[index - 1]?.group !== each.group }}
          run={() => {
            leave();
            each.run(desk);
          }}
        />
      ))}
      {actions.length === 0 ? <p className="menu-label">{say("nothingToDo")}</p> : null}
    </div>
  );
}

function Item({ each, line, run }: { each: Action; line: boolean; run(): void }) {
  return (
    <>
      {line ? <div className="menu-line" role="separator" /> : null}
      <button
        type="button"
        className={`menu-item${each.danger ? " menu-item-danger" : ""}`}
        role="menuitem"
        tabIndex={-1}
        onClick={run}
      >
        {each.icon ? <Icon name={each.icon} /> : <span className="ed-no-icon" />}
        <span>{say(each.word)}</span>
        {each.keys[0] ? (
          // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a kbd takes no focus.
          <kbd className="key" aria-hidden="true">
            {shown(each.keys[0])}
          </kbd>
        ) : null}
      </button>
    </>
  );
}

function named({ editor }: Desk, place: Place): string {
  const { keys, rule } = editor.state.selection;
  if (place === "canvas") return say("canvas");
  if (rule && ruleOf(editor.line, rule)) return ruleName(editor.line, rule);
  return partName(editor.line, keys[0] ?? "");
}

/** Chooses what the menu was asked for, and says where it opens. Undefined: not on the canvas. */
export function menuAt(desk: Desk, event: MouseEvent): MenuAt | undefined {
  const target = event.target instanceof Element ? event.target : null;
  if (!target?.closest(".ed-canvas .react-flow")) return undefined;
  const part = target.closest(".react-flow__node, .react-flow__edge, [data-edge]");
  const id = part?.getAttribute("data-id") ?? part?.getAttribute("data-edge");
  if (!part || !id || id === START_ID || target.closest(".react-flow__minimap"))
    return { x: event.clientX, y: event.clientY, place: "canvas" };
  const spot: Spot = { kind: part.matches(".react-flow__node") ? "node" : "edge", id };
  const many = desk.editor.state.selection.keys;
  if (!(spot.kind === "node" && many.length > 1 && many.includes(id))) choose(desk.editor, spot);
  const gate = target.closest("[data-gate]")?.getAttribute("data-gate");
  if (gate) desk.editor.select({ ...desk.editor.state.selection, gate });
  return { x: event.clientX, y: event.clientY, place: gate ? "gate" : placeOf(desk, spot) };
}

/** For the keyboard: at what has the focus. */
export function menuHere(desk: Desk): MenuAt {
  const spot = spotNow(desk.editor);
  const box =
    (spot && elementOf(spot))?.getBoundingClientRect() ?? document.querySelector(".ed-canvas")?.getBoundingClientRect();
  const x = box ? box.left + box.width / 2 : 0;
  const y = box ? box.top + box.height / 2 : 0;
  return { x, y, place: spot && spot.id !== START_ID ? placeOf(desk, spot) : "canvas" };
}

function placeOf({ editor }: Desk, spot: Spot): Place {
  if (spot.kind === "edge") return "rule";
  return stationOf(editor.line, spot.id) ? "station" : "end";
}

/** Rows that are moved by their handle: pointer events, so a finger moves them as a mouse does. */
import { type PointerEvent, type RefObject, useEffect, useRef, useState } from "react";

const EDGE = 32;
const STEP = 8;

interface Reordering {
  /** Id of the row that is moved. */
  dragged: string | undefined;
  /** The gap over which it hangs: before the row with this index, or after the last. */
  drop: number | undefined;
  grip(id: string): { onPointerDown(event: PointerEvent<HTMLElement>): void };
}

/** `list` holds the rows, each with `data-rule`; `moved` gets the id and its new place among the others. */
export function useReordering(
  list: RefObject<HTMLElement | null>,
  moved: (id: string, index: number) => void,
): Reordering {
  const [state, setState] = useState<{ id: string; drop: number }>();
  const stop = useRef<() => void>(undefined);
  useEffect(() => () => stop.current?.(), []);

  const grip = (id: string) => ({
    onPointerDown: (event: PointerEvent<HTMLElement>): void => {
      if (event.button !== 0 || !list.current) return;
      event.preventDefault();
      event.currentTarget.focus();
      stop.current?.();
      stop.current = follow(list.current, id, (drop) => setState(drop === undefined ? undefined : { id, drop }), moved);
    },
  });
  return { dragged: state?.id, drop: state?.drop, grip };
}

/** Until the pointer is let go, or Escape takes the move back. */
function follow(
  list: HTMLElement,
  id: string,
  show: (drop: number | undefined) => void,
  moved: (id: string, index: number) => void,
): () => void {
  const rows = (): HTMLElement[] => [...list.querySelectorAll<HTMLElement>("[data-rule]")];
  const from = rows().findIndex((row) => row.dataset.rule === id);
  const scroller = scrolling(list);
  let drop = from;
  let y = 0;
  let frame = 0;

  const look = (): void => {
    drop = rows().filter((row) => middle(row) < y).length;
    show(drop);
  };
  const move = (event: globalThis.PointerEvent): void => {
    y = event.clientY;
    look();
    if (!frame) frame = window.requestAnimationFrame(scroll);
  };
  const scroll = (): void => {
    frame = 0;
    const box = scroller.getBoundingClientRect();
    const by = y < box.top + EDGE ? -STEP : y > box.bottom - EDGE ? STEP : 0;
    const before = scroller.scrollTop;
    scroller.scrollTop += by;
    if (scroller.scrollTop === before) return;
    look();
    frame = window.requestAnimationFrame(scroll);
  };
  const end = (): void => {
    window.cancelAnimationFrame(frame);
    document.removeEventListener("pointermove", move);
    document.removeEventListener("pointerup", up);
    document.removeEventListener("pointercancel", end);
    document.removeEventListener("keydown", key, true);
    show(undefined);
  };
  const up = (): void => {
    end();
    const to = drop > from ? drop - 1 : drop;
    if (to !== from) moved(id, to);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    end();
  };
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerup", up);
  document.addEventListener("pointercancel", end);
  document.addEventListener("keydown", key, true);
  return end;
}

function middle(row: HTMLElement): number {
  const box = row.getBoundingClientRect();
  return box.top + box.height / 2;
}

function scrolling(element: HTMLElement): HTMLElement {
  let row: HTMLElement | null = element;
  while (row && row.scrollHeight <= row.clientHeight + 1) row = row.parentElement;
  return row ?? document.documentElement;
}

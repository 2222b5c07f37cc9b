/** How near the canvas is: far away a station is its name, and nothing that could not be read is drawn. */
import { getViewportForBounds, type ReactFlowState, useStore, type Viewport } from "@xyflow/react";
import { type CSSProperties, createContext, useContext, useMemo } from "react";
import { type Away, namesSize } from "../drawing/text";
import type { Rect } from "../drawing/types";
import { type LineDocument, nameOf } from "../store/document";
import type { Box } from "./layout";
import type { Size } from "./Measured";

export type Level = "near" | "middle" | "far";

/** Nearer than this the words of a line are read. */
const READ = 0.66;
/** Pixels on the screen that no letter is smaller than. */
const LEGIBLE = 10;

export const levelOf = (zoom: number): Level => (zoom >= READ ? "near" : zoom >= 0.3 ? "middle" : "far");

const RANKS: Record<Level, number> = { near: 0, middle: 1, far: 2 };
/** The more, the less is drawn. */
export const rankOf = (zoom: number): number => RANKS[levelOf(zoom)];

/** Pixels of the canvas that can just be read at this zoom; in steps, since every letter changes with it: fine ones where
 * words have to keep to their room. */
export function leastOf(zoom: number): number {
  const steps = zoom >= READ ? 16 : 4;
  // At full size all letters are larger than that: nearer nothing changes.
  const nearest = 2 ** (Math.floor(Math.log2(Math.min(1, zoom)) * steps) / steps);
  return Math.ceil((LEGIBLE / nearest) * 10) / 10;
}

interface Zoomed {
  className: string;
  style: CSSProperties;
}

/** What the style sheet has to know of the zoom: the least letter, those of names, and what there is no room for. */
export function useZoomed(line: LineDocument, boxes: readonly Box[], zoom: number): Zoomed {
  const rooms = useMemo(() => roomsOf(line, boxes), [line, boxes]);
  const looks = looksOf(zoom);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `looks` says all that matters of `zoom`.
  return useMemo(
    () => ({
      className: `${zoom < SMALL ? " ed-small" : ""}${zoom < TINY ? " ed-tiny" : ""}`,
      style: {
        "--least": `${leastOf(zoom)}px`,
        "--room-middle": `${rooms.middle}px`,
        "--room-far": `${rooms.far}px`,
      } as CSSProperties,
    }),
    [looks, rooms],
  );
}

/** All that is told of a zoom: two of which this is the same are drawn alike. */
export const looksOf = (zoom: number): string => [levelOf(zoom), leastOf(zoom), zoom < SMALL, zoom < TINY].join(" ");

function roomsOf(line: LineDocument, boxes: readonly Box[]): Record<Away, number> {
  const names = new Map(line.stations.map((station) => [station.key, nameOf(station)]));
  const cards = boxes.flatMap((box) => {
    const name = names.get(box.key);
    return name === undefined || box.bar ? [] : [{ ...box, name }];
  });
  return { middle: namesSize(cards, "middle"), far: namesSize(cards, "far") };
}

/** From here on an end has room for its sign, not for its name, and a station for its name, not for its kind. */
const SMALL = 0.45;
/** From here on a name is only its beginning. */
const TINY = 0.2;

export const LevelContext = createContext<Level>("near");
export const useLevel = (): Level => useContext(LevelContext);

const TILE = 640;

/** What is in view, in whole tiles with one to spare: it changes seldom while the canvas is moved. */
export function useView(cull: boolean): string {
  return useStore((state: ReactFlowState) => {
    if (!cull || state.width === 0) return "";
    const [x, y, zoom] = state.transform;
    const tile = TILE / Math.max(zoom, 0.25);
    const tiles = [
      -x / zoom / tile - 0.5,
      -y / zoom / tile - 0.5,
      (state.width - x) / zoom / tile + 0.5,
      (state.height - y) / zoom / tile + 0.5,
    ];
    return tiles.map((each, index) => (index < 2 ? Math.floor(each) : Math.ceil(each)) * tile).join(" ");
  });
}

interface Clear {
  side: number;
  top: number;
  bottom: number;
}

export function whole(bounds: Rect, { width, height }: Size, { side, top, bottom }: Clear): Viewport {
  return getViewportForBounds(bounds, width, height, 0.1, 1, {
    x: `${side}px`,
    top: `${top}px`,
    bottom: `${bottom}px`,
  });
}

/** What is seen at first: all of it where that can be read; else all its width, as a page is read from above. */
export function opening(bounds: Rect, size: Size, clear: Clear): Viewport {
  const all = whole(bounds, size, clear);
  const zoom = Math.min(1, (size.width - 2 * clear.side) / bounds.width);
  if (all.zoom >= READ || zoom < READ) return all;
  return { x: (size.width - bounds.width * zoom) / 2 - bounds.x * zoom, y: clear.top - bounds.y * zoom, zoom };
}

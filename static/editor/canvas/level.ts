/** How near the canvas is: far away a station is its name, and nothing that could not be read is drawn. */
import { getViewportForBounds, type ReactFlowState, useStore, type Viewport } from "@xyflow/react";
import { createContext, useContext } from "react";
import type { Rect } from "../drawing/types";
import type { Size } from "./Measured";

export type Level = "near" | "middle" | "far";

export const levelOf = (zoom: number): Level => (zoom >= 0.55 ? "near" : zoom >= 0.3 ? "middle" : "far");

export const useZoomLevel = (): Level => useStore((state: ReactFlowState) => levelOf(state.transform[2]));

/** So far away that a name is read only in the largest letters. */
export const useTiny = (): boolean => useStore((state: ReactFlowState) => state.transform[2] < 0.2);

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

/** Nearer than this its words are read. */
const READ = 0.66;

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

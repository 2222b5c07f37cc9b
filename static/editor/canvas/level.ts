/** How near the canvas is: far away a station is its name, and nothing that could not be read is drawn. */
import { type ReactFlowState, useStore } from "@xyflow/react";
import { createContext, useContext } from "react";

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

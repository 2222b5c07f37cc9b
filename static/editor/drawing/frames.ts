/** The frames in which lines are laid out: one that is wide, and one for narrow screens. A line stands the same on every page and on
 * the canvas, and what the server has laid out is taken as it is. */
import type { Placed } from "./types";

/** Room of each: of a page, and from above to below of places that are narrower than `NARROW`. */
export const WINDOWS = { wide: [1080, 480], narrow: [320, 480] } as const;
const NARROW = 600;
export type Frame = keyof typeof WINDOWS;

/** `key`: of the graph that was laid out. */
export interface Geometry {
  key: string;
  placed: Placed;
}

export type Stored = Record<Frame, Geometry>;

export const frameFor = (width: number): Frame => (width < NARROW ? "narrow" : "wide");

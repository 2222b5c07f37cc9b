/** The sides of the page: how large they are, and which are folded away. Kept in the browser, for every line. */
import { useCallback, useEffect, useState } from "react";

export type Side = "palette" | "inspector" | "problems";

interface Sides {
  /** In pixels; absent: as the style sheet has it. */
  size: Partial<Record<Side, number>>;
  folded: Partial<Record<Side, boolean>>;
}

export const LIMITS: Record<Side, [least: number, most: number]> = {
  palette: [144, 360],
  inspector: [280, 720],
  problems: [80, 480],
};
const PLACE = "gateline editor sides";

/** Width of a page, in pixels, from which the palette has its names where nobody chose. */
const ROOMY = 1600;

function remembered(): Sides {
  try {
    const stored = JSON.parse(localStorage.getItem(PLACE) ?? "{}") as Partial<Sides>;
    return { size: stored.size ?? {}, folded: { palette: window.innerWidth < ROOMY, ...stored.folded } };
  } catch {
    return { size: {}, folded: {} };
  }
}

export interface SidesState extends Sides {
  resize(side: Side, to: number | undefined): void;
  fold(side: Side, open?: boolean): void;
}

export function useSides(): SidesState {
  const [sides, setSides] = useState(remembered);
  useEffect(() => {
    try {
      localStorage.setItem(PLACE, JSON.stringify(sides));
    } catch {
      // A browser without room: the page is as it is until it is left.
    }
  }, [sides]);
  const resize = useCallback((side: Side, to: number | undefined) => {
    const [least, most] = LIMITS[side];
    setSides((now) => {
      const { [side]: _, ...others } = now.size;
      return {
        ...now,
        size: to === undefined ? others : { ...others, [side]: Math.min(most, Math.max(least, Math.round(to))) },
      };
    });
  }, []);
  const fold = useCallback(
    (side: Side, open?: boolean) =>
      setSides((now) => ({
        ...now,
        folded: { ...now.folded, [side]: open === undefined ? !now.folded[side] : !open },
      })),
    [],
  );
  return { ...sides, resize, fold };
}

/** As the style sheet switches to the outline: below 900 px. */
const NARROW = "(max-width: 56.24rem)";

export const useNarrow = (): boolean => useMedia(NARROW);

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const media = window.matchMedia(query);
    const changed = (): void => setMatches(media.matches);
    changed();
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [query]);
  return matches;
}

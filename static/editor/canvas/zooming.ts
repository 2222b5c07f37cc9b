/** The zoom by which the canvas is drawn, which comes after the zoom at which it is seen: with each step every letter of the
 * canvas is measured and painted anew, and with each level what hundreds of cards say. */
import { useStoreApi } from "@xyflow/react";
import { useCallback, useDeferredValue, useState, useSyncExternalStore } from "react";
import { looksOf, rankOf } from "./level";

/** Milliseconds after which the zoom stands still. */
const STILL = 150;
/** Milliseconds after which a zoom that goes on is followed all the same. */
const MOST = 500;

/** Runs it so many milliseconds later, unless it is called off by what it gives. */
export type Later = (run: () => void, after: number) => () => void;

const byClock: Later = (run, after) => {
  const timer = window.setTimeout(run, after);
  return () => window.clearTimeout(timer);
};

/** A first step is followed at once, and those after it when the zoom stands still. Where the canvas goes so far away that
 * less of it is drawn it is followed at once, too: cards that come into view then are the small ones. */
export class Zooming {
  drawn: number;
  #seen: number;
  #still: (() => void) | undefined;
  #most: (() => void) | undefined;
  #told = (): void => undefined;

  constructor(
    first: number,
    readonly later: Later = byClock,
  ) {
    this.drawn = first;
    this.#seen = first;
  }

  listen(told: () => void): () => void {
    this.#told = told;
    return () => {
      this.#told = () => undefined;
      this.#rest();
    };
  }

  /** The canvas is seen at this zoom now. */
  see(zoom: number): void {
    if (zoom === this.#seen) return;
    this.#seen = zoom;
    if (!this.#still || rankOf(zoom) > rankOf(this.drawn)) this.#follow();
    this.#still?.();
    this.#still = this.later(() => {
      this.#rest();
      this.#follow();
    }, STILL);
    this.#most ??= this.later(() => {
      this.#most = undefined;
      this.#follow();
    }, MOST);
  }

  #rest(): void {
    this.#still?.();
    this.#most?.();
    this.#still = undefined;
    this.#most = undefined;
  }

  #follow(): void {
    if (looksOf(this.#seen) === looksOf(this.drawn)) return;
    this.drawn = this.#seen;
    this.#told();
  }
}

/** The zoom by which the canvas is drawn, which opens at `first`. Nearer comes after all else, for hundreds of cards say more
 * then; further away comes with the cards that come into view. */
export function useDrawnZoom(first: number): number {
  const flow = useStoreApi();
  const [zooming] = useState(() => new Zooming(first));
  const listen = useCallback(
    (told: () => void) => {
      const stop = zooming.listen(told);
      // React Flow has taken its first view by now: what is inside is told to listen before what is around it.
      const see = (): void => zooming.see(flow.getState().transform[2]);
      see();
      const leave = flow.subscribe(see);
      return () => {
        leave();
        stop();
      };
    },
    [flow, zooming],
  );
  const drawn = useSyncExternalStore(listen, () => zooming.drawn);
  return Math.min(drawn, useDeferredValue(drawn));
}

import { type ReactNode, startTransition, useLayoutEffect, useRef, useState } from "react";

export interface Size {
  width: number;
  height: number;
}

/** No canvas is smaller: such a place has not got its size yet. */
const LEAST = 100;

/** The place of a canvas, measured before the canvas is drawn in it: how near the whole line is seen decides what is drawn
 * at all. */
export function Measured({ children }: { children: (size: Size) => ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size>();
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const isThere = (): boolean => {
      const { width, height } = element.getBoundingClientRect();
      // In steps of its own: the page answers while a long line is drawn for the first time.
      startTransition(() =>
        setSize((now) => (now?.width === width && now.height === height ? now : { width, height })),
      );
      return width >= LEAST && height >= LEAST;
    };
    if (isThere()) return;
    // The styles may come after the script, as they do in Firefox at times: then it has no height yet.
    const observer = new ResizeObserver(() => {
      if (isThere()) observer.disconnect();
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={place} className="ed-flow">
      {size ? children(size) : null}
    </div>
  );
}

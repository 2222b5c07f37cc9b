import { type ReactNode, useLayoutEffect, useRef, useState } from "react";

export interface Size {
  width: number;
  height: number;
}

/** The place of a canvas, measured before the canvas is drawn in it: how near the whole line is seen decides what is drawn
 * at all. */
export function Measured({ children }: { children: (size: Size) => ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size>();
  useLayoutEffect(() => {
    const box = place.current?.getBoundingClientRect();
    if (box) setSize({ width: box.width, height: box.height });
  }, []);
  return (
    <div ref={place} className="ed-flow">
      {size ? children(size) : null}
    </div>
  );
}

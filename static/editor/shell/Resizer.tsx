import { useRef } from "react";

import { LIMITS, type Side, type SidesState } from "./sides";
import { say } from "./words";

const STEP = 16;
/** Which way is larger: with the pointer to the right (or down), or against it. */
const TOWARDS: Record<Side, 1 | -1> = { palette: 1, inspector: -1, problems: -1 };

/** The edge between two areas: dragged, moved with the arrow keys, put back by a double click. */
export function Resizer({ side, sides, of }: { side: Side; sides: SidesState; of: string }) {
  const from = useRef<{ at: number; size: number } | undefined>(undefined);
  const lies = side === "problems";
  const sizeNow = (): number => {
    const box = document.querySelector(of)?.getBoundingClientRect();
    return (lies ? box?.height : box?.width) ?? 0;
  };
  const [least, most] = LIMITS[side];
  return (
    <div
      className={`ed-resizer ed-resizer-${side}`}
      role="separator"
      tabIndex={0}
      aria-orientation={lies ? "horizontal" : "vertical"}
      aria-label={say(`size_${side}`)}
      aria-valuemin={least}
      aria-valuemax={most}
      aria-valuenow={sides.size[side] ?? Math.round(sizeNow()) ?? least}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { at: lies ? event.clientY : event.clientX, size: sizeNow() };
      }}
      onPointerMove={(event) => {
        if (!from.current) return;
        const moved = (lies ? event.clientY : event.clientX) - from.current.at;
        sides.resize(side, from.current.size + moved * TOWARDS[side]);
      }}
      onPointerUp={() => {
        from.current = undefined;
      }}
      onDoubleClick={() => sides.resize(side, undefined)}
      onKeyDown={(event) => {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        sides.resize(side, sizeNow() + by * STEP * TOWARDS[side]);
      }}
    />
  );
}

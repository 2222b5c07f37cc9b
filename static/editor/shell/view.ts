/** How the line is shown: drawn, written, or both beside each other. Kept in the browser, for every line. */
import { useCallback, useState } from "react";

export type View = "form" | "code" | "both";

export const VIEWS: readonly View[] = ["form", "both", "code"];
const PLACE = "gateline editor view";
/** Room for palette, canvas, text and inspector beside each other. */
export const WIDE = "(min-width: 112rem)";

function remembered(): View {
  try {
    const stored = localStorage.getItem(PLACE) as View | null;
    return stored && VIEWS.includes(stored) ? stored : "form";
  } catch {
    return "form";
  }
}

export function useView(): [View, (view: View) => void] {
  const [view, setView] = useState(remembered);
  const change = useCallback((wanted: View) => {
    setView(wanted);
    try {
      localStorage.setItem(PLACE, wanted);
    } catch {
      // A browser without room: the view is as chosen until the page is left.
    }
  }, []);
  return [view, change];
}

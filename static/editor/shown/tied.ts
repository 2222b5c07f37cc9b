/** Rules in words beside a drawing: a row that has the pointer or the focus marks its edge, an edge its row. */

export interface Shown {
  node: string;
  rule: string | undefined;
}

/** Rows that stand beside the whole line: showing one moves nothing. */
export const NEIGHBOURING_ROWS = ".ruled-rule";
const OF_RULE = ".ed-way[data-rule], .ed-words[data-rule], .ed-gate[data-rule], .ed-limit[data-rule], [data-port]";

const within = (event: Event, wanted: string): HTMLElement | null =>
  event.target instanceof Element ? event.target.closest<HTMLElement>(wanted) : null;

/** Returns what ends it. */
export function tied(show: (shown: Shown | undefined) => void, figure: { current: HTMLElement | null }): () => void {
  const rows = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>(NEIGHBOURING_ROWS)];
  if (rows().length === 0) return () => undefined;
  const stop = new AbortController();
  const on = (name: string, listener: (event: Event) => void): void =>
    document.addEventListener(name, listener, { signal: stop.signal });
  const begin = (event: Event): void => {
    const row = within(event, NEIGHBOURING_ROWS);
    if (row) show({ node: row.dataset.show ?? "", rule: row.dataset.showRule });
    const edge = figure.current?.contains(event.target as Node) ? within(event, OF_RULE) : null;
    const rule = edge?.getAttribute("data-rule") ?? edge?.getAttribute("data-port");
    for (const ruleRow of rows())
      ruleRow.toggleAttribute("data-lit", edge !== null && ruleRow.dataset.showRule === rule);
  };
  const end = (event: Event): void => {
    const left = within(event, NEIGHBOURING_ROWS);
    const to = (event as MouseEvent | FocusEvent).relatedTarget;
    if (left && !(to instanceof Node && left.contains(to))) show(undefined);
  };
  for (const name of ["pointerover", "focusin"]) on(name, begin);
  for (const name of ["pointerout", "focusout"]) on(name, end);
  return () => stop.abort();
}

/** What an action of the editor is, and what it can reach. */
import type { ReactFlowInstance } from "@xyflow/react";
import type { AnyNode, RuleEdge } from "../canvas/flow";
import type { Editor } from "../store/store";
import type { Side } from "./sides";
import type { View } from "./view";
import type { WordName } from "./words";

/** What an action can reach. */
export interface Desk {
  editor: Editor;
  flow: ReactFlowInstance<AnyNode, RuleEdge>;
  mayEdit: boolean;
  urls: Readonly<Record<string, string>>;
  fit(): void;
  /** Opens a panel or dialog of the page by name, closes it with "". */
  open(panel: string): void;
  openMenu(at: { x: number; y: number; place: Place }): void;
  /** Shows or hides a side of the page: "palette", "inspector", "problems". */
  fold(side: Side, open?: boolean): void;
  /** Where a walk with the arrow keys came from, so that left goes back the same way. */
  trail: { from?: string };
  view: View;
  setView(view: View): void;
}

export type Group = "groupChange" | "groupRules" | "groupWalk" | "groupView" | "groupLine";
/** What a context menu was opened on. */
export type Place = "station" | "end" | "rule" | "gate" | "canvas";

export interface Action {
  id: string;
  word: WordName;
  /** As people write them; the first is shown on tools and in menus. */
  keys: readonly string[];
  /** Keys that do the same and are not shown. */
  also?: readonly string[];
  group: Group;
  icon?: string;
  /** The context menus that offer it, in the order of this table. */
  on?: readonly Place[];
  danger?: boolean;
  /** Where its keys count: while the focus is on the canvas, anywhere but in a field (the default), or in fields too. */
  where?: "canvas" | "anywhere" | "always";
  /** The browser itself does it by these keys: they are only shown. */
  native?: boolean;
  /** Not worth a line in the command palette, because it needs the focus where it is. */
  quiet?: boolean;
  /** Changes the line: gone where one may only look. */
  edits?: boolean;
  when?(desk: Desk): boolean;
  run(desk: Desk): void;
}

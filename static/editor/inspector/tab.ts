/** What a tab of the inspector is, and what it is told. */
import type { ComponentType } from "react";
import type { WordName } from "../shell/words";
import type { End, Gate, LineDocument, Station } from "../store/document";
import type { Findings } from "../store/findings";
import type { Editor } from "../store/store";

/** What the inspector is about. Nothing chosen is the line itself. */
export type Chosen =
  | { what: "line" }
  | { what: "station"; station: Station; rule: string | undefined }
  | { what: "gate"; gate: Gate }
  | { what: "end"; end: End }
  | { what: "several"; keys: readonly string[] };

export interface TabProps<C extends Chosen = Chosen> {
  editor: Editor;
  line: LineDocument;
  findings: Findings;
  chosen: C;
  mayEdit: boolean;
}

export interface Tab {
  id: string;
  word: WordName;
  /** Stands for it where the settings are folded. */
  icon: string;
  shows(chosen: Chosen): boolean;
  /** Counts how many there are, beside the word. */
  count?(chosen: Chosen, line: LineDocument): number;
  /** The same, where it does not stand in the line. */
  badge?: ComponentType<{ editor: Editor; line: LineDocument; chosen: Chosen }>;
  component: ComponentType<TabProps>;
}

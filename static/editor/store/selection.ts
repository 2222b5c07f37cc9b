/** What is chosen in the editor. Nothing chosen is the line itself. */
export interface Selection {
  /** Keys of the stations and ends. */
  keys: readonly string[];
  /** Id of a rule. */
  rule?: string;
  /** Key of a gate: the inspector shows it, whatever else is chosen. */
  gate?: string;
  /** A part of what is chosen, which the inspector opens. */
  part?: "configure" | "inputs" | "gates" | "rules";
}

/** What the server says about a draft (`lint` of pipelines/routing): shown here, never worked out here. */
import type { Json } from "./document";

export interface Finding {
  check: string;
  severity: "error" | "warning" | "info";
  path: string;
  message: string;
  hint: string;
  station: string | null;
  rule: string | null;
  rules: string[];
  witness: Json;
  help: string;
}

export interface RuleSays {
  status: "live" | "partly shadowed" | "dead" | "unknown";
  words: string;
  why: string;
  example: string;
}

export interface Findings {
  findings: Finding[];
  rules: Record<string, RuleSays>;
  otherwise: Record<string, string>;
  visits: Record<string, number>;
}

export const NOTHING: Findings = { findings: [], rules: {}, otherwise: {}, visits: {} };

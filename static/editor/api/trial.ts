/** What the server says of a station that is run by itself (pipelines/api/trials.py). */
import type { Json } from "../store/document";

export interface LogLine {
  number: number;
  seconds: number;
  text: string;
}

export interface Trial {
  id: number;
  station: string;
  state: "queued" | "running" | "done" | "cancelled";
  word: string;
  /** How it ended without an outcome. */
  why: string;
  lines: LogLine[];
  next: number;
  complete: boolean;
  outcome: { [key: string]: Json } | null;
  result: string;
  summary: string;
  /** The outcome as JSON, for reading. */
  text: string;
}

/** A run of the station that a task recorded. */
export interface RecordedRun {
  run: number;
  task: string;
  title: string;
  number: number;
  result: string;
}

export interface TrialChoices {
  runs: RecordedRun[];
  newest: Trial | null;
}

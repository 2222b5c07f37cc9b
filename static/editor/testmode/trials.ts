/** One station run by itself: what it is given, and how the run goes. The server runs one of each person at a time; the
 * log is asked for while it runs. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

import { announce } from "../../ts/dom";
import type { Answer } from "../api/door";
import type { LogLine, RecordedRun, Trial } from "../api/trial";
import { say } from "../shell/words";
import type { Json } from "../store/document";
import type { Editor } from "../store/store";

export const FIRST_FIELD = "ed-run-with";
const EVERY = 600;
const WHEN_AWAY = 3_000;

/** What a station gets. `run`: a recorded one; with it what was typed does not count. */
export interface Given {
  run: number | undefined;
  inputs: Record<string, Json>;
  /** Output of earlier stations, as JSON. */
  context: string;
}

export const NOTHING_GIVEN: Given = { run: undefined, inputs: {}, context: "" };

interface State {
  /** By the key of the station. */
  given: Record<string, Given>;
  runs: Record<string, RecordedRun[]>;
  trials: Record<string, Trial>;
  /** Of the log of each trial, as far as it came. */
  logs: Record<number, LogLine[]>;
  /** The station that was asked for, and has no answer yet. */
  asking: string | undefined;
  /** By the key of the station: sentences. */
  refusals: Record<string, string[]>;
}

export const isOpen = (trial: Trial | undefined): boolean => trial?.state === "queued" || trial?.state === "running";

export class Trials {
  readonly store = createStore<State>(() => ({
    given: {},
    runs: {},
    trials: {},
    logs: {},
    asking: undefined,
    refusals: {},
  }));
  #following = 0;
  /** Tells whether its form was asked for by a key, and is not there yet. */
  #wanted = false;

  constructor(private readonly editor: Editor) {}

  get state(): State {
    return this.store.getState();
  }

  wantFocus(): void {
    this.#wanted = true;
    this.takeFocus();
  }

  takeFocus(): void {
    const first = this.#wanted ? document.getElementById(FIRST_FIELD) : null;
    if (!first) return;
    this.#wanted = false;
    first.focus();
  }

  give(station: string, more: Partial<Given>): void {
    const answers = { ...(this.state.given[station] ?? NOTHING_GIVEN), ...more };
    this.store.setState({ given: { ...this.state.given, [station]: answers } });
  }

  /** What tasks recorded of a station, and how its last run went. */
  async load(station: string): Promise<void> {
    const answer = await this.editor.api.trialChoices(station);
    if (answer.is !== "ok") return;
    const { runs, newest } = answer.said;
    this.store.setState({ runs: { ...this.state.runs, [station]: runs } });
    if (newest && this.state.trials[station]?.id !== newest.id) this.#came(newest, newest.lines);
    if (newest && !newest.complete && this.#following !== newest.id) void this.#follow(newest);
  }

  async start(station: string, name: string): Promise<void> {
    const { run, inputs, context } = this.state.given[station] ?? NOTHING_GIVEN;
    const read = contextOf(context);
    if (read === undefined) return this.#refused(station, [say("trialContextBad")]);
    this.store.setState({ asking: station, refusals: { ...this.state.refusals, [station]: [] } });
    const body = { document: this.editor.line, station, ...(run === undefined ? { inputs, context: read } : { run }) };
    const answer = await this.editor.api.startTrial(body);
    this.store.setState({ asking: undefined });
    if (answer.is !== "ok") return this.#refused(station, refusalOf(answer));
    announce(say("trialStarted", name));
    this.#came(answer.said, []);
    void this.#follow(answer.said);
  }

  async cancel(trial: Trial): Promise<void> {
    const answer = await this.editor.api.cancelTrial(trial.id);
    if (answer.is === "ok") this.#came({ ...answer.said, complete: false });
    else this.#refused(trial.station, refusalOf(answer));
  }

  /** Until nothing more will come. */
  async #follow({ id, station, next }: Trial): Promise<void> {
    this.#following = id;
    let from = next;
    while (this.#following === id) {
      const answer = await this.editor.api.trial(id, from);
      if (answer.is === "ok") {
        from = answer.said.next;
        this.#came(answer.said, [...(this.state.logs[id] ?? []), ...answer.said.lines]);
        if (answer.said.complete) break;
        if (answer.said.lines.length > 0 && !isOpen(answer.said)) continue;
      } else if (answer.is !== "away") {
        this.#refused(station, refusalOf(answer));
        break;
      }
      await new Promise((wake) => window.setTimeout(wake, answer.is === "away" ? WHEN_AWAY : EVERY));
    }
    if (this.#following === id) this.#following = 0;
  }

  #came(trial: Trial, lines?: LogLine[]): void {
    const before = this.state.trials[trial.station];
    this.store.setState({
      trials: { ...this.state.trials, [trial.station]: trial },
      ...(lines ? { logs: { ...this.state.logs, [trial.id]: lines } } : {}),
    });
    if (before?.id === trial.id && isOpen(before) && !isOpen(trial)) {
      announce(trial.why || say("trialEnded", resultWord(trial.result)));
    }
  }

  #refused(station: string, refusal: string[]): void {
    this.store.setState({ refusals: { ...this.state.refusals, [station]: refusal } });
  }
}

export function resultWord(result: string): string {
  if (result === "success") return say("trialSuccess");
  if (result === "failure") return say("trialFailure");
  return result === "blocked" ? say("trialBlocked") : say("trialCancelled");
}

/** An object; undefined where the text is none. */
function contextOf(text: string): { [key: string]: Json } | undefined {
  if (!text.trim()) return {};
  try {
    const read: unknown = JSON.parse(text);
    const plain = typeof read === "object" && read !== null && !Array.isArray(read);
    return plain ? (read as { [key: string]: Json }) : undefined;
  } catch {
    return undefined;
  }
}

/** In the words of the server; places in the document are for the list of problems. */
function refusalOf(answer: Exclude<Answer<unknown>, { is: "ok" }>): string[] {
  if (answer.is !== "refused") return [say("trialAway")];
  const { detail, errors } = answer.problem;
  if (errors.length === 0) return [detail];
  const problems = errors.map(({ path, message }) => {
    const input = /^inputs\.(.+)$/.exec(path)?.[1];
    return input ? `${input}: ${message}` : message;
  });
  return errors.some(({ path }) => path.startsWith("stations")) ? [say("trialNoLine"), ...problems] : problems;
}

const all = new WeakMap<Editor, Trials>();

/** Those of this editor. */
export function trialsOf(editor: Editor): Trials {
  const trials = all.get(editor) ?? new Trials(editor);
  all.set(editor, trials);
  return trials;
}

export function useTrials(editor: Editor): State {
  return useStore(trialsOf(editor).store);
}

/** The state of one open editor: document with its history, what is chosen, what the server said. */
import { useSyncExternalStore } from "react";

import { announce } from "../ts/dom";
import type { Command } from "./commands";
import type { LineDocument } from "./document";
import { type Elsewhere, type Findings, NOTHING } from "./findings";
import { begin, type History, redo, run, undo } from "./history";
import { Saver, type Saving } from "./saving";
import { say } from "./words";

export interface Selection {
  /** Keys of the stations and ends. */
  keys: readonly string[];
  /** Id of a rule. */
  rule?: string;
  /** Key of a gate: the inspector shows it, whatever else is chosen. */
  gate?: string;
  /** A part of the line itself. */
  part?: "configure" | "inputs" | "gates";
}

export interface State {
  history: History;
  selection: Selection;
  saving: Saving;
  findings: Findings;
  /** What the last change that did so sent elsewhere, until it is dismissed. */
  elsewhere: Elsewhere | null;
  /** Whether the stored draft says anything else than what is live. */
  differs: boolean;
}

export interface Given {
  document: LineDocument;
  number: number;
  saveUrl: string;
  /** Addresses of the line by their name (`_data` of pipelines/views/editor.py). */
  urls: Record<string, string>;
  csrf: string;
  findings: Findings;
  differs: boolean;
}

export class Editor {
  #state: State;
  readonly #heard = new Set<() => void>();
  readonly #saver: Saver;

  constructor(readonly given: Given) {
    this.#saver = new Saver({
      url: given.saveUrl,
      csrf: given.csrf,
      number: given.number,
      document: given.document,
      onMerged: (line) => this.#merged(line),
      onState: (saving) => this.#set({ saving }),
      onFindings: (findings, differs) => this.#set({ findings, differs, ...(findings.elsewhere ? { elsewhere: findings.elsewhere } : {}) }),
    });
    this.#state = {
      history: begin(given.document),
      selection: { keys: [] },
      saving: { state: "saved", at: Date.now() },
      findings: given.findings ?? NOTHING,
      elsewhere: null,
      differs: given.differs,
    };
    const kept = this.#saver.restored();
    if (kept) {
      this.#run({ label: say("restored"), apply: () => kept });
    }
  }

  get state(): State {
    return this.#state;
  }

  get line(): LineDocument {
    return this.#state.history.line;
  }

  subscribe = (heard: () => void): (() => void) => {
    this.#heard.add(heard);
    return () => this.#heard.delete(heard);
  };

  /** `selection`: what is chosen from then on, in one step with the change. */
  run(command: Command, selection?: Selection): void {
    if (selection) this.#state = { ...this.#state, selection };
    this.#run(command);
  }

  #run(command: Command): void {
    this.#became(run(this.#state.history, command), command.label);
  }

  undo(): void {
    this.#became(undo(this.#state.history), say("undid", this.#state.history.done.at(-1)?.label ?? ""));
  }

  redo(): void {
    this.#became(redo(this.#state.history), say("redid", this.#state.history.undone.at(-1)?.label ?? ""));
  }

  select(selection: Selection): void {
    this.#set({ selection });
  }

  dismissElsewhere(): void {
    this.#set({ elsewhere: null });
  }

  retry(): void {
    this.#saver.retry();
  }

  settle(prefer: "mine" | "theirs"): void {
    this.#saver.settle(prefer);
  }

  #merged(line: LineDocument): void {
    const label = say("merged");
    this.#set({ history: run(this.#state.history, { label, apply: () => line }) });
    announce(label);
  }

  #became(history: History, label: string): void {
    if (history === this.#state.history) return;
    this.#set({ history });
    announce(label);
    this.#saver.save(history.line);
  }

  #set(changed: Partial<State>): void {
    this.#state = { ...this.#state, ...changed };
    for (const heard of this.#heard) heard();
  }
}

export function useEditor(editor: Editor): State {
  return useSyncExternalStore(editor.subscribe, () => editor.state);
}

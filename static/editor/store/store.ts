/** The state of one open editor: document with its history, what is chosen, what the server said. */
import { useStore } from "zustand";
import { createStore, type StoreApi } from "zustand/vanilla";

import { announce } from "../../ts/dom";
import { type Draft, LineApi } from "../api/line";
import { LineText, type Shown } from "../code/text";
import { same } from "../code/values";
import { type Carried, Saver, type Saving } from "../saving/saving";
import { say } from "../shell/words";
import { changedParts } from "./changed";
import type { Command, Rename } from "./commands";
import type { Json, LineDocument } from "./document";
import { type Elsewhere, type Findings, NOTHING } from "./findings";
import { amend, begin, type History, labelOf, redo, run, taken, touched, undo } from "./history";
import { leftBehind } from "./left-behind";
import type { Side } from "./merge";
import type { Selection } from "./selection";
import { type Unsaved, withUnsaved } from "./unsaved";

/** News of what somebody else did a moment ago, in words. */
export interface Notice {
  id: number;
  words: string;
}

/** Place that is offered. */
export interface Choice {
  key: string;
  name: string;
  note: string;
  icon: string;
}

/** Asks where something belongs that was just made over nothing. */
export interface Offer {
  title: string;
  choices: readonly Choice[];
  take(key: string): void;
  /** Words for when nothing was chosen. */
  left: string;
}

export interface State {
  history: History;
  selection: Selection;
  saving: Saving;
  findings: Findings;
  /** What the last change that did so sent elsewhere, until it is dismissed. */
  elsewhere: Elsewhere | null;
  /** Tells whether the stored draft says anything else than what is live. */
  differs: boolean;
  /** The text of the line, as the code pane shows it. */
  text: Shown;
  /** Counts how many forms have sent what was typed and wait for the answer: it is not in the line yet. */
  asking: number;
  /** Fields whose text was refused. */
  unsaved: readonly Unsaved[];
  draft: Draft;
  /** Tells whether the browser keeps a copy of what is not saved. */
  kept: boolean;
  notice?: Notice | undefined;
  offer?: Offer | undefined;
  /** A tab of the inspector that was asked for; each time another value. */
  asked?: { tab: string; naming?: string; opened?: string };
}

/** Change that a request takes along: of `of` it makes `line`. */
export interface Taken extends Carried {
  of: LineDocument;
  line: LineDocument;
}

export interface Given {
  document: LineDocument;
  /** As it was typed, with its comments; empty where nobody typed one. */
  text: string;
  draft: Draft;
  mayEdit: boolean;
  /** Of the line, in the API. */
  api: string;
  /** Under which the browser keeps what is not saved. */
  place: string;
  /** Addresses of the line by their name (`_data` of pipelines/web/editor/page.py). */
  urls: Record<string, string>;
  findings: Findings;
  differs: boolean;
  /** Keys of a station that are set at several at once. */
  common: readonly string[];
  me: number;
  /** Whom a comment can name. */
  people: readonly { handle: string; name: string }[];
  myName: string;
  live: { project: string; line: string };
}

export class Editor {
  readonly store: StoreApi<State>;
  readonly #saver: Saver;
  readonly api: LineApi;
  readonly text: LineText;
  /** Whoever shows the text wants to see at once what the canvas changed in it. */
  textIsShown = false;
  /** The text was changed last: what is typed next is the same step. */
  #typing = false;

  constructor(readonly given: Given) {
    this.api = new LineApi(given.api);
    this.text = new LineText(
      given.place,
      { text: given.text, line: given.document },
      {
        line: () => this.line,
        became: (line) => this.#typed(line),
        worded: () => this.#worded(),
        changed: () => this.#set({ text: this.text.shown }),
      },
    );
    this.store = createStore<State>(() => ({
      history: begin(given.document),
      selection: { keys: [] },
      saving: { state: "saved", at: Date.now() },
      findings: given.findings ?? NOTHING,
      text: this.text.shown,
      elsewhere: null,
      differs: given.differs,
      asking: 0,
      unsaved: [],
      draft: given.draft,
      kept: true,
    }));
    this.#saver = new Saver({
      text: this.text,
      api: this.api,
      place: given.place,
      document: given.document,
      draft: given.draft,
      mayEdit: given.mayEdit,
      onMerged: (line, draft) => this.#merged(line, draft),
      onRestored: (line) => this.run({ label: say("restored"), apply: () => line }),
      onState: (saving) => this.#set({ saving }),
      onDraft: (draft) => this.#set({ draft }),
      onFindings: (findings, differs) =>
        this.#found({
          findings: { ...findings, taken: this.state.findings.taken },
          differs,
          ...(findings.elsewhere ? { elsewhere: findings.elsewhere } : {}),
        }),
      onKept: (kept) => this.#set({ kept }),
    });
    void this.text.restore();
  }

  get state(): State {
    return this.store.getState();
  }

  get line(): LineDocument {
    return this.state.history.line;
  }

  /** `selection`: what is chosen from then on, in one step with the change. */
  run(command: Command, selection?: Selection): void {
    const before = this.state.history;
    const history = this.#isBehind() ? before : run(before, command);
    if (history !== before) this.#became(history, labelOf(command, before.line), command.renames, selection);
    else if (selection) this.select(selection);
  }

  /** The line as this change would make it, or as it is and not saved yet, for a request that takes it along; nothing
   * where there is nothing to take, or something is in the way. */
  async carry(change?: Omit<Command, "label">): Promise<Taken | undefined> {
    const of = this.line;
    if (this.state.text.fault || this.text.isUnread) return undefined;
    const line = change ? change.apply(of) : of;
    if (change ? line === of : !this.#saver.lacks(of)) return undefined;
    const carried = await this.#saver.carry(line, change?.renames ?? []);
    if (!carried || this.line === of) return carried && { ...carried, line, of };
    carried.done();
    return undefined;
  }

  undo(): void {
    if (this.#isBehind()) return;
    const last = this.state.history.done.at(-1);
    const renames = last?.renames.map(({ kind, from, to }) => ({ kind, from: to, to: from })).reverse();
    this.#turned(undo(this.state.history), "undid", last?.label ?? "", renames);
  }

  redo(): void {
    if (this.#isBehind()) return;
    const next = this.state.history.undone.at(-1);
    this.#turned(redo(this.state.history), "redid", next?.label ?? "", next?.renames);
  }

  /** Where somebody has changed the same since, theirs stays, and there may be nothing left to take back. */
  #turned(history: History, word: "undid" | "redid", label: string, renames?: readonly Rename[]): void {
    if (history === this.state.history) return;
    if (history.line === this.state.history.line) {
      this.#set({ history });
      announce(say("turnedNothing", label));
    } else {
      this.#became(history, say(word, label), renames);
    }
  }

  select(selection: Selection): void {
    const naming = this.state.asked?.naming;
    // Left before its name had the focus: coming back later must not take the focus away from the canvas.
    if (naming !== undefined && !selection.keys.includes(naming)) this.named();
    this.#set({ selection });
  }

  offer(offer: Offer | undefined): void {
    this.#set({ offer });
  }

  dismissElsewhere(): void {
    this.#set({ elsewhere: null });
  }

  showTab(tab: string): void {
    this.#set({ asked: { tab } });
  }

  /** What was just made is chosen, with its name ready to be typed and its form below. */
  begin(station: string): void {
    this.#set({ selection: { keys: [station] }, asked: { tab: "configure", naming: station, opened: station } });
  }

  /** The name has the focus: it is not given it again when its station is drawn anew. */
  named(): void {
    const { asked } = this.state;
    if (asked?.opened !== undefined) this.#set({ asked: { tab: asked.tab, opened: asked.opened } });
  }

  /** A form begins (1) or ends (-1) to wait for its answer. */
  asks(by: 1 | -1): void {
    this.#set({ asking: this.state.asking + by });
  }

  /** These fields of a form hold what was refused, and no others of it. */
  refuses(form: string, fields: readonly Unsaved[]): void {
    const unsaved = withUnsaved(this.state.unsaved, form, fields);
    if (unsaved !== this.state.unsaved) this.#set({ unsaved });
  }

  retry(): void {
    this.#saver.retry();
  }

  /** The server is there again. */
  wake(): void {
    this.#saver.wake();
  }

  /** Somebody stored a draft with this number. */
  heard(number: number): void {
    this.#saver.heard(number);
  }

  /** Something happened that may not have been heard of: somebody published, or the socket was away. */
  look(): void {
    this.#saver.refresh();
  }

  choose(path: string, side: Side): void {
    this.#saver.choose(path, side);
  }

  settle(): void {
    this.#saver.settle();
  }

  dismiss(notice: Notice): void {
    if (this.state.notice === notice) this.#set({ notice: undefined });
  }

  /** What others stored is here now. It is no step of one's own, and what is chosen stays chosen. */
  #merged(line: LineDocument, draft: Draft): void {
    const history = taken(this.state.history, line);
    // Asked once the line is there.
    queueMicrotask(() => this.text.othersChanged());
    this.#forget(history.line);
    const parts = changedParts(this.state.history.line, history.line);
    if (history.line === this.state.history.line || parts.length === 0) {
      this.#set({ history });
      return;
    }
    const who = draft.others.filter((name) => name !== this.given.myName).join(", ") || say("somebody");
    const words = say("theyChanged", who, parts.join(", "));
    this.#set({ history });
    this.tell(words);
  }

  #became(history: History, label: string, renames?: readonly Rename[], selection = this.state.selection): void {
    const before = this.line;
    this.#typing = false;
    this.#forget(history.line);
    this.#set({ history, selection: renamedIn(selection, renames ?? [], history.line) });
    const { asked } = this.state;
    const opened = renames?.find(({ kind, from }) => kind === "station" && from === asked?.opened)?.to;
    if (asked && opened !== undefined) this.#set({ asked: { tab: asked.tab, opened } });
    announce(label);
    this.#nameLeft(history.line, renames ?? []);
    this.#saver.save(history.line, renames, isOfRules(before, history.line));
    this.text.lineChanged(this.textIsShown);
  }

  /** A new key is followed everywhere but here. */
  #nameLeft(line: LineDocument, renames: readonly Rename[]): void {
    const places = renames.flatMap(({ kind, from }) => leftBehind(line, kind, from));
    if (places.length > 0) this.tell(say("leftBehind", places.join("; ")));
  }

  /** Says something that a person has to know of what was just done. */
  tell(words: string): void {
    this.#set({ notice: { id: (this.state.notice?.id ?? 0) + 1, words } });
    announce(words);
  }

  /** While the text cannot be read the canvas shows the state before it: a change of that would be lost. */
  #isBehind(): boolean {
    if (!this.state.text.fault) return false;
    announce(say("textFirst"));
    return true;
  }

  /** A run of typing is one step. */
  #typed(line: LineDocument): void {
    const now = this.state.history;
    const before = now.done.at(-1)?.before as Json | undefined;
    const history = this.#typing
      ? amend(now, line, same(before, line as Json))
      : run(now, { label: say("typed"), apply: () => line });
    this.#typing = history.done.length > 0;
    this.#set({ history });
    this.#saver.save(history.line);
  }

  #worded(): void {
    const history = touched(this.state.history);
    this.#set({ history });
    this.#saver.save(history.line);
  }

  /** What was sent elsewhere is nothing to tell any more where one of its stations is gone. */
  #forget(line: LineDocument): void {
    const left = new Set(line.stations.map(({ key }) => key));
    if (this.line.stations.some(({ key }) => !left.has(key))) this.dismissElsewhere();
  }

  /** The pills show it to those who see them; the others hear when there are more or fewer problems. */
  #found(found: Partial<State>): void {
    const before = grave(this.state.findings);
    this.#set(found);
    const now = grave(this.state.findings);
    if (now !== before) announce(say("problemCount", String(now)));
  }

  #set(changed: Partial<State>): void {
    this.store.setState(changed);
  }
}

/** Tells whether it may break a promise: not where something was only moved, or a station was made, whose form comes next. */
const isOfRules = (before: LineDocument, after: LineDocument): boolean =>
  before.stations !== after.stations && after.stations.length <= before.stations.length;

/** What is chosen stays chosen under the key that it has from then on. */
function renamedIn(selection: Selection, renames: readonly Rename[], line: LineDocument): Selection {
  if (renames.length === 0) return selection;
  const now = (kind: Rename["kind"], key: string): string =>
    renames.find((each) => each.kind === kind && each.from === key)?.to ?? key;
  const keys = selection.keys.map((key) =>
    line.stations.some((each) => each.key === key) ? key : now("station", key),
  );
  return { ...selection, keys, ...(selection.rule === undefined ? {} : { rule: now("rule", selection.rule) }) };
}

const grave = ({ findings }: Findings): number => findings.filter((each) => each.severity !== "info").length;

/** Tells whether the findings are of a line before the last change. */
export const checking = ({ saving, asking }: State): boolean =>
  asking > 0 || saving.state === "waiting" || saving.state === "saving";

/** Refused fields of parts that are still there. */
export const unsavedOf = ({ unsaved, history }: Pick<State, "unsaved" | "history">): readonly Unsaved[] =>
  unsaved.filter(({ isThere }) => isThere(history.line));

/** Tells whether the line has errors, which keep it from being published. */
export const faulty = (state: State): boolean =>
  !checking(state) && state.findings.findings.some(({ severity }) => severity === "error");

/** The state, or what of it is picked: drawn anew when that is another. */
export function useEditor(editor: Editor): State;
export function useEditor<T>(editor: Editor, pick: (state: State) => T): T;
export function useEditor<T>(editor: Editor, pick: (state: State) => T = (state) => state as T): T {
  return useStore(editor.store, pick);
}

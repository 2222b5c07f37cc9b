/** The others: who has this line open and what they have chosen, and what is said about its parts. The socket brings hints
 * only: numbers and ids. Drafts, names and comments are fetched. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

import { showFailure } from "../../ts/failures";
import { Live, type LiveState, liveAddress } from "../../ts/live";
import { type Answer, wordsOf } from "../api/door";
import type { PartKind, Person, Thread } from "../api/line";
import { say } from "../shell/words";
import { stationOf } from "../store/document";
import type { Selection } from "../store/selection";
import type { Editor } from "../store/store";

export interface Part {
  kind: PartKind;
  key: string;
}

/** Somebody else with this line open; two windows of one person are one. */
export interface Other extends Person {
  chosen: Part | null;
  away: boolean;
}

interface Around {
  others: readonly Other[];
  /** undefined: not fetched yet. */
  threads: readonly Thread[] | undefined;
  live: LiveState;
}

interface Window {
  user: number;
  chosen: Part | null;
  away: boolean;
  heard: number;
}

const BEAT = 4_000;
/** Three beats without a word: gone, however they went (EVERY of pipelines/web/live/presence.py). */
const GONE = 12_500;
const QUIET = 120;

const all = new WeakMap<Editor, Together>();

export function togetherOf(editor: Editor): Together {
  const together = all.get(editor) ?? new Together(editor);
  all.set(editor, together);
  return together;
}

class Together {
  readonly store = createStore<Around>(() => ({ others: [], threads: undefined, live: "connecting" }));
  readonly #windows = new Map<string, Window>();
  #people = new Map<number, Person>();
  #asked = new Set<number>();
  #live: Live | undefined;
  #said = "";
  #timer = 0;
  #question = 0;
  #answered = 0;

  constructor(private readonly editor: Editor) {}

  start(): void {
    const { live } = this.editor.given;
    const data = { liveProject: live.project, liveLine: live.line, livePath: document.body.dataset.livePath };
    this.#live = new Live({
      address: `${liveAddress(data as DOMStringMap, location)}&draw=1`,
      onHint: () => undefined,
      onOther: (push) => this.#told(push),
      onResync: () => this.#fresh(),
      onState: (state) => {
        this.store.setState({ live: state });
        if (state === "live") this.editor.wake();
        if (state === "ended") showFailure("signed-out");
      },
    });
    window.addEventListener("online", () => this.#live?.wake());
    window.addEventListener("offline", () => this.#live?.lost());
    document.addEventListener("visibilitychange", () => {
      this.#live?.wake();
      this.#here();
    });
    window.addEventListener("pagehide", (event) => {
      if (!event.persisted) this.#live?.stop();
    });
    this.editor.store.subscribe(() => this.#soon());
    window.setInterval(() => this.#beat(), BEAT);
    this.#live.connect();
  }

  /** Subscribed first, then fetched: what happened in between is in it, or comes as a hint. */
  #fresh(): void {
    this.#said = "";
    this.#here();
    this.editor.look();
    void this.#fetchThreads();
    void this.#fetchPeople();
  }

  #told(push: Readonly<Record<string, unknown>>): void {
    if (push.line === "draft") afterDragging(() => this.editor.heard(Number(push.number)));
    if (push.line === "live") this.editor.look();
    if (push.line === "comments") void this.#fetchThreads();
    if (push.here) this.#saw(push.here as Record<string, unknown>);
  }

  #saw(here: Record<string, unknown>): void {
    const socket = String(here.socket);
    if (here.gone) {
      this.#windows.delete(socket);
    } else {
      const user = Number(here.user);
      const chosen = (here.chosen ?? null) as Part | null;
      this.#windows.set(socket, { user, chosen, away: here.away === true, heard: Date.now() });
      if (!this.#people.has(user) && !this.#asked.has(user)) {
        this.#asked.add(user);
        void this.#fetchPeople();
      }
    }
    this.#count();
  }

  #beat(): void {
    for (const [socket, { heard }] of this.#windows) {
      if (Date.now() - heard > GONE) this.#windows.delete(socket);
    }
    this.#count();
    this.#said = "";
    this.#here();
  }

  /** Who is there, by name; of several windows the one in front, that has something chosen. */
  #count(): void {
    const byUser = new Map<number, Other>();
    for (const { user, chosen, away } of this.#windows.values()) {
      const person = this.#people.get(user);
      if (!person || user === this.editor.given.me) continue;
      const known = byUser.get(user);
      if (!known || (known.away && !away) || (known.away === away && !known.chosen)) {
        byUser.set(user, { ...person, chosen, away });
      }
    }
    const others = [...byUser.values()].sort((one, other) => one.name.localeCompare(other.name) || one.id - other.id);
    if (JSON.stringify(others) !== JSON.stringify(this.store.getState().others)) this.store.setState({ others });
  }

  #soon(): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#here(), QUIET);
  }

  #here(): void {
    const chosen = partOf(this.editor);
    const message = JSON.stringify({ chosen, away: document.hidden });
    if (message === this.#said) return;
    this.#said = message;
    this.#live?.say({ here: { chosen, away: document.hidden } });
  }

  async #fetchPeople(): Promise<void> {
    const answer = await this.editor.api.members();
    if (answer.is !== "ok") return;
    this.#people = new Map(answer.said.map((each) => [each.id, each]));
    this.#asked = new Set();
    this.#count();
  }

  /** An answer that was overtaken by one to a later question is no news. */
  async #fetchThreads(): Promise<void> {
    this.#question += 1;
    const question = this.#question;
    const answer = await this.editor.api.threads();
    if (answer.is !== "ok" || question < this.#answered) return;
    this.#answered = question;
    this.store.setState({ threads: answer.said });
  }

  /** Writes a comment or changes one; "" when it is stored, else what keeps it from that. */
  send(body: Record<string, unknown>, comment = ""): Promise<string> {
    const { api } = this.editor;
    return this.#stored(comment ? api.changeComment(comment, body) : api.comment(body));
  }

  remove(comment: string): Promise<string> {
    return this.#stored(this.editor.api.deleteComment(comment));
  }

  async #stored(sent: Promise<Answer<unknown>>): Promise<string> {
    const answer = await sent;
    if (answer.is === "signed-out") return say("commentSignedOut");
    if (answer.is === "away") return say("commentNotSent");
    if (answer.is === "refused") return wordsOf(answer.problem);
    await this.#fetchThreads();
    return "";
  }
}

export function useAround(editor: Editor): Around {
  return useStore(togetherOf(editor).store);
}

function partOf(editor: Editor): Part | null {
  const { keys, rule, gate }: Selection = editor.state.selection;
  if (gate) return { kind: "gate", key: gate };
  if (rule) return { kind: "rule", key: rule };
  const key = keys.length === 1 ? keys[0] : undefined;
  if (!key) return null;
  return { kind: stationOf(editor.line, key) ? "station" : "end", key };
}

/** A node under the hand stays there: what others did is taken in when it is let go. */
function afterDragging(then: () => void): void {
  if (!document.querySelector(".react-flow__node.dragging")) {
    then();
    return;
  }
  window.addEventListener("pointerup", () => window.setTimeout(then, 0), { once: true });
}

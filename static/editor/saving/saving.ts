/** Keeps the draft on the server: a change is saved a moment after the last one, a copy lies in the browser until the
 * server has it, and a server that is away is tried again. What others save meanwhile is taken in; where both changed
 * the same place, nothing is stored until a person has chosen. Answers come with what lint finds. */
import type { Answer } from "../api/door";
import type { Clash, Clashed, Draft, Edit, LineApi, Saved, Stored } from "../api/line";
import { unavailable } from "../code/client";
import { storeDraft } from "../code/storing";
import type { LineText } from "../code/text";
import { type Rename, renamesLeft } from "../store/commands";
import { Copies } from "../store/copies";
import { canBeDrawn, type LineDocument } from "../store/document";
import type { Findings } from "../store/findings";
import { merge, type Side } from "../store/merge";

/** Milliseconds between saves. */
const PAUSE = 500;
const AGAIN = [1000, 2000, 5000, 10000, 15000];

export type Saving =
  | { state: "saved"; at: number }
  | { state: "waiting" }
  | { state: "saving" }
  /** The server is away; tried again at `next`. */
  | { state: "failed"; next: number }
  | { state: "signed-out" }
  | { state: "forbidden" }
  | { state: "refused"; why: string }
  /** Somebody stored a draft that cannot be drawn. */
  | { state: "undrawable"; by: string }
  | { state: "conflict"; by: string; clashes: Clash[]; chosen: Choices };

/** What is not stored, as the browser keeps it. */
interface Copy {
  /** The stored draft that it was made from, and its number. */
  number: number;
  base: LineDocument;
  line: LineDocument;
  renames?: readonly Rename[];
}

const isWhole = ({ number, base, line }: Partial<Copy>): boolean =>
  typeof number === "number" && base !== undefined && line !== undefined;

export type Choices = Readonly<Record<string, Side>>;

/** An edit that somebody else's request takes along to the server. */
export interface Carried {
  edit: Edit;
  /** What became of it, once the editor shows it; undefined where it was not saved. */
  done(saved?: Saved): void;
}

interface Wanted {
  api: LineApi;
  /** Under which the browser keeps what is not saved. */
  place: string;
  document: LineDocument;
  text: LineText;
  draft: Draft;
  mayEdit: boolean;
  onState(saving: Saving): void;
  onDraft(draft: Draft): void;
  /** This line takes the place of the one here: what others did is in it, and no step of the history. */
  onMerged(line: LineDocument, draft: Draft): void;
  /** What was changed here before and never reached the server. */
  onRestored(line: LineDocument): void;
  /** `differs`: whether what is stored now says anything else than what is live. */
  onFindings(findings: Findings, differs: boolean): void;
  /** Tells whether the browser keeps a copy of what is not saved. */
  onKept(kept: boolean): void;
}

export class Saver {
  /** The stored draft that this page knows, and its number: what a change is merged by, if need be. */
  #number: number;
  #base: LineDocument;
  /** The line as it is here, while the server does not have it. */
  #pending: LineDocument | undefined;
  #theirs: { number: number; document: LineDocument; draft: Draft } | undefined;
  #clashes: Clash[] = [];
  #chosen: Choices = {};
  /** Keys that changed since what is stored. */
  #renames: readonly Rename[] = [];
  #timer = 0;
  /** The time at which a save was sent last. */
  #sent = Number.NEGATIVE_INFINITY;
  #busy = false;
  #failures = 0;
  #kept = true;
  #newest = 0;
  readonly #copies: Copies<Copy>;
  readonly #ready: Promise<void>;

  constructor(private readonly wanted: Wanted) {
    this.#number = wanted.draft.number;
    this.#base = wanted.document;
    this.#copies = new Copies<Copy>(`gateline draft ${wanted.place}`, isWhole);
    this.#ready = this.#copies.begin();
    if (wanted.mayEdit) void this.#restore();
    window.addEventListener("online", () => this.wake());
    window.addEventListener("focus", () => this.wake());
    window.addEventListener("beforeunload", (event) => {
      // What is kept in the browser is saved the next time; only what would be lost is worth a question.
      if (this.#pending && !this.#kept) event.preventDefault();
    });
  }

  /** Saves a moment later; `now`: without waiting whether more comes, for what is found comes with the answer. */
  save(line: LineDocument, renames: readonly Rename[] = [], now = false): void {
    this.#pending = line;
    this.#renames = [...this.#renames, ...renames];
    this.#keep(line);
    this.#say({ state: "waiting" });
    // Many in a row are sent together, as ever.
    this.#soon(now && performance.now() - this.#sent > PAUSE ? 0 : PAUSE);
  }

  /** The server may be back, or somebody has signed in: no reason to wait. */
  wake(): void {
    if (this.#pending && this.#failures > 0) this.#soon(0);
    else if (!this.#pending && this.#newest > this.#number) void this.#look();
  }

  retry(): void {
    this.#soon(0);
  }

  /** A draft with this number is stored now. */
  heard(number: number): void {
    this.#newest = Math.max(this.#newest, number);
    if (this.#newest > this.#number) void this.#look();
  }

  /** Looks whose draft it is now, and takes in what is new in it. */
  refresh(): void {
    void this.#refresh();
  }

  async #refresh(): Promise<void> {
    const stored = await this.#ask(true);
    if (!stored || stored.draft.number < this.#number) return;
    if (stored.draft.number === this.#number) this.wanted.onDraft(stored.draft);
    else this.heard(stored.draft.number);
  }

  /** Whose word counts at a place that both changed. */
  choose(path: string, side: Side): void {
    this.#chosen = { ...this.#chosen, [path]: side };
    this.#conflict(this.#theirs?.draft.by?.name ?? "");
  }

  /** Stores what was chosen, when every place has been; what is disjoint is kept of both. */
  settle(): void {
    const [theirs, mine] = [this.#theirs, this.#pending];
    if (!theirs || !mine) return;
    const merged = merge(this.#base, mine, theirs.document, ({ path }) => this.#chosen[path]);
    // Changed since the places were shown: the server says which they are now.
    if (merged.open.length > 0) {
      this.#soon(0);
      return;
    }
    this.#number = theirs.number;
    this.#base = theirs.document;
    this.#settled();
    this.#pending = merged.document;
    this.#keep(merged.document);
    this.wanted.onMerged(merged.document, theirs.draft);
    this.#soon(0);
  }

  async #restore(): Promise<void> {
    await this.#ready;
    if (this.#pending) return this.#keep(this.#pending);
    const copy = await this.#copies.found();
    if (!copy || this.#pending || !canBeDrawn(copy.line)) return;
    this.#take(copy);
  }

  #take(copy: Copy): void {
    this.#number = copy.number;
    this.#base = copy.base;
    this.#renames = copy.renames ?? [];
    this.wanted.onRestored(copy.line);
  }

  /** A conflict, or a server that is away, stays on the screen until there is something else to say. */
  #say(saving: Saving): void {
    if (this.#failures === 0 && !this.#theirs) this.wanted.onState(saving);
  }

  #soon(after: number): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#send(), after);
  }

  async #send(): Promise<void> {
    const line = this.#pending;
    if (!line || this.#busy) return;
    this.#busy = true;
    this.#sent = performance.now();
    this.#say({ state: "saving" });
    try {
      const edit = this.#edit(line);
      const save = (edit: Edit) => this.wanted.api.save(edit);
      await this.#answered(line, edit.renamed, await storeDraft(save, edit, this.wanted.text));
    } catch {
      this.#failed();
    } finally {
      this.#busy = false;
    }
    if (this.#pending && this.#pending !== line && this.#failures === 0) this.#soon(PAUSE);
  }

  #edit(line: LineDocument): Edit {
    return { based_on: this.#number, base: this.#base, document: line, renamed: this.#renames };
  }

  /** Tells whether the server lacks this line. */
  lacks(line: LineDocument): boolean {
    return this.#pending === line;
  }

  /** This line, which the editor may not show yet, for a request that takes it along; nothing while something else is
   * on its way there, or is in the way. */
  async carry(line: LineDocument, renames: readonly Rename[]): Promise<Carried | undefined> {
    const { text, mayEdit } = this.wanted;
    if (!mayEdit || this.#busy || this.#failures > 0 || this.#theirs) return undefined;
    this.#busy = true;
    const known = this.#edit(line);
    try {
      const edit = {
        ...known,
        renamed: [...known.renamed, ...renames],
        text: await Promise.race([text.textOf(line), unavailable()]),
      };
      return { edit, done: (saved) => this.#carried(edit, saved) };
    } catch {
      this.#carried(known);
      return undefined;
    }
  }

  #carried({ document, text, renamed }: Edit, saved?: Saved): void {
    this.#busy = false;
    if (saved) {
      if (text !== undefined) this.wanted.text.saved(text);
      // What the editor would not take in comes as if somebody else had saved it.
      this.#stored(document, renamed, this.#pending ? saved : { document, ...saved });
    }
    if (this.#pending) this.#soon(PAUSE);
    else if (this.#newest > this.#number) void this.#look();
  }

  async #answered(line: LineDocument, renamed: readonly Rename[], answer: Answer<Saved, Clashed>): Promise<void> {
    if (answer.is === "away") return this.#failed();
    if (answer.is === "signed-out") return this.#locked("signed-out");
    if (answer.is === "refused" && (answer.status === 403 || answer.status === 404)) {
      return this.#locked(await this.#whyNot());
    }
    this.#failures = 0;
    if (answer.is === "ok") this.#stored(line, renamed, answer.said);
    else if (answer.status === 409 && answer.problem.document) this.#clashed(answer.problem);
    else if (answer.status === 409) this.#soon(PAUSE * 2);
    else this.wanted.onState({ state: "refused", why: answer.problem.detail });
  }

  #stored(line: LineDocument, renamed: readonly Rename[], said: Saved): void {
    this.#renames = renamesLeft(this.#renames, renamed);
    const stored = said.document ?? line;
    if (!canBeDrawn(stored)) {
      this.#undrawable(said.draft);
      return;
    }
    const here = this.#pending ?? line;
    const merged = said.document && here !== line ? merge(line, here, stored, () => undefined) : undefined;
    this.#settled();
    // Changed here meanwhile where they did: merged by what both started from, the server finds that place again.
    if (merged && merged.open.length > 0) return;
    this.#number = said.draft.number;
    this.#base = stored;
    this.#newest = Math.max(this.#newest, this.#number);
    this.wanted.onDraft(said.draft);
    if (said.document) this.wanted.onMerged(merged?.document ?? stored, said.draft);
    if (here === line) this.#done();
    else this.#later(merged?.document ?? here);
    this.wanted.onFindings(said.findings, said.differs);
  }

  #later(line: LineDocument): void {
    this.#pending = line;
    this.#keep(line);
    this.#soon(PAUSE);
  }

  #done(): void {
    this.#pending = undefined;
    this.#copies.forget();
    this.#noteKept(true);
    this.wanted.onState({ state: "saved", at: Date.now() });
    // Another tab may have gone without saving; and somebody may have saved again.
    void this.#restore();
    if (this.#newest > this.#number) void this.#look();
  }

  #clashed({ by = "", number = 0, document, text, clashes = [] }: Clashed): void {
    if (!document || !canBeDrawn(document)) {
      this.#undrawable(undefined, by);
      return;
    }
    const theirsByPath = new Map(this.#clashes.map((clash) => [clash.path, JSON.stringify(clash.theirs)]));
    const still = clashes.filter(({ path, theirs }) => theirsByPath.get(path) === JSON.stringify(theirs));
    // A choice holds for what was shown: where they changed it again, it is asked again.
    this.#chosen = Object.fromEntries(
      still.flatMap(({ path }) => (this.#chosen[path] ? [[path, this.#chosen[path]]] : [])),
    );
    this.#clashes = clashes;
    const draft = { number, by: { id: 0, name: by }, at: null, live: null, people: [], others: [by] };
    this.#theirs = { number, document, draft };
    this.wanted.text.stored(text);
    this.#conflict(by);
  }

  #conflict(by: string): void {
    this.wanted.onState({ state: "conflict", by, clashes: this.#clashes, chosen: this.#chosen });
  }

  #settled(): void {
    this.#theirs = undefined;
    this.#clashes = [];
    this.#chosen = {};
  }

  #undrawable(draft: Draft | undefined, by = ""): void {
    this.wanted.onState({ state: "undrawable", by: draft?.by?.name ?? by });
  }

  /** Takes in what somebody else saved, while nothing of one's own waits: that is merged when it is saved. */
  async #look(): Promise<void> {
    if (this.#pending || this.#busy) return;
    const known = this.#number;
    const stored = await this.#ask(false);
    if (!stored?.document || this.#pending || this.#number !== known || stored.draft.number <= known) return;
    if (!canBeDrawn(stored.document)) return this.#undrawable(stored.draft);
    this.#number = stored.draft.number;
    this.#base = stored.document;
    this.wanted.onDraft(stored.draft);
    this.wanted.text.stored(stored.text);
    this.wanted.onMerged(stored.document, stored.draft);
    if (stored.findings) this.wanted.onFindings(stored.findings, stored.differs ?? true);
  }

  async #ask(alone: boolean): Promise<Stored | undefined> {
    const answer = await this.wanted.api.draft(this.#number, alone);
    return answer.is === "ok" ? answer.said : undefined;
  }

  async #whyNot(): Promise<"signed-out" | "forbidden"> {
    const answer = await this.wanted.api.draft(this.#number, true);
    return answer.is === "signed-out" || (answer.is === "ok" && answer.said.mayEdit) ? "signed-out" : "forbidden";
  }

  /** Not by itself: somebody has to sign in, or be let in again. Looked at again now and then all the same. */
  #locked(state: "signed-out" | "forbidden"): void {
    this.#failures += 1;
    this.wanted.onState({ state });
    this.#soon(AGAIN.at(-1) ?? 15000);
  }

  #failed(): void {
    const wait = AGAIN[Math.min(this.#failures, AGAIN.length - 1)] ?? 15000;
    this.#failures += 1;
    this.wanted.onState({ state: "failed", next: Date.now() + wait });
    // Not all at the same moment, when the server is back.
    this.#soon(wait * (0.8 + Math.random() * 0.4));
  }

  #keep(line: LineDocument): void {
    void this.#ready.then(() => {
      if (this.#pending !== line) return;
      this.#noteKept(this.#copies.keep({ number: this.#number, base: this.#base, line, renames: this.#renames }));
    });
  }

  #noteKept(kept: boolean): void {
    if (kept === this.#kept) return;
    this.#kept = kept;
    this.wanted.onKept(kept);
  }
}

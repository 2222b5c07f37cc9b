/** The text of the line in this page. It and the document on the canvas say the same: a change of one is written into
 * the other. A text that cannot be read yet is kept as it is, here and in the browser, until it can. */

import { say } from "../shell/words";
import { canBeDrawn, type LineDocument, undrawablePath } from "../store/document";
import { merge } from "../store/merge";
import * as client from "./client";
import { type KeptText, TextKeeper } from "./kept";
import { nearest, type Places } from "./paths";
import type { Answered } from "./worker";

const PAUSE = 300;

export interface Fault {
  message: string;
  /** Its place in the text that was read, and the line of it. */
  at: number;
  line: number;
}

export interface Shown {
  /** What the pane shows; undefined while nobody has asked for it. */
  text: string | undefined;
  /** Why the canvas shows an older state than the text. */
  fault: Fault | undefined;
  /** Where the pane is to go, as soon as it is there. */
  sought?: number | undefined;
  /** Of the last text that could be read, which is `text` but for the moment after a key was pressed. */
  places: Places;
}

/** What the text needs of the editor. */
interface Port {
  line(): LineDocument;
  /** The text says another document now: one step of the history for a run of typing. */
  became(line: LineDocument): void;
  /** Only the text changed: a comment, say. */
  worded(): void;
  changed(): void;
}

export class LineText {
  #shown: Shown;
  /** The last text that could be read, and the document that it says. */
  #good: { text: string; line: LineDocument } | undefined;
  #timer = 0;
  #asked = 0;
  /** Something was typed that is not read yet. */
  #unread = false;
  #theirs: string | undefined;
  /** What was kept in the browser, or stored by others, is put together with the text here: nothing is sent before. */
  #joining: Promise<void> = Promise.resolve();
  /** Of lines that came with a text of their own, and of those that they took the place of: undo brings it back. */
  readonly #texts = new WeakMap<LineDocument, string>();
  readonly #kept: TextKeeper;

  constructor(
    place: string,
    private readonly given: { text: string; line: LineDocument },
    private readonly port: Port,
  ) {
    this.#kept = new TextKeeper(place);
    this.#shown = { text: given.text || undefined, fault: undefined, places: {} };
    if (!given.text) return;
    // A copy: `given.text` becomes what is stored, while this text stays with the document that was opened.
    this.#good = { ...given };
    client.start();
  }

  get shown(): Shown {
    return this.#shown;
  }

  /** What was typed here and never reached the server. */
  restore(): Promise<void> {
    this.#joining = this.#restored();
    return this.#joining;
  }

  async #restored(): Promise<void> {
    const copy = await this.#kept.found();
    if (!copy) return;
    const text = await this.#brought(copy);
    if (copy.leads) this.typed(text);
    else await this.#write(text, this.port.line());
  }

  /** The kept text, with what was stored meanwhile, and typed here since the page was opened. */
  async #brought({ base, text }: KeptText): Promise<string> {
    const here = this.#unread ? (this.#shown.text ?? "") : this.given.text;
    return base === here ? text : client.merge(base, text, here);
  }

  /** Shows the text; it is written from the document if nobody typed one. */
  async open(): Promise<void> {
    if (this.#shown.text === undefined) await this.#write("", this.port.line());
    else if (this.#shown.fault === undefined) await this.#follow();
  }

  /** The person typed: read a moment after the last key. */
  typed(text: string): void {
    if (text === this.#shown.text) return;
    this.#asked += 1;
    this.#unread = true;
    this.#set({ text });
    this.#keep(true);
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#read(), PAUSE);
  }

  get isUnread(): boolean {
    return this.#unread;
  }

  /** The text says what the canvas does not show: it is not read yet, or cannot be. */
  get #isAhead(): boolean {
    return this.#unread || this.#shown.fault !== undefined;
  }

  /** Reads what was typed without waiting for more. */
  async settled(): Promise<void> {
    window.clearTimeout(this.#timer);
    if (this.#unread) await this.#read();
  }

  /** The canvas shows another document: whoever looks at the text sees it there at once. */
  lineChanged(looking: boolean): void {
    if (this.#shown.text === undefined || this.#good?.line === this.port.line()) return;
    this.#keep(this.#isAhead);
    if (looking) void this.#follow();
  }

  /** The text that says this line, to be saved with it; nothing where there is none yet. */
  async textOf(line: LineDocument): Promise<string | undefined> {
    await this.#joining;
    if (this.#unread) await this.settled();
    await this.#joining;
    if (this.#shown.text === undefined || !this.#good) return undefined;
    if (this.#good.line === line) return this.#good.text;
    const written = await client.write(this.#texts.get(line) ?? this.#good.text, line);
    if (line === this.port.line()) this.#took(written, line);
    return written.ok ? written.text : undefined;
  }

  /** Somebody else's text and this one put together, so that it says `line`. */
  async merged(theirs: string, line: LineDocument): Promise<string> {
    const ours = this.#good?.text ?? "";
    const both = theirs && ours ? await client.merge(this.given.text, ours, theirs) : theirs || ours;
    const written = await client.write(both, line);
    return written.text;
  }

  /** `line`, which comes next, was read from this text: its comments come with it. */
  async bring(text: string, line: LineDocument): Promise<void> {
    await this.open();
    const before = this.port.line();
    const was = await this.textOf(before);
    const written = await client.write(text, line);
    if (was !== undefined) this.#texts.set(before, was);
    if (written.ok) this.#texts.set(line, written.text);
  }

  /** The server has this text now. */
  saved(text: string): void {
    this.given.text = text;
    this.#theirs = undefined;
    if (this.#shown.text === text) this.#kept.forget();
  }

  /** Somebody else stored this text. */
  stored(text: string | undefined): void {
    this.#theirs = text;
  }

  /** The line has what somebody else saved: the text says both, with the comments of both. */
  othersChanged(): void {
    this.#joining = this.#joining.then(() => this.#joined());
  }

  async #joined(): Promise<void> {
    const [theirs, good, base, line] = [this.#theirs, this.#good, this.given.text, this.port.line()];
    const ours = good?.text ?? "";
    // A text that cannot be read has no document to be put together with; once it can be, it is.
    if (this.#isAhead || (this.#shown.text === undefined && !theirs)) return;
    const both = theirs && ours ? await client.merge(base, ours, theirs) : theirs || ours;
    const written = await client.write(both, line);
    if (this.#isAhead || this.#theirs !== theirs) return;
    if (this.#good !== good) return this.#joined();
    if (theirs !== undefined) this.given.text = theirs;
    this.#theirs = undefined;
    this.#took(written, line);
    if (written.text === this.given.text) this.#kept.forget();
  }

  /** Brings whoever edits the text to what cannot be read. */
  seekFault(): void {
    this.#set({ sought: this.#shown.fault?.at });
  }

  arrived(): void {
    this.#set({ sought: undefined });
  }

  /** Gives up what cannot be read, for what the canvas shows. */
  async giveUp(): Promise<void> {
    const good = this.#good?.text ?? "";
    this.#unread = false;
    this.#kept.forget();
    this.#set({ text: good, fault: undefined });
    await (this.#theirs === undefined ? this.#write(good, this.port.line()) : this.#follow());
  }

  async #read(): Promise<void> {
    const text = this.#shown.text ?? "";
    const question = this.#asked;
    const answer = await client.read(text);
    if (question !== this.#asked) return;
    this.#unread = false;
    if (!answer.ok) return this.#faulty(text, answer);
    if (!canBeDrawn(answer.value)) {
      const at = answer.places[nearest(undrawablePath(answer.value) ?? "", answer.places)]?.[0] ?? 0;
      return this.#faulty(text, { message: say("textNotDrawn"), at });
    }
    const before = this.port.line();
    const line = client.shared<LineDocument>(before, answer.value);
    const from = this.#good?.line ?? before;
    this.#good = { text, line };
    this.#set({ fault: undefined, places: answer.places });
    if (line === before) {
      this.port.worded();
      this.#good = { text, line: this.port.line() };
    } else {
      // What changed on the canvas while the text could not be read, by others say, is in no text yet.
      this.port.became(from === before ? line : merge(from, line, before, () => "mine").document);
    }
    if (this.#theirs !== undefined || this.port.line() !== this.#good.line) void this.#follow();
  }

  #faulty(text: string, { message, at }: { message: string; at: number }): void {
    this.#set({ fault: { message, at, line: text.slice(0, at).split("\n").length } });
  }

  /** Writes what the canvas shows into the text. */
  async #follow(): Promise<void> {
    const line = this.port.line();
    const good = this.#good;
    if (this.#isAhead || !good) return;
    // Their text first: where the line's own change is written before it, their comment there would go.
    if (this.#theirs !== undefined) return this.othersChanged();
    this.#asked += 1;
    const question = this.#asked;
    const written =
      good.line === line ? await client.read(good.text) : await client.write(this.#texts.get(line) ?? good.text, line);
    if (question === this.#asked && line === this.port.line()) this.#took(written, line);
  }

  async #write(text: string, line: LineDocument): Promise<void> {
    this.#took(await client.write(text, line), line);
  }

  /** `said` is the text of `line`. What came while it was written has the last word: what was typed, and another line,
   * which is written in its turn. */
  #took(said: Answered, line: LineDocument): void {
    if (!said.ok || this.#isAhead) return;
    this.#good = { text: said.text, line };
    this.#set({ text: said.text, places: said.places });
    if (line !== this.port.line()) void this.#follow();
  }

  #keep(leads: boolean): void {
    const text = this.#shown.text;
    if (text !== undefined) this.#kept.keep({ base: this.given.text, text, leads });
  }

  #set(changed: Partial<Shown>): void {
    this.#shown = { ...this.#shown, ...changed };
    this.port.changed();
  }
}

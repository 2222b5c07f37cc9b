/** Server form, as long as something is typed in it: asks for its HTML, sends what was typed, makes one command of
 * the answer. It outlives the place where it is shown, so that nothing typed is lost when something else is chosen. */
import { createStore } from "zustand/vanilla";
import { announce } from "../../ts/dom";
import type { Deed, Form } from "../api/line";
import { fieldsTyped, keepTyped } from "../saving/typed";
import { turn } from "../shell/keystrokes";
import { say } from "../shell/words";
import type { LineDocument } from "../store/document";
import { type Fragment, same } from "../store/patch";
import type { Editor, Taken } from "../store/store";
import { changeOf, expectedOf } from "./formChange";
import { faultOf, focusOn, valuesIn } from "./formControls";
import { isControl, morph, remember } from "./morph";
import { outlineOf, type Subject, selectionOf } from "./subjects";

type DoorState = "loading" | "ready" | "away" | "signed-out" | "refused";

/** The line that goes along with what is sent, and the part as it is in there. */
interface Along extends Taken {
  expected: Fragment;
}

interface Sent {
  fragment: Fragment;
  typed: ReadonlyMap<string, string[]>;
  deed: Deed | undefined;
  peek: boolean;
  /** Part of the line that the form was to show. */
  shown: string;
  carried: Along | undefined;
}

const AGAIN = [1000, 2000, 5000, 10_000] as const;
const htmx = (): { process(element: Element): void } | undefined =>
  (window as { htmx?: { process(element: Element): void } }).htmx;

export class Door {
  readonly store = createStore<{ state: DoorState }>(() => ({ state: "loading" }));
  /** Values of controls that differ from the document, by field. */
  readonly #typed = new Map<string, string[]>();
  /** Fields of which the server refused the text: their names, and why. */
  readonly #refused = new Map<string, { label: string; why: string }>();
  /** Values of the controls when the form was drawn, as JSON. */
  #drawn = new Map<string, string>();
  /** Fragment and names that the form was drawn from. */
  #shown = "";
  #el: HTMLElement | undefined;
  #deeds: Deed[] = [];
  #wanted: "show" | "send" | undefined;
  #busy = false;
  #waiting = false;
  #failures = 0;
  #timer = 0;
  #stop: (() => void) | undefined;

  constructor(
    private readonly editor: Editor,
    private subject: Subject,
    private readonly scope: string,
    private readonly moved: (from: string, to: string) => void,
    private readonly kept: (keep: boolean) => void,
  ) {
    for (const [name, values] of fieldsTyped(this.#place)) this.#typed.set(name, values);
  }

  get #place(): string {
    return `form ${this.scope} ${this.#name}`;
  }

  /** Typed text outlives the page, too. */
  #keepTyped(): void {
    keepTyped(this.#place, this.#typed.size > 0 ? JSON.stringify([...this.#typed]) : "");
  }

  /** Everybody who looks at the line knows which of its fields hold something else. */
  #tellRefused(): void {
    const { fragment, title } = this.subject;
    const fields = [...this.#refused].map(([field, fault]) => ({
      form: this.#place,
      field,
      ...fault,
      title,
      selection: selectionOf(this.subject),
      isThere: (line: LineDocument) => fragment(line) !== undefined,
    }));
    this.editor.refuses(this.#place, fields);
  }

  /** Tells whether something typed is not in the document yet. */
  get pending(): boolean {
    return this.#typed.size > 0 || this.#deeds.length > 0;
  }

  /** Tells whether a button was pressed that the server has not answered. */
  get waiting(): boolean {
    return this.#deeds.length > 0;
  }

  attach(el: HTMLElement): void {
    this.kept(true);
    const again = this.#el === el && el.dataset.form === this.#name;
    this.#el = el;
    this.#listen(el);
    if (again) {
      this.refresh();
      return;
    }
    el.replaceChildren();
    el.dataset.form = this.#name;
    this.#shown = "";
    this.#drawn = new Map();
    this.#become("loading");
    this.#ask(this.#typed.size > 0 ? "send" : "show");
  }

  detach(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#flush();
    if (!this.pending && !this.#busy) this.kept(false);
  }

  /** The line changed: by this form, or by anything else. */
  refresh(): void {
    if (this.#stop && this.#shown !== this.#now()) this.#ask("show");
  }

  retry(): void {
    this.#failures = 0;
    this.#ask(this.#typed.size > 0 ? "send" : "show");
  }

  get #name(): string {
    return `${this.subject.what} ${this.subject.own}`;
  }

  #now(): string {
    return JSON.stringify([this.subject.fragment(this.editor.line), outlineOf(this.editor.line)]);
  }

  #become(state: DoorState): void {
    if (this.store.getState().state !== state) this.store.setState({ state });
  }

  // What happens in the form

  #listen(el: HTMLElement): void {
    this.#stop?.();
    const listeners: [string, (event: Event) => void][] = [
      ["input", (event) => this.#note(event.target)],
      [
        "change",
        (event) => {
          this.#note(event.target);
          this.#flush();
        },
      ],
      ["focusout", () => this.#flush()],
      ["submit", (event) => event.preventDefault()],
      ["keydown", (event) => this.#key(event as KeyboardEvent)],
      ["click", (event) => this.#click(event)],
    ];
    for (const [type, listener] of listeners) el.addEventListener(type, listener);
    const online = (): void => this.retry();
    window.addEventListener("online", online);
    this.#stop = () => {
      for (const [type, listener] of listeners) el.removeEventListener(type, listener);
      window.removeEventListener("online", online);
    };
  }

  #note(target: EventTarget | null): void {
    if (!isControl(target)) return;
    // A combobox types into one control and counts by another.
    const name = target.name || target.closest("[data-name]")?.getAttribute("data-name") || "";
    if (!this.#drawn.has(name)) return;
    const values = valuesIn(this.#el).get(name) ?? [];
    if (!this.#refused.has(name) && JSON.stringify(values) === this.#drawn.get(name)) this.#typed.delete(name);
    else this.#typed.set(name, values);
    this.#keepTyped();
  }

  /** Tells whether something is typed that the server has not said a word about. */
  get #changed(): boolean {
    return [...this.#typed].some(
      ([name, values]) => !this.#refused.has(name) || JSON.stringify(values) !== this.#drawn.get(name),
    );
  }

  #flush(): void {
    if (this.#changed) this.#ask("send");
  }

  #key(event: KeyboardEvent): void {
    const control = event.target;
    if (!isControl(control)) return;
    const name = control.closest("[data-name]")?.getAttribute("data-name") ?? "";
    if (
      event.key === "Enter" &&
      control.getAttribute("aria-expanded") !== "true" &&
      (event.ctrlKey || event.metaKey || control instanceof HTMLInputElement)
    ) {
      event.preventDefault();
      this.#flush();
    } else if (event.key === "Escape" && this.#typed.has(name)) {
      event.stopPropagation();
      this.#revert(name, control);
    } else if (!this.#typed.has(name)) turn(this.editor, event);
  }

  #revert(name: string, control: Element): void {
    const stored = control.closest("[data-name]")?.getAttribute("data-stored") ?? this.#drawn.get(name) ?? "[]";
    this.#typed.delete(name);
    this.#refused.delete(name);
    this.#keepTyped();
    this.#tellRefused();
    this.#drawn.set(name, stored);
    this.#shown = "";
    this.#ask("show");
  }

  #click(event: Event): void {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-do], [data-gate]") : null;
    if (!button) return;
    if (button.dataset.gate) {
      this.editor.select({ keys: [], gate: button.dataset.gate });
      return;
    }
    const { do: what = "", rows = "", index = "0", kind = "" } = button.dataset;
    this.#deeds.push({ do: what, rows, index: Number(index), kind });
    this.#ask("send");
  }

  // What is asked, and answered

  /** One question at a time: what is wanted meanwhile is asked with what is typed then, so that no late answer counts. */
  #ask(wanted: "show" | "send"): void {
    this.#wanted = this.#wanted === "send" ? "send" : wanted;
    if (!this.#busy) void this.#send();
  }

  async #send(): Promise<void> {
    const fragment = this.subject.fragment(this.editor.line);
    const purpose = this.#wanted === "send" && !this.#changed && this.#deeds.length === 0 ? "show" : this.#wanted;
    this.#wanted = undefined;
    const current = this.#now();
    const isReady = this.store.getState().state === "ready";
    if (!fragment || !purpose || (purpose === "show" && isReady && this.#shown === current)) {
      // What was to be sent was taken back, or its part is gone.
      this.#waits(false);
      return;
    }
    window.clearTimeout(this.#timer);
    this.#busy = true;
    if (purpose === "send") this.#waits(true);
    const deed = purpose === "send" ? this.#deeds[0] : undefined;
    const typed = new Map([...this.#typed].filter(([name]) => purpose === "send" || this.#refused.has(name)));
    const names = outlineOf(this.editor.line);
    const carried = await this.#carried(fragment, purpose === "send" ? typed : undefined, deed);
    const answer = await this.editor.api.form(this.subject.what, {
      fragment,
      own: this.subject.own,
      within: this.subject.within ?? "",
      scope: this.scope,
      names,
      typed: Object.fromEntries(typed),
      deed: deed ?? null,
      peek: purpose === "show",
      save: carried ? { expected: carried.expected, edit: carried.edit } : null,
    });
    this.#busy = false;
    if (answer.is !== "ok") {
      carried?.done();
      if (answer.is !== "refused") return this.#failed(answer.is, purpose);
      this.#deeds = [];
      this.#waits(false);
      return this.#become("refused");
    }
    this.#waits(false);
    // What was pressed meanwhile is asked from here, and waited for.
    this.#answered({ fragment, typed, deed, peek: purpose === "show", shown: current, carried }, answer.said);
    if (this.#wanted && !this.#busy) void this.#send();
  }

  /** Unsaved text goes along, with what is typed and pressed here where it can be told what that makes of it. */
  async #carried(fragment: Fragment, typed?: ReadonlyMap<string, string[]>, deed?: Deed): Promise<Along | undefined> {
    const expected = typed ? expectedOf(this.#el, fragment, typed, deed) : fragment;
    const change = typed && expected ? changeOf(this.subject, fragment, expected) : undefined;
    const carried = expected && (await this.editor.carry(change));
    return carried && { ...carried, expected };
  }

  /** Tells whether the line lacks what was typed here, for all who look at it. */
  #waits(now: boolean): void {
    if (now !== this.#waiting) this.editor.asks(now ? 1 : -1);
    this.#waiting = now;
  }

  #failed(state: DoorState, wanted: "show" | "send"): void {
    this.#wanted = this.#wanted === "send" ? "send" : wanted;
    this.#become(state);
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#send(), AGAIN[Math.min(this.#failures, AGAIN.length - 1)]);
    this.#failures += 1;
  }

  #answered({ fragment: sent, typed, deed, peek, shown, carried }: Sent, answer: Form): void {
    this.#failures = 0;
    const fresh = document.createElement("div");
    fresh.append(document.createRange().createContextualFragment(answer.html));
    const values = valuesIn(fresh);
    const refused = new Set(answer.refused);
    for (const [name, was] of typed) {
      // What was typed since is newer than the answer.
      if (deed || same(this.#typed.get(name), was)) this.#typed.delete(name);
      this.#refused.delete(name);
    }
    for (const name of refused) {
      if (this.#typed.has(name)) continue;
      this.#typed.set(name, values.get(name) ?? []);
      this.#refused.set(name, faultOf(fresh, name));
    }
    this.#keepTyped();
    if (deed) this.#deeds.shift();
    const wrong = peek ? undefined : [...refused].find((name) => typed.has(name));
    const { label, why } = faultOf(fresh, wrong ?? "");
    const undisturbed = shown === this.#now();
    this.#draw(fresh, values);
    if (!peek && !same(sent, answer.fragment)) this.#apply(sent, answer, carried);
    carried?.done(answer.saved ?? undefined);
    this.#shown = undisturbed ? this.#now() : shown;
    this.#become("ready");
    if (this.#deeds.length > 0) this.#ask("send");
    if (wrong !== undefined) announce(`${label}: ${why}`);
    this.#tellRefused();
    if (answer.focus) focusOn(answer.focus);
    this.refresh();
    if (!this.#stop && !this.pending) this.kept(false);
  }

  #apply(sent: Fragment, { fragment, label, saved }: Form, carried: Along | undefined): void {
    const { line } = this.editor;
    const words = say("changedFields", this.subject.title(line), label);
    const { apply, renames, rekeyed } = changeOf(this.subject, sent, fragment);
    if (rekeyed) {
      keepTyped(this.#place, "");
      this.editor.refuses(this.#place, []);
      this.subject = rekeyed.subject;
      this.#keepTyped();
      this.moved(rekeyed.from, rekeyed.to);
      if (this.#el) this.#el.dataset.form = this.#name;
    }
    // What was saved is the very line that the server has, where nothing else happened to it meanwhile.
    const known = saved && carried?.of === line ? carried.line : undefined;
    this.editor.run({ label: words, apply: known ? () => known : apply, renames }, rekeyed?.selection);
  }

  #draw(fresh: Element, values: Map<string, string[]>): void {
    this.#drawn = new Map([...values].map(([name, each]) => [name, JSON.stringify(each)]));
    const [el, form] = [this.#el, fresh.firstElementChild];
    if (!this.#stop || !el || !form || el.dataset.form !== this.#name) return;
    const live = el.firstElementChild;
    if (live) {
      morph(live, form, (name) => this.#typed.has(name) && !this.#refused.has(name));
    } else {
      remember(form);
      el.append(form);
    }
    htmx()?.process(el);
    el.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true }));
  }
}

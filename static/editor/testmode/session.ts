/** A test of the line that is drawn: its steps, and how far one has gone back. Where they lead the server says, for the
 * document as it is at that moment; when the line is edited meanwhile, the same steps are walked again. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

import { announce } from "../../ts/dom";
import type { Answer, Problem } from "../api/door";
import type { Item, Kept, Script, Step, Walked } from "../api/walk";
import { say } from "../shell/words";
import type { Json, LineDocument } from "../store/document";
import type { Editor } from "../store/store";

const AFTER_EDIT = 300;

export interface Session {
  open: boolean;
  steps: Step[];
  /** After how many of the steps one stands. */
  cursor: number;
  inputs: Record<string, Json>;
  /** The scenario that was opened. */
  script: Script | undefined;
  walked: Walked | undefined;
  busy: boolean;
  /** Why there is no walk: the document is no line, or the server is away. */
  problems: Problem[];
  /** Of the outcome that is filled in, by the place of its field. */
  faults: Record<string, string>;
  /** Where the walk goes otherwise since the line was edited. */
  differs: { step: number; was: string; now: string } | undefined;
  kept: Kept | undefined;
  doing: "run" | "generate" | "keep" | "delete" | undefined;
  refusal: string;
  coverage: boolean;
  /** Outcomes of real runs, by their station: offered where the test stands there. */
  pinned: Record<string, Outcome>;
  /** Counts how often one was sent here: then the test is what is looked at. */
  brought: number;
}

type Outcome = { [key: string]: Json };

const CLOSED: Session = {
  open: false,
  steps: [],
  cursor: 0,
  inputs: {},
  script: undefined,
  walked: undefined,
  busy: false,
  problems: [],
  faults: {},
  differs: undefined,
  kept: undefined,
  doing: undefined,
  refusal: "",
  coverage: false,
  pinned: {},
  brought: 0,
};

export class Test {
  readonly store = createStore<Session>(() => CLOSED);
  #asked = 0;
  #timer = 0;
  #line: LineDocument;
  /** How the walk went before the line was edited. */
  #before: Item[] = [];

  constructor(private readonly editor: Editor) {
    this.#line = editor.line;
    editor.store.subscribe(() => this.#edited());
  }

  get state(): Session {
    return this.store.getState();
  }

  // The walk

  /** From the start, or through a stored scenario. */
  begin(script?: Script, then?: (walked: Walked) => void): void {
    const steps = script?.steps ?? [];
    this.store.setState({
      open: true,
      script,
      steps,
      cursor: steps.length,
      inputs: script?.inputs ?? {},
      differs: undefined,
      faults: {},
      refusal: "",
    });
    this.#before = [];
    announce(script ? say("testOpened", script.name) : say("testBegun"));
    void this.#walk(then);
  }

  close(): void {
    this.store.setState({
      open: false,
      walked: undefined,
      problems: [],
      faults: {},
      differs: undefined,
      script: undefined,
    });
    announce(say("testClosed"));
  }

  /** What happens next. What came after this place is no more, unless it is the very same step. */
  choose(step: Step): void {
    const { steps, cursor, busy } = this.state;
    // The choices on the page are those of the step before: a second click is for none of what comes next.
    if (busy) return;
    const same = JSON.stringify(steps[cursor]) === JSON.stringify(step);
    const next = same ? steps : [...steps.slice(0, cursor), step];
    this.store.setState({ steps: next, cursor: cursor + 1, differs: undefined, faults: {} });
    this.#before = [];
    void this.#walk((walked) => this.#tell(walked));
  }

  /** An outcome field by field: the server makes a step of it, or says what is wrong with which field. */
  fill(at: string | undefined, values: Record<string, Json>): void {
    this.store.setState({ faults: {}, differs: undefined });
    this.#before = [];
    void this.#walk((walked) => this.#tell(walked), { ...(at ? { at } : {}), values });
  }

  /** The outcome of a real run as what happens next: now, or once the test stands at its station. */
  use(station: string, outcome: Outcome, name: string): void {
    const { pinned, brought } = this.state;
    this.store.setState({ pinned: { ...pinned, [station]: outcome }, brought: brought + 1 });
    const then = (walked: Walked): void => {
      if (stepOf(walked, station, outcome)) this.choosePinned(station);
      else announce(say("trialPinned", name));
    };
    const { open, walked, problems } = this.state;
    if (open && walked && problems.length === 0) then(walked);
    else this.begin(undefined, then);
  }

  choosePinned(station: string): void {
    const { walked, pinned } = this.state;
    const step = walked && stepOf(walked, station, pinned[station]);
    if (step) this.choose(step);
  }

  /** Once more, where the server did not answer. */
  again(): void {
    void this.#walk();
  }

  goTo(cursor: number): void {
    const most = (this.state.walked?.timeline.length ?? 1) - 1;
    const to = Math.max(0, Math.min(cursor, most));
    if (to === this.state.cursor) return;
    this.store.setState({ cursor: to, faults: {} });
    void this.#walk((walked) => announce(say("testStep", String(to), String(most), walked.timeline[to]?.went ?? "")));
  }

  /** Gives up the steps from this place on. */
  drop(): void {
    const length = (this.state.walked?.timeline.length ?? 1) - 1;
    this.store.setState({
      steps: this.state.steps.slice(0, length),
      cursor: Math.min(this.state.cursor, length),
      differs: undefined,
    });
    this.#before = [];
    void this.#walk();
  }

  setInput(key: string, value: Json | undefined): void {
    const { [key]: _, ...others } = this.state.inputs;
    this.store.setState({ inputs: value === undefined ? others : { ...others, [key]: value } });
    this.#later();
  }

  settleDifference(): void {
    this.#before = [];
    this.store.setState({ differs: undefined });
  }

  #edited(): void {
    if (this.editor.line === this.#line) return;
    this.#line = this.editor.line;
    if (!this.state.open) return;
    if (this.#before.length === 0) this.#before = this.state.walked?.timeline ?? [];
    this.#later();
  }

  #later(): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#walk(), AFTER_EDIT);
  }

  async #walk(then?: (walked: Walked) => void, form?: Record<string, Json>): Promise<void> {
    window.clearTimeout(this.#timer);
    const question = ++this.#asked;
    const { steps, cursor, inputs, script } = this.state;
    this.store.setState({ busy: true });
    const body = {
      document: this.editor.line,
      steps,
      cursor,
      inputs,
      task: script?.task ?? {},
      form,
      expect: script?.expect,
    };
    const answer = await this.editor.api.walk(body);
    if (question !== this.#asked || !this.state.open) return;
    if (answer.is !== "ok") {
      this.#refused(problemsOf(answer), form !== undefined);
      return;
    }
    const walked = answer.said;
    this.store.setState({
      walked,
      busy: false,
      problems: [],
      cursor: walked.cursor,
      ...(form ? { steps: walked.asked } : {}),
      differs: this.#difference(walked),
    });
    then?.(walked);
  }

  #refused(problems: Problem[], filled: boolean): void {
    if (filled && problems.some((each) => each.path.startsWith("form"))) {
      const faults = Object.fromEntries(problems.map((each) => [each.path.replace(/^form\.?/, ""), each.message]));
      this.store.setState({ busy: false, faults });
      announce(problems[0]?.message ?? "");
    } else {
      this.store.setState({ busy: false, problems });
    }
  }

  #tell(walked: Walked): void {
    const last = walked.timeline[walked.cursor];
    const ended = walked.over ? ` ${say("testEnded", walked.word)}` : "";
    announce(walked.refused ? walked.refused.message : `${last?.went ?? ""}${ended}`);
  }

  #difference(walked: Walked): Session["differs"] {
    const at = this.#before.findIndex((item, index) => walked.timeline[index]?.mark !== item.mark);
    const was = this.#before[at];
    if (!was) return undefined;
    const differs = { step: at, was: was.went, now: walked.timeline[at]?.went ?? walked.refused?.message ?? "" };
    announce(say("testDiffers", String(at)));
    return differs;
  }

  // The tests that are kept

  async load(): Promise<void> {
    if (this.state.kept === undefined) this.#list(await this.editor.api.scenarios());
  }

  /** What the address asks for: `?test` begins one, `?test=key` opens a stored one. */
  async fromAddress(): Promise<void> {
    const parameter = new URLSearchParams(window.location.search).get("test");
    if (parameter === null || this.state.open) return;
    if (parameter === "") return this.begin();
    await this.load();
    this.begin(this.state.kept?.scenarios.find((each) => each.key === parameter)?.document);
  }

  async runAll(): Promise<void> {
    await this.#do("run", this.editor.api.runScenarios(this.editor.line));
    const { kept } = this.state;
    if (kept?.scenarios.length && kept.failed !== null && kept.failed !== undefined) {
      announce(
        kept.failed === 0
          ? say("testsHold", String(kept.scenarios.length))
          : say("testsFailed", String(kept.failed), String(kept.scenarios.length)),
      );
    }
  }

  async generate(): Promise<void> {
    await this.#do("generate", this.editor.api.generateScenarios(this.editor.line));
    announce(say("testsMade", String(this.state.kept?.made ?? 0)));
  }

  async remove(key: string): Promise<void> {
    await this.#do("delete", this.#removed(key));
  }

  /** The walk as far as one stands, under a name; in the place of the scenario with this key. True once it is stored. */
  async keep(name: string, key = ""): Promise<boolean> {
    const { steps, cursor, inputs, script } = this.state;
    const body = {
      document: this.editor.line,
      name,
      key,
      inputs,
      task: script?.task ?? {},
      steps: steps.slice(0, cursor),
    };
    const answer = await this.#do("keep", this.editor.api.keepScenario(body));
    if (!answer) return false;
    const stored = answer.scenarios.find((each) => each.key === answer.key)?.document;
    this.store.setState({ script: stored, ...(stored ? { steps: stored.steps } : {}) });
    announce(say("testKept", answer.name));
    void this.#walk();
    return true;
  }

  showCoverage(on: boolean): void {
    this.store.setState({ coverage: on });
  }

  async #removed(key: string): Promise<Answer<Kept>> {
    const answer = await this.editor.api.deleteScenario(key);
    return answer.is === "ok" ? this.editor.api.scenarios() : answer;
  }

  async #do<T extends Kept>(doing: NonNullable<Session["doing"]>, asked: Promise<Answer<T>>): Promise<T | undefined> {
    this.store.setState({ doing, refusal: "" });
    const answer = await asked;
    this.store.setState({ doing: undefined });
    return this.#list(answer);
  }

  #list<T extends Kept>(answer: Answer<T>): T | undefined {
    if (answer.is === "ok") {
      this.store.setState({ kept: answer.said, refusal: "" });
      return answer.said;
    }
    const problems = problemsOf(answer);
    const refusal = problems.map((each) => (each.path ? `${each.path}: ${each.message}` : each.message)).join(" ");
    this.store.setState({ refusal });
    announce(refusal);
    return undefined;
  }
}

/** Undefined where no token at this station has to report. */
function stepOf({ tokens }: Walked, station: string, outcome: Outcome | undefined): Step | undefined {
  const here = tokens.some((token) => token.station === station && token.form !== null);
  if (!here || outcome === undefined) return undefined;
  return { ...(tokens.length > 1 ? { at: station } : {}), outcome };
}

/** Of an answer that is none; a server that is away, or does not know who asks, is one more. */
function problemsOf(answer: Exclude<Answer<unknown>, { is: "ok" }>): Problem[] {
  if (answer.is !== "refused" || answer.status === 403) return [{ path: "", message: say("testAway") }];
  const { detail, errors } = answer.problem;
  return errors.length > 0 ? errors : [{ path: "", message: detail }];
}

const tests = new WeakMap<Editor, Test>();

/** The one test of this editor. */
export function testOf(editor: Editor): Test {
  const session = tests.get(editor) ?? new Test(editor);
  tests.set(editor, session);
  return session;
}

export function useTest(editor: Editor): Session {
  return useStore(testOf(editor).store);
}

/** A whole document that is to take the place of the line: given as text, file or template, read by the server, looked at,
 * and applied as one command. What was given stays here until it is applied, also when the dialog is closed. */
import { createStore } from "zustand/vanilla";
import { announce } from "../../ts/dom";
import type { Problem } from "../api/door";
import type { Read, Starter } from "../api/line";
import * as client from "../code/client";
import type { Desk } from "../shell/desk";
import { say } from "../shell/words";
import { canBeDrawn, type LineDocument } from "../store/document";
import type { Editor } from "../store/store";

const MOST = 2_000_000;

/** How the server read it. */
type Asked =
  | { is: "refused"; problems: readonly Problem[] }
  | { is: "failed"; words: string }
  | { is: "read"; read: Read };

type Result =
  | { is: "none" }
  | { is: "reading" }
  | { is: "refused"; problems: readonly Problem[] }
  | { is: "failed"; words: string }
  /** `of`: the line that it was compared with. `moved`: not the one that it was first compared with. */
  | { is: "read"; read: Read; of: LineDocument; moved: boolean };

interface State {
  open: boolean;
  text: string;
  /** Of the file. */
  name: string;
  result: Result;
}

const all = new WeakMap<Editor, Importing>();

export function importOf(editor: Editor): Importing {
  const importing = all.get(editor) ?? new Importing(editor);
  all.set(editor, importing);
  return importing;
}

class Importing {
  readonly store = createStore<State>(() => ({ open: false, text: "", name: "", result: { is: "none" } }));
  #asked = 0;

  constructor(private readonly editor: Editor) {}

  get state(): State {
    return this.store.getState();
  }

  show(): void {
    this.store.setState({ open: true });
  }

  close(): void {
    this.store.setState({ open: false });
  }

  typed(text: string): void {
    this.#asked += 1;
    this.store.setState({ text, name: text === "" ? "" : this.state.name, result: { is: "none" } });
  }

  /** Opens with this text, and says at once what it changes. */
  offer(text: string, name = ""): void {
    this.store.setState({ open: true, text, name, result: { is: "none" } });
    void this.read();
  }

  async file(file: File): Promise<void> {
    this.store.setState({ open: true });
    if (file.size > MOST) return this.#failed(say("importLarge"));
    try {
      this.offer(new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()), file.name);
    } catch {
      this.#failed(say("importNotText"));
    }
  }

  async read(moved = false): Promise<void> {
    if (this.state.text.length > MOST) return this.#failed(say("importLarge"));
    this.#asked += 1;
    const question = this.#asked;
    const of = this.editor.line;
    this.store.setState({ result: { is: "reading" } });
    const result = await this.#ask({ document: of, text: this.state.text });
    if (question !== this.#asked) return;
    this.store.setState({ result: result.is === "read" ? { ...result, of, moved } : result });
    if (moved) announce(say("importMoved"));
    if (result.is === "read") announce(say("importCount", String(countOf(result.read))));
    else announce(result.is === "failed" ? result.words : say("importRefused"));
  }

  /** Tells whether the line has it now; else the dialog says why. */
  async apply(): Promise<boolean> {
    const { result, name } = this.state;
    if (result.is !== "read") return false;
    if (this.editor.state.text.fault) {
      this.#failed(say("textFirst"));
      return false;
    }
    if (!(await this.#bring(result.read, result.of, name ? say("importedFile", name) : say("imported")))) {
      // Somebody else's change would be gone, and nobody has seen that.
      await this.read(true);
      return false;
    }
    this.store.setState({ open: false, text: "", name: "", result: { is: "none" } });
    return true;
  }

  async starters(): Promise<readonly Starter[]> {
    const answer = await this.editor.api.starters();
    return answer.is === "ok" ? answer.said : [];
  }

  /** Tells whether the line is like the template now; else why not was announced, and is answered. */
  async begin(starter: Starter): Promise<string> {
    const of = this.editor.line;
    const result = await this.#ask({ document: of, starter: starter.key });
    if (result.is === "failed") return result.words;
    if (result.is !== "read") return say("importRefused");
    return (await this.#bring(result.read, of, say("began", starter.name))) ? "" : say("importMoved");
  }

  async #bring({ document, text }: Read, of: LineDocument, label: string): Promise<boolean> {
    const shared = client.shared(of, document);
    const line = shared === of ? { ...of } : shared;
    await this.editor.text.bring(text, line);
    if (this.editor.line !== of) return false;
    this.editor.run({ label, apply: () => line }, { keys: [] });
    return this.editor.line === line;
  }

  async #ask(sent: { document: LineDocument; text?: string; starter?: string }): Promise<Asked> {
    const answer = await this.editor.api.read(sent);
    if (answer.is === "away") return { is: "failed", words: say("importAway") };
    if (answer.is === "signed-out") return { is: "failed", words: say("importDenied") };
    if (answer.is === "refused" && answer.status === 403) return { is: "failed", words: say("importDenied") };
    if (answer.is === "refused" && answer.problem.errors.length > 0) {
      return { is: "refused", problems: answer.problem.errors };
    }
    if (answer.is === "refused") return { is: "failed", words: say("importLarge") };
    const read = answer.said;
    return canBeDrawn(read.document) ? { is: "read", read } : { is: "failed", words: say("textNotDrawn") };
  }

  #failed(words: string): void {
    this.store.setState({ result: { is: "failed", words } });
    announce(words);
  }
}

export const countOf = ({ changes }: Read): number => changes.reduce((sum, { rows }) => sum + rows.length, 0);

/** A file that is let go on the page would take the place of the page. */
export function startDrops({ editor, mayEdit }: Desk): () => void {
  const isFile = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  const canvas = (): HTMLElement | null => document.querySelector(".ed-canvas");
  const takes = (event: DragEvent): boolean =>
    mayEdit && event.target instanceof Element && event.target.closest(".ed-canvas, .ed-import") !== null;
  const left = (): void => canvas()?.removeAttribute("data-drop");
  const over = (event: DragEvent): void => {
    if (!isFile(event)) return;
    event.preventDefault();
    if (event.dataTransfer) event.dataTransfer.dropEffect = takes(event) ? "copy" : "none";
    if (takes(event)) canvas()?.setAttribute("data-drop", say("importDrop"));
    else left();
  };
  const away = (event: DragEvent): void => {
    if (event.relatedTarget === null) left();
  };
  const dropped = (event: DragEvent): void => {
    left();
    if (!isFile(event)) return;
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file && takes(event)) void importOf(editor).file(file);
  };
  document.addEventListener("dragover", over);
  document.addEventListener("dragleave", away);
  document.addEventListener("drop", dropped);
  return () => {
    document.removeEventListener("dragover", over);
    document.removeEventListener("dragleave", away);
    document.removeEventListener("drop", dropped);
  };
}

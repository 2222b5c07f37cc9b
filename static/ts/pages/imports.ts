// The page of a new line takes files and folders, chosen or dropped. One document is read by the page itself; of several
// each is read here, and those that are chosen become lines. Without this file one file can be chosen.
import { announce } from "../dom";
import { type Found, found, isRead, type Named } from "../found";
import { say } from "../import-words";

interface Place {
  path: string;
  message: string;
  hint?: string;
  line?: number | null;
}

interface Told {
  system: string;
  key: string;
  name: string;
  stations: number;
  rules: number;
  gates: number;
  losses: Place[];
  saved: { key: string } | null;
}

interface Read {
  texts: Record<string, string>;
  told: Told;
  row: HTMLElement;
}

const MOST = 2_000_000;
const MOST_FILES = 500;
const TRIES = 20;
const LONGEST = 60;

function start(form: HTMLFormElement, shown: HTMLElement): void {
  const one = part<HTMLInputElement>(form, "[name=file]");
  const folder = part<HTMLInputElement>(form, "[name=folder]");
  const paths = part<HTMLInputElement>(form, "[name=paths]");
  part<HTMLElement>(form, "[data-folder]").hidden = false;
  part<HTMLElement>(form, "[data-drop-words]").hidden = false;
  one.multiple = true;
  const list = new FoundDocuments(form, shown);

  /** `sends`: one document goes to the page at once, as nothing else is to be chosen. */
  function take(given: Named<File>[], sends: boolean): void {
    list.close();
    const zipped = given.length === 1 && given[0]?.path.endsWith(".zip");
    const read = given.filter(({ path }) => isRead(path));
    const documents = zipped ? [{ name: "", files: given }] : found(read);
    const wrong = read.length > MOST_FILES ? say("many", MOST_FILES) : documents.length === 0 ? say("none") : "";
    if (wrong) {
      list.say(wrong);
    } else if (documents.length > 1) {
      one.value = folder.value = paths.value = "";
      void list.show(documents);
    } else {
      send(documents[0]?.files ?? []);
      if (sends) form.requestSubmit();
    }
  }

  /** Only the documents are sent, and their paths beside them, which an upload does not keep. */
  function send(files: Named<File>[]): void {
    const transfer = new DataTransfer();
    for (const { file } of files) transfer.items.add(file);
    const [alone, other] = files.length === 1 ? [one, folder] : [folder, one];
    other.value = "";
    alone.files = transfer.files;
    paths.value = alone === folder ? JSON.stringify(files.map(({ path }) => path)) : "";
  }

  one.addEventListener("change", () => {
    const chosen = named(one.files);
    list.close();
    folder.value = paths.value = "";
    if (chosen.length > 1) take(chosen, false);
  });
  folder.addEventListener("change", () => take(named(folder.files), false));
  drops(form, (given) => take(given, true));
}

/** A file that is let go on the page would take the place of the page. */
function drops(form: HTMLFormElement, take: (given: Named<File>[]) => void): void {
  const isFile = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  document.addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    form.dataset.dropping = "";
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) delete form.dataset.dropping;
  });
  document.addEventListener("drop", (event) => {
    delete form.dataset.dropping;
    if (!isFile(event) || !event.dataTransfer) return;
    event.preventDefault();
    // What was dropped is gone after this event: asked for now, read later.
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry());
    const files = named(event.dataTransfer.files);
    const hasFolder = entries.some((entry) => entry?.isDirectory);
    if (!hasFolder) take(files);
    else void Promise.all(entries.map((entry) => (entry ? filesOf(entry) : []))).then((all) => take(all.flat()));
  });
}

async function filesOf(entry: FileSystemEntry): Promise<Named<File>[]> {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) {
    if (!isRead(path)) return [];
    const file = await new Promise<File>((got, failed) => (entry as FileSystemFileEntry).file(got, failed));
    return [{ path, file }];
  }
  if (!isRead(`${path}/a.json`)) return [];
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const all: Named<File>[] = [];
  // It gives a hundred at a time.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((got, failed) => reader.readEntries(got, failed));
    if (some.length === 0 || all.length > MOST_FILES) return all;
    for (const child of some) all.push(...(await filesOf(child)));
  }
}

function named(files: FileList | null): Named<File>[] {
  return [...(files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** Several documents: what each becomes, and which of them become lines. */
class FoundDocuments {
  readonly #rows: HTMLElement;
  readonly #keep: HTMLButtonElement;
  #read: Read[] = [];
  #asked = 0;

  constructor(
    private readonly form: HTMLFormElement,
    private readonly shown: HTMLElement,
  ) {
    this.#rows = part(shown, "[data-found-rows]");
    this.#keep = part(shown, "[data-found-keep]");
    this.#keep.addEventListener("click", () => void this.keep());
    part(shown, "[data-found-away]").addEventListener("click", () => {
      this.close();
      part<HTMLElement>(form, "[name=file]").focus();
    });
    this.#rows.addEventListener("change", () => this.#count());
  }

  close(): void {
    this.#asked += 1;
    this.#read = [];
    this.shown.hidden = true;
    this.say("");
  }

  say(text: string): void {
    const place = part<HTMLElement>(this.form, "[data-import-fault]");
    place.textContent = text;
    place.hidden = !text;
    if (text) announce(text);
  }

  async show(documents: Found<File>[]): Promise<void> {
    const question = this.#asked;
    part(this.shown, "[data-found-title]").textContent = say("documents", documents.length);
    const rows = documents.map(({ name }) => this.#row(name));
    this.#rows.replaceChildren(...rows);
    this.shown.hidden = false;
    this.#count();
    this.shown.focus();
    for (const [index, { files }] of documents.entries()) {
      const row = rows[index] as HTMLElement;
      const texts = await textsOf(files);
      const answer = typeof texts === "string" ? texts : await post(this.form, { files: texts });
      if (question !== this.#asked) return;
      if (typeof answer === "string" || typeof texts === "string") {
        part(row, "[data-facts]").textContent = String(answer);
      } else if ("faults" in answer) {
        places(row, say("problems", answer.faults.length), answer.faults);
        part<HTMLDetailsElement>(row, "[data-more]").open = true;
        part(row, "[data-facts]").textContent = "";
      } else {
        this.#told(row, answer.told);
        this.#read.push({ texts, told: answer.told, row });
      }
      this.#count();
    }
    announce(say("documents", documents.length));
  }

  async keep(): Promise<void> {
    this.#keep.disabled = true;
    for (const file of this.#read) {
      const box = part<HTMLInputElement>(file.row, "[data-found-choose]");
      if (!box.checked || box.disabled) continue;
      box.disabled = true;
      const answer = await this.#kept(file);
      if (typeof answer === "string") {
        part(file.row, "[data-facts]").textContent = answer;
        box.disabled = false;
        continue;
      }
      const link = part<HTMLAnchorElement>(file.row, "[data-open]");
      link.href = (this.form.dataset.drawn ?? "").replace("/_/", `/${encodeURIComponent(answer.key)}/`);
      link.textContent = say("open", file.told.name);
      link.hidden = false;
      announce(say("kept", file.told.name));
    }
    this.#count();
    this.#rows.querySelector<HTMLElement>("[data-open]:not([hidden])")?.focus();
  }

  /** Under the first key that is free. */
  async #kept({ texts, told }: Read): Promise<{ key: string } | string> {
    for (let number = 1; number <= TRIES; number++) {
      const key = number === 1 ? told.key : `${told.key.slice(0, LONGEST)}-${number}`;
      const answer = await post(this.form, { files: texts, save: true, losses: told.losses.length, key });
      if (typeof answer === "string") return answer;
      if ("told" in answer) return answer.told.saved ?? say("failed");
      if (!answer.taken) return answer.faults[0]?.message ?? say("failed");
    }
    return say("failed");
  }

  #row(name: string): HTMLElement {
    const template = part<HTMLTemplateElement>(this.shown, "template");
    const row = (template.content.cloneNode(true) as DocumentFragment).firstElementChild as HTMLElement;
    part(row, "[data-name]").textContent = name || "/";
    part(row, "[data-facts]").textContent = say("reading");
    return row;
  }

  #told(row: HTMLElement, told: Told): void {
    const numbers = [say("stations", told.stations), say("rules", told.rules), say("gates", told.gates)];
    part(row, "[data-facts]").textContent = [told.name, told.system || "Gateline", ...numbers].join(" · ");
    const box = part<HTMLInputElement>(row, "[data-found-choose]");
    box.disabled = false;
    box.checked = true;
    if (told.losses.length > 0) places(row, say("different", told.losses.length), told.losses);
  }

  #count(): void {
    const chosen = this.#rows.querySelectorAll("[data-found-choose]:checked:enabled").length;
    this.#keep.textContent = say("keep", chosen);
    this.#keep.disabled = chosen === 0;
  }
}

function places(row: HTMLElement, title: string, all: readonly Place[]): void {
  part(row, "[data-count]").textContent = title;
  part<HTMLElement>(row, "[data-more]").hidden = false;
  part(row, "[data-places]").replaceChildren(
    ...[...bySaid(all)].map(([said, its]) => {
      const item = document.createElement("li");
      const [words, at] = [document.createElement("span"), document.createElement("span")];
      words.textContent = `${said.charAt(0).toUpperCase()}${said.slice(1)}${said.endsWith(".") ? "" : "."}`;
      at.className = "muted mono converted-places";
      at.append(...its.map(placed));
      item.append(words, at);
      return item;
    }),
  );
}

/** What is said of several places stands there once. */
function bySaid(all: readonly Place[]): Map<string, Place[]> {
  const byDocument = new Map<string, Place[]>();
  for (const problem of all) {
    const sentence = problem.hint ? `${problem.message}: ${problem.hint}` : problem.message;
    byDocument.set(sentence, [...(byDocument.get(sentence) ?? []), problem]);
  }
  return byDocument;
}

function placed({ path, line }: Place): HTMLElement {
  const made = document.createElement("span");
  made.textContent = [path, line ? say("line", line) : ""].filter(Boolean).join(" · ");
  return made;
}

/** By their path, or why not. */
async function textsOf(files: readonly Named<File>[]): Promise<Record<string, string> | string> {
  if (files.reduce((sum, { file }) => sum + file.size, 0) > MOST) return say("large");
  const texts: Record<string, string> = {};
  try {
    for (const { path, file } of files) {
      texts[path] = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    }
  } catch {
    return say("notText");
  }
  return texts;
}

type Answer = { told: Told } | { faults: Place[]; taken: boolean } | string;

async function post(form: HTMLFormElement, body: unknown): Promise<Answer> {
  const token = part<HTMLInputElement>(form, "[name=csrfmiddlewaretoken]").value;
  const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": token };
  try {
    const response = await fetch(form.dataset.import ?? "", { method: "POST", headers, body: JSON.stringify(body) });
    const answer = await response.json();
    if (response.ok) return { told: answer as Told };
    const faults: Place[] = answer.errors?.length ? answer.errors : [{ path: "", message: answer.detail }];
    return { faults, taken: response.status === 409 };
  } catch {
    return say("failed");
  }
}

function part<T extends Element = HTMLElement>(of: ParentNode, selector: string): T {
  return of.querySelector(selector) as T;
}

const form = document.querySelector<HTMLFormElement>("form[data-import]");
const section = document.querySelector<HTMLElement>("[data-found]");
if (form && section) start(form, section);

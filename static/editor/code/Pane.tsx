/** The text of the line, edited: CodeMirror with the schema of the document. Loaded when it is first opened. */
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, redo, redoDepth, undo, undoDepth } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Annotation, EditorState, StateEffect, StateField, Transaction } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { say } from "../shell/words";
import { type Editor, useEditor } from "../store/store";
import { spotOf } from "./context";
import { chosenPlace, findingsIn, selectionAt } from "./places";
import { namesOf, Schema, stepsOfKey } from "./schema";
import { theme } from "./theme";
import type { Obj } from "./values";

/** A change that did not come from the keyboard: the text followed the canvas. */
const follows = Annotation.define<boolean>();
const choose = StateEffect.define<{ from: number; to: number } | null>();

const chosenLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marked, transaction) {
    let next = marked.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(choose)) next = effect.value ? linesOf(transaction.state, effect.value) : Decoration.none;
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function linesOf(state: EditorState, { from, to }: { from: number; to: number }): DecorationSet {
  const mark = Decoration.line({ class: "ed-code-chosen" });
  const [first, last] = [state.doc.lineAt(from).number, state.doc.lineAt(to).number];
  return Decoration.set(
    Array.from({ length: last - first + 1 }, (_, each) => mark.range(state.doc.line(first + each).from)),
  );
}

let schema: Promise<Schema | undefined> | undefined;

function loaded(url: string | undefined): Promise<Schema | undefined> {
  schema ??= url
    ? fetch(url).then(
        async (answer) => (answer.ok ? new Schema((await answer.json()) as Obj) : undefined),
        () => undefined,
      )
    : Promise.resolve(undefined);
  return schema;
}

export default function Pane({
  editor,
  mayEdit,
  leave,
  switchView,
}: {
  editor: Editor;
  mayEdit: boolean;
  leave(): void;
  switchView(): void;
}) {
  const { text, findings, selection } = useEditor(editor);
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const fromHere = useRef(false);

  useEffect(() => {
    if (!place.current) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: editor.state.text.text ?? "",
        extensions: [
          EditorView.cspNonce.of(document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? ""),
          EditorState.readOnly.of(!mayEdit),
          EditorView.contentAttributes.of({
            "aria-label": say("textOf"),
            tabindex: "0",
            spellcheck: "false",
            autocapitalize: "off",
          }),
          EditorView.lineWrapping,
          lineNumbers(),
          foldGutter(),
          lintGutter(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          history(),
          drawSelection(),
          indentOnInput(),
          indentUnit.of("  "),
          bracketMatching(),
          closeBrackets(),
          highlightSelectionMatches(),
          search(),
          yaml(),
          syntaxHighlighting(classHighlighter),
          theme,
          chosenLines,
          autocompletion({ override: [(context) => completions(editor, context)], icons: false }),
          hoverTooltip((shown, at) => meaning(editor, shown, at)),
          keymap.of([
            {
              key: "Mod-z",
              run: (each) => (undoDepth(each.state) > 0 ? undo(each) : done(() => editor.undo())),
              preventDefault: true,
            },
            {
              key: "Mod-Shift-z",
              run: (each) => (redoDepth(each.state) > 0 ? redo(each) : done(() => editor.redo())),
              preventDefault: true,
            },
            { key: "Shift-Alt-c", run: () => done(switchView), preventDefault: true },
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...lintKeymap,
            ...searchKeymap,
            ...foldKeymap,
            ...historyKeymap,
            ...defaultKeymap,
            { key: "Escape", run: () => done(leave) },
          ]),
          EditorView.updateListener.of((update) => {
            const ours = update.transactions.some((each) => each.annotation(follows));
            if (update.docChanged && !ours) editor.text.typed(update.state.doc.toString());
            if (
              update.selectionSet &&
              !update.docChanged &&
              update.view.hasFocus &&
              update.transactions.some((each) => each.isUserEvent("select"))
            ) {
              const selected = selectionAt(editor.line, editor.state.text.places, update.state.selection.main.head);
              if (!selected) return;
              fromHere.current = true;
              editor.select(selected);
            }
          }),
        ],
      }),
    });
    view.current = made;
    editor.textIsShown = true;
    void editor.text.open();
    return () => {
      editor.textIsShown = false;
      made.destroy();
      view.current = undefined;
    };
  }, [editor, mayEdit, leave, switchView]);

  useEffect(() => {
    const here = view.current;
    if (here && text.text !== undefined) follow(here, text.text);
  }, [text.text]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: findingsIn reads both out of the editor's state.
  useEffect(() => {
    const here = view.current;
    if (!here) return;
    // Of the text that was last read: with what is typed since, its places move by themselves.
    const diagnostics = findingsIn(findings.findings, editor.state.text, here.state.doc.length);
    here.dispatch(setDiagnostics(here.state, diagnostics.map(asDiagnostic)));
  }, [editor, findings, text.fault, text.places]);

  useEffect(() => {
    const here = view.current;
    if (!here || text.sought === undefined) return;
    const anchor = Math.min(text.sought, here.state.doc.length);
    here.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    here.focus();
    editor.text.arrived();
  }, [editor, text.sought]);

  useEffect(() => {
    const here = view.current;
    if (!here) return;
    const chosenPart = chosenPlace(editor.line, selection, text.places);
    const inside = chosenPart && chosenPart.to <= here.state.doc.length;
    const effects: StateEffect<unknown>[] = [choose.of(inside ? chosenPart : null)];
    if (inside && !fromHere.current)
      effects.push(EditorView.scrollIntoView(here.state.doc.lineAt(chosenPart.from).from, { y: "start", yMargin: 48 }));
    fromHere.current = false;
    here.dispatch({ effects });
  }, [editor, selection, text.places]);

  return (
    <div className="ed-code-text">
      <div ref={place} />
    </div>
  );
}

/** Changes only what differs, so that the cursor and the folds of the rest stay where they are. */
function follow(view: EditorView, text: string): void {
  const now = view.state.doc.toString();
  if (now === text) return;
  let from = 0;
  while (from < now.length && from < text.length && now[from] === text[from]) from += 1;
  let tail = 0;
  while (tail < now.length - from && tail < text.length - from && now.at(-1 - tail) === text.at(-1 - tail)) tail += 1;
  view.dispatch({
    changes: { from, to: now.length - tail, insert: text.slice(from, text.length - tail) },
    annotations: [follows.of(true), Transaction.addToHistory.of(false)],
  });
}

function asDiagnostic(found: ReturnType<typeof findingsIn>[number]): Diagnostic {
  return {
    from: found.from,
    to: found.to,
    severity: found.severity,
    message: [found.message, found.hint].filter(Boolean).join(" "),
    renderMessage: () => {
      const box = document.createElement("div");
      const what = box.appendChild(document.createElement("strong"));
      what.textContent = found.message;
      if (found.hint) box.appendChild(document.createElement("p")).textContent = found.hint;
      return box;
    },
  };
}

async function completions(editor: Editor, context: CompletionContext): Promise<CompletionResult | null> {
  const before = context.state.sliceDoc(0, context.pos);
  const spot = spotOf(before);
  const word = before.slice(spot.from);
  if (!context.explicit && word === "" && spot.at === "key") return null;
  const known = await loaded(editor.given.urls.schema);
  if (!known) return null;
  const fits =
    spot.at === "key"
      ? known.keys(spot.steps).filter((each) => !spot.beside.includes(each.label))
      : known.values(spot.steps, namesOf(editor.line as Obj));
  if (fits.length === 0) return null;
  const options = fits.map(({ label, type, detail, info }) => ({
    label,
    type,
    apply: spot.at === "key" ? `${label}: ` : label.startsWith("@") ? JSON.stringify(label) : label,
    ...(detail ? { detail } : {}),
    ...(info ? { info } : {}),
  }));
  return { from: spot.from, options, validFor: /^[\w@$.-]*$/ };
}

async function meaning(editor: Editor, view: EditorView, at: number) {
  const line = view.state.doc.lineAt(at);
  const word = [...line.text.matchAll(/[A-Za-z_][\w-]*(?=\s*:)/g)].find(
    (each) => line.from + each.index <= at && at <= line.from + each.index + each[0].length,
  );
  if (!word) return null;
  const from = line.from + word.index;
  const known = await loaded(editor.given.urls.schema);
  const spot = spotOf(view.state.sliceDoc(0, from));
  const description = spot.at === "key" ? known?.meaning(stepsOfKey(spot, word[0])) : undefined;
  if (!description || (!description.about && description.values.length === 0)) return null;
  return {
    pos: from,
    end: from + word[0].length,
    above: true,
    create: () => {
      const dom = document.createElement("div");
      dom.className = "ed-code-meaning";
      if (description.about) dom.appendChild(document.createElement("p")).textContent = description.about;
      if (description.values.length > 0)
        dom.appendChild(document.createElement("p")).textContent = say("schemaGives", description.values.join(", "));
      return { dom };
    },
  };
}

/** A command for the keyboard that always applies. */
function done(run: () => void): true {
  run();
  return true;
}

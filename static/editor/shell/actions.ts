/** Every action of the editor, once: its name, its keys, when it can be done, and what it does. The keys, the tips of the
 * tools, the context menu, the shortcut sheet and the command palette are all made of this table; an action that is
 * not in it has none of them. A new one is a line here, or in a list of its own file that is spread in below. */
import { announce } from "../../ts/dom";
import { edgesOf } from "../canvas/flow";
import { type Direction, next, type Spot, step } from "../canvas/walking";
import { importOf } from "../saving/importing";
import * as commands from "../store/commands";
import { movedTo } from "../store/commands-canvas";
import { endsOf, ruleOf, rulesOf, startOf, stationOf } from "../store/document";
import { noteId, noteKey, notesOf } from "../store/notes";
import { faulty, unsavedOf } from "../store/store";
import { TEST } from "../testmode/actions";
import { CANVAS } from "./actions-canvas";
import { FORMS } from "./actions-forms";
import { duplicate, pasteFromMenu, removeChosen } from "./clipboard";
import type { Action, Desk } from "./desk";
import * as focus from "./focus";
import { VIEWS } from "./view";
import { say, type WordName } from "./words";

const chosen = (desk: Desk): readonly string[] => desk.editor.state.selection.keys;
const ruleChosen = (desk: Desk): string | undefined => desk.editor.state.selection.rule;
const oneStation = (desk: Desk): boolean =>
  chosen(desk).length === 1 && stationOf(desk.editor.line, chosen(desk)[0] ?? "") !== undefined;
const someStation = (desk: Desk): boolean =>
  chosen(desk).some((key) => stationOf(desk.editor.line, key) !== undefined || noteKey(key) !== undefined);
const anything = (desk: Desk): boolean => chosen(desk).length > 0;

const CHANGE: readonly Action[] = [
  {
    id: "undo",
    word: "undo",
    keys: ["Ctrl+Z"],
    group: "groupChange",
    icon: "undo",
    edits: true,
    when: (desk) => desk.editor.state.history.done.length > 0,
    run: ({ editor }) => editor.undo(),
  },
  {
    id: "redo",
    word: "redo",
    keys: ["Ctrl+Shift+Z"],
    also: ["Ctrl+Y"],
    group: "groupChange",
    icon: "redo",
    edits: true,
    when: (desk) => desk.editor.state.history.undone.length > 0,
    run: ({ editor }) => editor.redo(),
  },
  {
    id: "copy",
    word: "copy",
    keys: ["Ctrl+C"],
    group: "groupChange",
    icon: "copy",
    on: ["station"],
    native: true,
    when: someStation,
    run: () => void document.execCommand("copy"),
  },
  {
    id: "cut",
    word: "cut",
    keys: ["Ctrl+X"],
    group: "groupChange",
    on: ["station"],
    native: true,
    edits: true,
    when: someStation,
    run: () => void document.execCommand("cut"),
  },
  {
    id: "paste",
    word: "paste",
    keys: ["Ctrl+V"],
    group: "groupChange",
    on: ["canvas"],
    native: true,
    edits: true,
    run: (desk) => void pasteFromMenu(desk).then((done) => done || announce(say("pasteByKey"))),
  },
  {
    id: "duplicate",
    word: "duplicate",
    keys: ["Ctrl+D"],
    group: "groupChange",
    on: ["station"],
    edits: true,
    when: someStation,
    run: ({ editor }) => duplicate(editor),
  },
  { id: "selectAll", word: "selectAll", keys: ["Ctrl+A"], group: "groupChange", on: ["canvas"], run: selectAll },
  {
    id: "rename",
    word: "rename",
    keys: ["F2"],
    group: "groupChange",
    icon: "edit",
    on: ["station"],
    edits: true,
    when: oneStation,
    run: rename,
  },
  {
    id: "remove",
    word: "remove",
    keys: ["Del"],
    also: ["Backspace"],
    group: "groupChange",
    icon: "delete",
    on: ["station", "end", "rule"],
    danger: true,
    where: "canvas",
    edits: true,
    when: anything,
    run: remove,
  },
  {
    id: "gateOff",
    word: "takeGateOff",
    keys: ["Del"],
    where: "canvas",
    group: "groupChange",
    icon: "delete",
    on: ["gate"],
    danger: true,
    quiet: true,
    edits: true,
    when: (desk) => desk.editor.state.selection.gate !== undefined,
    run: remove,
  },
];

const RULES: readonly Action[] = [
  {
    id: "connect",
    word: "connect",
    keys: ["L"],
    group: "groupRules",
    icon: "link",
    on: ["station", "rule"],
    edits: true,
    when: oneStation,
    run: (desk) => desk.open("connect"),
  },
  {
    id: "ruleUp",
    word: "ruleUp",
    keys: ["Alt+Up"],
    group: "groupRules",
    icon: "arrow-up",
    on: ["rule"],
    where: "canvas",
    edits: true,
    when: (desk) => placeOfRule(desk, -1),
    run: (desk) => moveRule(desk, -1),
  },
  {
    id: "ruleDown",
    word: "ruleDown",
    keys: ["Alt+Down"],
    group: "groupRules",
    icon: "arrow-down",
    on: ["rule"],
    where: "canvas",
    edits: true,
    when: (desk) => placeOfRule(desk, 1),
    run: (desk) => moveRule(desk, 1),
  },
  {
    id: "startHere",
    word: "startHere",
    keys: ["S"],
    group: "groupRules",
    icon: "run",
    on: ["station"],
    edits: true,
    when: (desk) => oneStation(desk) && startOf(desk.editor.line) !== chosen(desk)[0],
    run: (desk) => desk.editor.run(commands.startAt(chosen(desk)[0] ?? "")),
  },
];

const walks = (["Right", "Left", "Down", "Up"] as const).map(
  (to): Action => ({
    id: `walk${to}`,
    word: `walk${to}`,
    keys: [to],
    group: "groupWalk",
    where: "canvas",
    quiet: true,
    run: (desk) => walk(desk, to),
  }),
);
const nudges = (
  [
    ["Left", -1, 0],
    ["Right", 1, 0],
    ["Up", 0, -1],
    ["Down", 0, 1],
  ] as const
).map(
  ([key, x, y]): Action => ({
    id: `nudge${key}`,
    word: "nudge",
    keys: [`Alt+${key}`],
    group: "groupView",
    where: "canvas",
    quiet: true,
    edits: true,
    when: (desk) => anything(desk) && !ruleChosen(desk),
    run: (desk) => nudge(desk, x, y),
  }),
);

const WALK: readonly Action[] = [
  {
    id: "inspect",
    word: "inspect",
    keys: ["Enter"],
    group: "groupWalk",
    icon: "settings",
    on: ["station", "rule", "gate", "end"],
    where: "canvas",
    quiet: true,
    when: anything,
    run: inspect,
  },
  {
    id: "back",
    word: "back",
    keys: ["Esc"],
    group: "groupWalk",
    where: "always",
    quiet: true,
    when: () => insideOf(".ed-inspector, .ed-palette, .ed-drawer, .editor-bar"),
    run: ({ editor }) => focus.backToCanvas(editor),
  },
  {
    id: "letGo",
    word: "letGo",
    keys: ["Esc"],
    group: "groupWalk",
    where: "canvas",
    quiet: true,
    when: anything,
    run: ({ editor }) => editor.select({ keys: [] }),
  },
  ...walks,
  {
    id: "walkNext",
    word: "walkNext",
    keys: ["PageDown"],
    group: "groupWalk",
    where: "canvas",
    quiet: true,
    run: (desk) => stepBy(desk, 1),
  },
  {
    id: "walkPrevious",
    word: "walkPrevious",
    keys: ["PageUp"],
    group: "groupWalk",
    where: "canvas",
    quiet: true,
    run: (desk) => stepBy(desk, -1),
  },
  {
    id: "walkStart",
    word: "walkStart",
    keys: ["Home"],
    group: "groupWalk",
    where: "canvas",
    quiet: true,
    run: walkStart,
  },
  {
    id: "toPalette",
    word: "toPalette",
    keys: ["Tab"],
    group: "groupWalk",
    where: "canvas",
    quiet: true,
    edits: true,
    when: ({ editor }) => editor.line.stations.length > 0 && insideOf(".react-flow"),
    run: (desk) => {
      desk.fold("palette", true);
      requestAnimationFrame(focus.intoPalette);
    },
  },
  {
    id: "nextArea",
    word: "nextArea",
    keys: ["F6"],
    group: "groupWalk",
    where: "always",
    quiet: true,
    run: ({ editor }) => focus.toRegion(editor, 1),
  },
  {
    id: "previousArea",
    word: "previousArea",
    keys: ["Shift+F6"],
    group: "groupWalk",
    where: "always",
    quiet: true,
    run: ({ editor }) => focus.toRegion(editor, -1),
  },
  {
    id: "menu",
    word: "openMenu",
    keys: ["Shift+F10"],
    also: ["ContextMenu"],
    group: "groupWalk",
    where: "canvas",
    quiet: true,
    run: (desk) => desk.open("menu"),
  },
];

const VIEW: readonly Action[] = [
  { id: "fit", word: "fit", keys: ["1"], group: "groupView", icon: "fit", on: ["canvas"], run: ({ fit }) => fit() },
  {
    id: "actualSize",
    word: "actualSize",
    keys: ["0"],
    group: "groupView",
    on: ["canvas"],
    run: ({ flow }) => void flow.zoomTo(1),
  },
  {
    id: "zoomIn",
    word: "zoomIn",
    keys: ["+"],
    also: ["="],
    group: "groupView",
    icon: "plus",
    run: ({ flow }) => void flow.zoomIn(),
  },
  {
    id: "zoomOut",
    word: "zoomOut",
    keys: ["-"],
    group: "groupView",
    icon: "minus",
    run: ({ flow }) => void flow.zoomOut(),
  },
  {
    id: "tidy",
    word: "tidy",
    keys: ["Shift+Alt+T"],
    group: "groupView",
    icon: "tidy",
    on: ["canvas"],
    edits: true,
    run: tidy,
  },
  ...nudges,
  {
    id: "togglePalette",
    word: "togglePalette",
    keys: ["Shift+Alt+P"],
    group: "groupView",
    edits: true,
    run: ({ fold }) => fold("palette"),
  },
  {
    id: "toggleInspector",
    word: "toggleInspector",
    keys: ["Shift+Alt+I"],
    group: "groupView",
    run: ({ fold }) => fold("inspector"),
  },
  {
    id: "toggleProblems",
    word: "toggleProblems",
    keys: ["Shift+Alt+M"],
    group: "groupView",
    run: ({ fold }) => fold("problems"),
  },
];

/** Pages of the line: `urls` says which there are for this person. */
const page = (id: string, word: WordName, keys: string[], url: string, icon: string, edits = false): Action => ({
  id,
  word,
  keys,
  group: "groupLine",
  icon,
  edits,
  when: ({ urls }) => Boolean(urls[url]),
  run: (desk) => leave(desk, url),
});

export const LINE: readonly Action[] = [
  { ...page("publish", "publish", ["Shift+P"], "publish", "upload", true), run: publish },
  page("tests", "testsPage", ["Shift+S"], "tests", "flask"),
  page("nameVersion", "nameVersion", ["Shift+N"], "nameVersion", "flag", true),
  page("history", "history", ["Shift+H"], "versions", "history"),
  {
    id: "import",
    word: "import",
    keys: ["Shift+I"],
    group: "groupLine",
    icon: "upload",
    on: ["canvas"],
    edits: true,
    run: ({ editor }) => importOf(editor).show(),
  },
  {
    id: "code",
    word: "switchView",
    keys: ["Shift+C"],
    also: ["Shift+Alt+C"],
    group: "groupView",
    icon: "output",
    run: (desk) => desk.setView(VIEWS[(VIEWS.indexOf(desk.view) + 1) % VIEWS.length] ?? "form"),
  },
];

export const ACTIONS: readonly Action[] = [
  ...TEST,
  ...CHANGE,
  ...RULES,
  ...WALK,
  ...VIEW,
  ...CANVAS,
  ...LINE,
  ...FORMS,
];

export function action(id: string): Action {
  const match = ACTIONS.find((each) => each.id === id);
  if (!match) throw new Error(`no action ${id}`);
  return match;
}

export const possible = (each: Action, desk: Desk): boolean =>
  (desk.mayEdit || !each.edits) && (each.when === undefined || each.when(desk));

/** Leaves for another page of the line once everything is stored; what cannot be stored keeps one here. */
function leave({ editor, urls }: Desk, url: string): void {
  const address = urls[url];
  if (!address) return;
  const go = (): boolean => {
    const { state } = editor.state.saving;
    if (editor.state.text.fault) {
      announce(say("textFirst"));
      return true;
    }
    if (state === "waiting" || state === "saving" || editor.state.asking > 0) return false;
    if (state === "saved") window.location.assign(address);
    else announce(say("saveFirst"));
    return true;
  };
  if (go()) return;
  const stop = editor.store.subscribe(() => {
    if (go()) stop();
  });
}

function publish(desk: Desk): void {
  // What was typed a moment ago is not stored yet: whether it differs is known after that.
  const { differs, saving } = desk.editor.state;
  const against = !differs && saving.state === "saved" ? say("nothingToPublish") : notPublished(desk);
  if (against) announce(against);
  else leave(desk, "publish");
}

/** Why the draft is not published yet, though it differs; "" where nothing is in the way. */
export function notPublished({ editor: { state } }: Desk): string {
  if (unsavedOf(state).length > 0) return say("fieldsFirst");
  return faulty(state) ? say("errorsFirst") : "";
}

const insideOf = (selector: string): boolean => Boolean(document.activeElement?.closest(selector));

function selectAll({ editor }: Desk): void {
  const keys = [
    ...editor.line.stations.map((each) => each.key),
    ...endsOf(editor.line),
    ...notesOf(editor.line).map((note) => noteId(note.key)),
  ];
  editor.select({ keys });
  announce(say("chosen", String(keys.length)));
}

function rename(desk: Desk): void {
  desk.fold("inspector", true);
  requestAnimationFrame(() => {
    const field = document.getElementById("ed-name");
    if (field instanceof HTMLInputElement) field.select();
    field?.focus();
  });
}

function remove({ editor }: Desk): void {
  removeChosen(editor);
  // What was deleted had the focus: it goes to what stays chosen, else to the canvas.
  requestAnimationFrame(() => focus.backToCanvas(editor));
}

function inspect(desk: Desk): void {
  desk.fold("inspector", true);
  focus.intoInspector();
}

function placeOfRule({ editor }: Desk, by: 1 | -1): boolean {
  const rule = editor.state.selection.rule;
  const ofRule = rule ? ruleOf(editor.line, rule) : undefined;
  return ofRule !== undefined && ofRule.index + by >= 0 && ofRule.index + by < rulesOf(ofRule.station).length;
}

function moveRule({ editor }: Desk, by: 1 | -1): void {
  const rule = editor.state.selection.rule ?? "";
  const ofRule = ruleOf(editor.line, rule);
  if (ofRule) editor.run(commands.moveRule(rule, ofRule.index + by));
}

const GRID = 8;

function nudge({ editor, flow }: Desk, x: number, y: number): void {
  const places: Record<string, [number, number]> = {};
  for (const key of editor.state.selection.keys) {
    const at = flow.getNode(key)?.position;
    if (at) places[key] = [at.x + x * GRID, at.y + y * GRID];
  }
  editor.run(movedTo(places));
}

function tidy({ editor, fit }: Desk): void {
  editor.run(commands.tidy());
  window.setTimeout(fit, 50);
}

function walk(desk: Desk, to: Direction): void {
  const { editor, flow, trail } = desk;
  const spot = focus.spotNow(editor);
  if (!spot) {
    walkStart(desk);
    return;
  }
  const target = next(
    { nodes: flow.getNodes(), edges: edgesOf(editor.line, editor.state.findings) },
    spot,
    to,
    trail.from,
  );
  if (!target) {
    announce(say("nothingThere"));
    return;
  }
  if (spot.kind === "node") trail.from = spot.id;
  focus.goTo(editor, flow, target);
}

function stepBy({ editor, flow }: Desk, by: 1 | -1): void {
  const spot = focus.spotNow(editor);
  const edges = edgesOf(editor.line, editor.state.findings);
  const id = spot?.kind === "edge" ? edges.find((each) => each.id === spot.id)?.source : spot?.id;
  const target = step({ nodes: flow.getNodes(), edges }, id, by);
  if (target) focus.goTo(editor, flow, target);
}

function walkStart({ editor, flow }: Desk): void {
  const start = startOf(editor.line);
  const spot: Spot | undefined = start === undefined ? undefined : { kind: "node", id: start };
  if (spot) focus.goTo(editor, flow, spot);
}

import {
  Background,
  BackgroundVariant,
  MiniMap,
  type NodeProps,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  type Viewport,
} from "@xyflow/react";
import {
  type ComponentType,
  type CSSProperties,
  createContext,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import type { Mark } from "../api/line";
import { boundsOfAll, type Drawn, drawnOf } from "../canvas/drawing";
import { EdgeLayer } from "../canvas/edges";
import { type AnyNode, Nodes, type RuleEdge } from "../canvas/flow";
import { gliding } from "../canvas/gliding";
import { drawnIn, laidOut } from "../canvas/laid";
import type { Laid } from "../canvas/layout";
import { LevelContext, levelOf, opening, useZoomed, whole } from "../canvas/level";
import { Measured, type Size } from "../canvas/Measured";
import { edgeMark } from "../canvas/marks";
import { nodeTypes } from "../canvas/nodes";
import { GatePath, Over, type PlaceMark } from "../canvas/path";
import { useDrawnZoom } from "../canvas/zooming";
import { edition, onLayout, takeStored } from "../drawing/layouts";
import { CANVAS_HELP } from "../drawing/text";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import type { LineDocument } from "../store/document";
import type { Findings } from "../store/findings";
import { placedNotes } from "../store/notes";
import { findingsOf } from "./findings";
import { Letters, lettersOf } from "./Letters";
import type { StoredPicture } from "./still";
import { NEIGHBOURING_ROWS, type Shown, tied } from "./tied";

/** A task's way (pipelines/web/tasks/path.py). */
export interface Path {
  places: Record<string, PlaceMark>;
  gates: Record<string, PlaceMark>;
  ways: Record<string, string>;
}

/** Addresses of what tells of a station, around its key. */
export interface Links {
  before: string;
  after: string;
}

interface Given {
  picture: StoredPicture;
  label: string;
  path?: Path | undefined;
  links?: Links | undefined;
  /** As high as the line is: without, as high as its place. */
  grows?: boolean;
  /** Beside words: nothing to be done with it. */
  small?: boolean;
  /** Called when the line is laid out and stands there. */
  onDrawn?: (() => void) | undefined;
}

type Marks = Record<string, Mark>;

const ICONS: Record<Mark, string> = {
  added: "plus",
  removed: "minus",
  changed: "station-route",
  edited: "edit",
  moved: "move",
};
/** Told by a sign before the words, too: nobody needs to see colours. */
const SIGNS: Record<Mark, string> = { added: "+ ", removed: "− ", changed: "± ", edited: "", moved: "" };
/** Behind the id of a rule's ghost that shows where it led before (pipelines/formats/overlay.py). */
const BEFORE = " (before)";
const MANY = 80;
const FEW = 8;
const NO_EDGES: RuleEdge[] = [];
const FIT = { maxZoom: 1, padding: 0.12 } as const;
const NO_MARKS = { stations: {}, rules: {}, ends: {} };
/** Around the line, and below it where the tools stand. */
const CLEAR = { side: 24, top: 24, bottom: 72 };
/** Rules in words follow at once. */
const ABOVE = { ...CLEAR, bottom: 56 };
const SMALL = { side: 8, top: 8, bottom: 8 };
/** Of a line that is as high as it needs: the least, and what of the window it may take; less above its rules in words. */
const HEIGHT = { least: 160, part: 0.72, most: 760, above: 0.64 };

type Any = ComponentType<NodeProps<never>>;

interface Told {
  path: Path | undefined;
  links: Links | undefined;
  letters(node: string): string;
}
const ToldContext = createContext<Told>({ path: undefined, links: undefined, letters: () => "" });

/** Leads to what tells of the station; over it, what a task did there. */
function OfTask({ node }: { node: NodeProps<AnyNode> }) {
  const { path, links } = useContext(ToldContext);
  const mark = path?.places[node.id];
  const name = node.type === "station" && "name" in node.data ? node.data.name : undefined;
  return (
    <>
      {links && name !== undefined ? (
        <a className="shown-link nodrag nopan" href={`${links.before}${encodeURIComponent(node.id)}${links.after}`}>
          <span className="visually-hidden">{[say("station", name), mark?.words].filter(Boolean).join(", ")}</span>
        </a>
      ) : null}
      {mark ? <Over mark={mark} /> : null}
    </>
  );
}

const marked = (Inner: Any) =>
  function MarkedNode(props: NodeProps<AnyNode>) {
    const markOf = "mark" in props.data ? (props.data.mark as Mark | undefined) : undefined;
    const mark = markOf && markOf in ICONS ? markOf : undefined;
    const letters = useContext(ToldContext).letters(props.id);
    return (
      <>
        <Inner {...(props as NodeProps<never>)} />
        <OfTask node={props} />
        {mark ? (
          <span className="diff-badge" data-mark={mark}>
            <Icon name={ICONS[mark]} size={12} />
            <span className="visually-hidden">{say(`mark_${mark}`)}</span>
          </span>
        ) : null}
        {letters ? (
          <span className="diff-letter diff-letter-of" data-mark={mark ?? "changed"}>
            {letters}
          </span>
        ) : null}
      </>
    );
  };

const NODES = Object.fromEntries(
  Object.entries(nodeTypes).map(([name, inner]) => [name, marked(inner as unknown as Any)]),
);

/** A line, only to look at: the one drawing of pages besides the editor's. */
export function LineCanvas(given: Given) {
  return (
    <ReactFlowProvider>
      <Measured>{(size) => <Placing {...given} size={size} />}</Measured>
    </ReactFlowProvider>
  );
}

function Placing(given: Given & { size: Size }) {
  const { picture, size, grows, small } = given;
  useSyncExternalStore(onLayout, edition);
  const labels = useMemo(() => findingsOf(picture), [picture]);
  const rulesBelow = document.querySelector(NEIGHBOURING_ROWS) !== null;
  const clear = small ? SMALL : rulesBelow ? ABOVE : CLEAR;
  const part = rulesBelow ? HEIGHT.above : HEIGHT.part;
  const most = grows ? Math.min(HEIGHT.most, window.innerHeight * part) : size.height;
  takeStored(picture.stored);
  drawnIn(size.width);
  const laid = laidOut(picture.document, labels);
  // Another line may be laid out just now: what was ready stays.
  const [kept, setKept] = useState<Laid>();
  const [moved, setMoved] = useState(false);
  if (laid.exact && laid !== kept && (!kept || kept.graph !== laid.graph)) setKept(laid);
  const now = laid.exact ? laid : kept;
  if (!now) return null;
  const drawn = drawnOf(picture.document, now, labels);
  const bounds = boundsOfAll([...now.boxes, ...placedNotes(picture.document, now.boxes)], drawn);
  const zoom = bounds ? Math.min(1, (size.width - 2 * clear.side) / bounds.width) : 1;
  const needed = bounds ? bounds.height * zoom + clear.top + clear.bottom : 0;
  const height = grows ? Math.max(HEIGHT.least, Math.min(most, needed)) : size.height;
  const style: CSSProperties | undefined = grows ? { blockSize: height } : undefined;
  // Until somebody moved it, its edge says that there is more below.
  const more = !small && needed > height + 1 && !moved;
  return (
    <div className="ed-flow" style={style}>
      <Flow
        {...given}
        size={{ width: size.width, height }}
        said={labels}
        laid={now}
        drawn={drawn}
        clear={clear}
        onMoved={() => setMoved(true)}
      />
      {more ? (
        <p className="line-goes-on" aria-hidden="true">
          {say("goesOn")}
        </p>
      ) : null}
    </div>
  );
}

interface Seen extends Given {
  size: Size;
  said: Findings;
  laid: Laid;
  drawn: readonly Drawn[];
  clear: typeof CLEAR;
  onMoved(): void;
}

function Flow({ picture, label, size, said, laid, drawn: plain, path, links, small = false, ...given }: Seen) {
  const { clear, onDrawn, onMoved } = given;
  const flow = useReactFlow<AnyNode, RuleEdge>();
  const [shown, setShown] = useState<Shown>();
  const figure = useRef<HTMLDivElement>(null);
  const { document: line, marks = NO_MARKS } = picture;
  const all = useMemo<Record<string, string>>(() => {
    const ways = Object.entries({ ...marks.rules, ...path?.ways }).map(([id, mark]) => [edgeMark(id), mark] as const);
    const places = Object.entries(path?.places ?? {}).map(([key, { state }]) => [key, state] as const);
    return { ...Object.fromEntries([...ways, ...places]), ...marks.ends, ...marks.stations };
  }, [marks, path]);
  const drawn = useMemo(() => withSigns(plain, marks.rules), [plain, marks]);
  const counts = useMemo(
    () => ({ path, links, letters: (node: string) => lettersOf({ picture, drawn }, node) }),
    [path, links, picture, drawn],
  );
  const made = useRef(new Nodes());
  const nodes = useMemo(
    () =>
      made.current
        .of(line, laid.boxes, said, { keys: shown ? [shown.node] : [] }, all)
        .map((node) => withPorts(node, { ...marks.rules, ...path?.ways })),
    [line, laid, said, all, marks, path, shown],
  );
  const [first] = useState(() => viewOf(line, laid, drawn, size, clear));
  const zoom = useDrawnZoom(first.zoom);
  const level = levelOf(zoom);
  const near = useZoomed(line, laid.boxes, zoom);

  useEffect(() => onDrawn?.(), [onDrawn]);

  useEffect(() => {
    const chosen = (event: MouseEvent): void => {
      const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-show]") : null;
      if (!row) return;
      const node = row.dataset.show ?? "";
      setShown({ node, rule: row.dataset.showRule });
      if (row.matches(NEIGHBOURING_ROWS)) figure.current?.scrollIntoView({ block: "nearest" });
      else void flow.fitView({ ...FIT, nodes: [{ id: node }], padding: 1.2, duration: gliding() });
    };
    document.addEventListener("click", chosen);
    return () => document.removeEventListener("click", chosen);
  }, [flow]);
  useEffect(() => tied(setShown, figure), []);

  return (
    <LevelContext value={level}>
      <GatePath value={path?.gates}>
        <ToldContext value={counts}>
          <ReactFlow<AnyNode, RuleEdge>
            ref={figure}
            ariaLabelConfig={CANVAS_HELP}
            className={`ed-level-${level}${line.stations.length > MANY ? " ed-many" : ""}${near.className}`}
            style={near.style}
            nodes={nodes}
            edges={NO_EDGES}
            nodeTypes={NODES}
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable={false}
            elementsSelectable={false}
            edgesFocusable={false}
            deleteKeyCode={null}
            disableKeyboardA11y
            preventScrolling={false}
            zoomOnScroll={false}
            panOnDrag={!small}
            zoomOnPinch={!small}
            zoomOnDoubleClick={!small}
            minZoom={0.1}
            maxZoom={2}
            defaultViewport={first}
            onMoveStart={onMoved}
            onlyRenderVisibleElements={line.stations.length > MANY}
            proOptions={{ hideAttribution: true }}
            aria-label={label}
          >
            <Background variant={BackgroundVariant.Dots} gap={24} size={1.5} />
            <EdgeLayer
              drawn={drawn}
              level={level}
              cull={line.stations.length > MANY}
              chosenRule={shown?.rule}
              chosenGate={undefined}
              marks={all}
              drawing={undefined}
            />
            {small ? null : <Letters picture={picture} drawn={drawn} />}
            {line.stations.length > FEW && !small && !path ? (
              <MiniMap<AnyNode>
                pannable
                zoomable
                ariaLabel={say("minimap")}
                nodeClassName={minimapClass}
                nodeBorderRadius={8}
              />
            ) : null}
            {small ? null : <Tools flow={flow} />}
          </ReactFlow>
        </ToldContext>
      </GatePath>
    </LevelContext>
  );
}

function withSigns(drawn: readonly Drawn[], rules: Marks): Drawn[] {
  return drawn.map((each) => {
    const mark = rules[each.id];
    const words = each.words && `${mark ? SIGNS[mark] : ""}${each.words.replace(BEFORE, "")}`;
    return { ...each, label: each.label.replace(BEFORE, ""), words };
  });
}

function withPorts(node: AnyNode, rules: Marks): AnyNode {
  // Its label needs a role to be heard: here a node can be neither chosen nor focused.
  if (node.type === "end") return { ...node, ariaRole: "img" };
  if (node.type !== "station") return node;
  const ports = node.data.rules.map((rule) => ({
    ...rule,
    title: rule.title.replace(BEFORE, ""),
    mark: rules[rule.id],
  }));
  return { ...node, data: { ...node.data, rules: ports } } as AnyNode;
}

function viewOf(
  line: LineDocument,
  { boxes, rows }: Laid,
  drawn: readonly Drawn[],
  size: Size,
  clear: typeof CLEAR,
): Viewport {
  const bounds = boundsOfAll([...boxes, ...placedNotes(line, boxes)], drawn);
  if (!bounds || size.width === 0) return { x: 0, y: 0, zoom: 1 };
  return (clear === SMALL || rows.length > 0 ? whole : opening)(bounds, size, clear);
}

const minimapClass = (node: AnyNode): string => {
  const mark = "mark" in node.data ? node.data.mark : undefined;
  return mark ? `diff-map-${mark}` : "ed-map-station";
};

function Tools({ flow }: { flow: ReturnType<typeof useReactFlow<AnyNode, RuleEdge>> }) {
  const tools = [
    { icon: "minus", word: "zoomOut", run: () => flow.zoomOut() },
    { icon: "plus", word: "zoomIn", run: () => flow.zoomIn() },
    { icon: "fit", word: "fit", run: () => flow.fitView({ ...FIT, duration: gliding() }) },
  ] as const;
  return (
    <div className="diff-zoom">
      {tools.map(({ icon, word, run }) => (
        <button
          key={word}
          type="button"
          className="button button-quiet button-icon button-small"
          aria-label={say(word)}
          title={say(word)}
          onClick={() => void run()}
        >
          <Icon name={icon} />
        </button>
      ))}
    </div>
  );
}

import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  getViewportForBounds,
  MiniMap,
  type NodeChange,
  Panel,
  ReactFlow,
  SelectionMode,
  useReactFlow,
  useStore,
  type Viewport,
  ViewportPortal,
} from "@xyflow/react";
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { rejectingRule } from "../drawing/graph";
import { edition, onLayout } from "../drawing/layouts";
import { CANVAS_HELP } from "../drawing/text";
import { EditorContext } from "../shell/context";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { movedTo } from "../store/commands-canvas";
import { type LineDocument, nameOf, type Positions, ruleOf, stationOf } from "../store/document";
import type { Findings } from "../store/findings";
import { noteKey, placedNotes } from "../store/notes";
import { type Editor, useEditor } from "../store/store";
import type { DropPoint } from "./connecting";
import { boundsOfAll, type Drawn, drawnOf, onwardId } from "./drawing";
import { EdgeLayer } from "./edges";
import { type AnyNode, Nodes, type RuleEdge } from "./flow";
import { gliding } from "./gliding";
import { drawnIn, laidOut } from "./laid";
import { dragged, type Laid, type Row, START_ID } from "./layout";
import { LevelContext, levelOf, opening, useZoomed, whole } from "./level";
import { Measured, type Size } from "./Measured";
import { useMarks } from "./marks";
import { nodeTypes } from "./nodes";
import { useDrawing } from "./pointer";
import { useDrawnZoom } from "./zooming";

const GRID: [number, number] = [8, 8];
const NO_EDGES: RuleEdge[] = [];
/** From here on only what is in view is drawn: below, drawing all is quicker than asking what is in view. */
const MANY = 80;
/** So few that all is seen at once. */
const FEW = 5;

interface Given {
  editor: Editor;
  mayEdit: boolean;
  /** The list of targets for a station, where an edge was let go over nothing. */
  openTargets(station: string, at?: DropPoint): void;
}

export function Canvas(given: Given) {
  return <Measured>{(size) => <Placing {...given} size={size} />}</Measured>;
}

/** Nothing is drawn before the first layout is there: half a drawing would jump. Only the cards of a long line come first. */
function Placing(given: Given & { size: Size }) {
  const { history, findings } = useEditor(given.editor);
  const [first] = useState(() => ({ line: history.line, findings }));
  drawnIn(given.size.width);
  const [opened, setOpened] = useState(false);
  useSyncExternalStore(onLayout, edition);
  const ready = opened || isShown(laidOut(first.line, first.findings));
  useEffect(() => setOpened((now) => now || ready), [ready]);
  return ready ? <Flow {...given} /> : null;
}

const isShown = (laid: Laid): boolean => laid.exact || laid.provisional;

function Flow({ editor, mayEdit, openTargets, size }: Given & { size: Size }) {
  const { history, findings, selection } = useEditor(editor);
  const line = history.line;
  const marks = useMarks();
  const [first] = useState(() => viewOf(line, findings, size));
  const zoom = useDrawnZoom(first.zoom);
  const level = levelOf(zoom);
  const flow = useReactFlow<AnyNode, RuleEdge>();
  const made = useRef(new Nodes());
  const layout = useSyncExternalStore(onLayout, edition);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `layout` says that there is another one.
  const latest = useMemo(() => laidOut(line, findings), [line, findings, layout]);
  const [dragging, setDragging] = useState(false);
  const { drawing, holding, handlers } = useDrawing(editor, flow, mayEdit, openTargets);
  const latestLaid = useRef({ line, laid: latest });
  // A layout that comes while something is dragged or connected is taken over when it is let go: nothing moves away from
  // below the pointer.
  if (!(dragging || holding) || latestLaid.current.line !== line) latestLaid.current = { line, laid: latest };
  const { laid } = latestLaid.current;
  const near = useZoomed(line, laid.boxes, zoom);
  useStill(laid, selection.keys, first, size, () => viewOf(line, findings, size));
  const computed = useMemo(
    () => made.current.of(line, laid.boxes, findings, selection, marks),
    [line, laid, findings, selection, marks],
  );
  const [nodes, setNodes] = useState<AnyNode[]>(computed);
  const [shownFor, setShownFor] = useState(computed);
  // Taken over while drawing, not after it: an effect would draw everything twice.
  if (shownFor !== computed) {
    setShownFor(computed);
    setNodes(computed);
  }
  const many = line.stations.length > MANY;
  const before = useRef<readonly Drawn[]>([]);
  const drawn = useMemo(() => {
    before.current = drawnOf(line, laid, findings, before.current);
    return before.current;
  }, [line, laid, findings]);
  const underWay = useDragged(line, laid, findings, drawn, nodes);

  // While something is dragged only the drawing moves; the line changes once, when it is let go.
  const onNodesChange = useCallback(
    (made: NodeChange<AnyNode>[]) => {
      const changes = withGroups(made, flow.getNodes());
      const own = changes.filter((each) => each.type !== "remove" && each.type !== "select");
      if (own.length > 0) setNodes((now) => applyNodeChanges(own, now));
      const positions = own.filter((each) => each.type === "position");
      if (positions.length > 0) setDragging(positions.some((each) => each.dragging));
      select(editor, changes);
      const moved = changes.filter((each) => each.type === "position" && each.dragging === false && each.position);
      if (moved.length > 0) editor.run(movedTo(places(moved)));
    },
    [editor, flow],
  );

  const show = (key: string): void =>
    void flow.fitView({ nodes: [{ id: key }], maxZoom: 1, padding: 2, duration: gliding() });
  const context = useMemo(() => ({ editor, mayEdit }), [editor, mayEdit]);
  return (
    <EditorContext value={context}>
      <LevelContext value={level}>
        <ReactFlow<AnyNode, RuleEdge>
          ariaLabelConfig={CANVAS_HELP}
          {...handlers}
          className={`ed-level-${level}${many ? " ed-many" : ""}${near.className}`}
          style={near.style}
          nodes={nodes}
          edges={NO_EDGES}
          nodeTypes={nodeTypes}
          onNodesChange={onNodesChange}
          onClick={(event) => {
            const target = event.target as Element;
            // By keyboard; with the mouse the list opens when the button goes up.
            const plus =
              event.detail === 0 && mayEdit && target.closest(".ed-plus")
                ? target.closest<HTMLElement>(".react-flow__node")
                : null;
            if (plus) openTargets(plus.dataset.id ?? "");
            else choose(editor, target, show);
          }}
          onKeyDown={(event) => writeNote(event)}
          onPaneClick={() => editor.select({ keys: [] })}
          nodesDraggable={mayEdit}
          nodesConnectable={false}
          elementsSelectable
          edgesFocusable={false}
          deleteKeyCode={null}
          disableKeyboardA11y
          selectionKeyCode="Shift"
          multiSelectionKeyCode={["Meta", "Control"]}
          selectionMode={SelectionMode.Partial}
          zoomOnDoubleClick={false}
          snapToGrid
          snapGrid={GRID}
          minZoom={0.1}
          maxZoom={2}
          defaultViewport={first}
          onlyRenderVisibleElements={many}
          proOptions={{ hideAttribution: true }}
          aria-label={say("canvas")}
          aria-busy={!laid.exact}
        >
          <Background variant={BackgroundVariant.Dots} gap={24} size={1.5} />
          {level === "near" ? null : <Rows rows={laid.rows} line={line} />}
          <EdgeLayer
            drawn={underWay ?? drawn}
            level={level}
            cull={many}
            chosenRule={selection.rule}
            chosenGate={selection.gate}
            marks={marks}
            drawing={drawing}
          />
          {line.stations.length > FEW ? <Overview laid={laid} /> : null}
          {laid.provisional ? (
            <Panel position="bottom-center" className="pill" role="status">
              <Icon name="lines" size={14} /> {say("leading")}
            </Panel>
          ) : null}
        </ReactFlow>
      </LevelContext>
    </EditorContext>
  );
}

/** When the layout takes the place of cards that stood in rows, what somebody looks at stays where it is: what is chosen,
 * else what is in the middle. Who has not looked about yet sees the whole line. */
function useStill(laid: Laid, chosen: readonly string[], first: Viewport, size: Size, whole: () => Viewport): void {
  const flow = useReactFlow<AnyNode, RuleEdge>();
  const before = useRef(laid);
  useLayoutEffect(() => {
    const was = before.current;
    before.current = laid;
    if (!was.provisional || laid.provisional) return;
    const now = flow.getViewport();
    if (chosen.length === 0 && now.x === first.x && now.y === first.y && now.zoom === first.zoom) {
      void flow.setViewport(whole());
      return;
    }
    const [x, y] = [(size.width / 2 - now.x) / now.zoom, (size.height / 2 - now.y) / now.zoom];
    const far = (box: { x: number; y: number }): number => Math.hypot(box.x - x, box.y - y);
    const nearest = [...was.boxes].sort((one, other) => far(one) - far(other))[0];
    const old = was.boxes.find((box) => box.key === chosen[0]) ?? nearest;
    const there = laid.boxes.find((box) => box.key === old?.key);
    if (!old || !there) return;
    const by = { x: (old.x - there.x) * now.zoom, y: (old.y - there.y) * now.zoom };
    void flow.setViewport({ x: now.x + by.x, y: now.y + by.y, zoom: now.zoom });
  });
}

/** What stands over a row of a long line, seen from afar. */
const ROW_TITLE = 88;
const PHONE = 560;
const MINIMAP_SIZE = { width: 168, height: 112 };
/** What lies over the canvas: its tools above, the zoom below. */
const CLEAR = { side: 20, top: 60, bottom: 56 };

/** All of the line at once, its loops and pills too, where that can be read; the overview is there where not all is in view. */
export function viewOf(line: LineDocument, findings: Findings, { width, height }: Size): Viewport {
  const laid = laidOut(line, findings);
  const many = laid.rows.length > 0;
  const bounds = boundsOfAll([...laid.boxes, ...placedNotes(line, laid.boxes)], drawnOf(line, laid, findings));
  if (bounds && many) {
    bounds.y -= ROW_TITLE;
    bounds.height += ROW_TITLE;
  }
  if (!bounds || width === 0) return { x: 0, y: 0, zoom: 1 };
  // On a phone nothing lies over the canvas.
  if (width < PHONE) return getViewportForBounds(bounds, width, height, 0.1, 1, "12px");
  return (many ? whole : opening)(bounds, { width, height }, CLEAR);
}

/** Where nothing is out of view there is nothing to look over. */
function Overview({ laid }: { laid: Laid }) {
  const all = useMemo(() => boundsOfAll(laid.boxes, []), [laid]);
  const beyond = useStore(({ transform: [x, y, zoom], width, height }) =>
    all
      ? all.x * zoom + x < 0 ||
        all.y * zoom + y < 0 ||
        (all.x + all.width) * zoom + x > width ||
        (all.y + all.height) * zoom + y > height
      : false,
  );
  return beyond ? (
    <MiniMap<AnyNode>
      pannable
      zoomable
      ariaLabel={say("minimap")}
      nodeClassName={minimapClass}
      nodeBorderRadius={8}
      style={MINIMAP_SIZE}
    />
  ) : null;
}

/** In the shapes and states of the canvas: only colour and roundness are left at that size. */
function minimapClass(node: AnyNode): string {
  if (node.type === "note") return `ed-map-note ed-map-${node.data.note.tone}`;
  if (node.type !== "station") return "ed-map-end";
  if (node.data.mark) return `ed-map-mark-${node.data.mark}`;
  return node.data.errors > 0 ? "ed-map-danger" : node.data.warnings > 0 ? "ed-map-attention" : "ed-map-station";
}

/** What is drawn while nodes are under way: only the edges at what moves are led anew. */
function useDragged(
  line: LineDocument,
  laid: Laid,
  findings: Findings,
  drawn: readonly Drawn[],
  nodes: readonly AnyNode[],
) {
  const moving = nodes.filter((node) => node.dragging && node.type !== "note");
  const at = moving.map((node) => `${node.id} ${node.position.x} ${node.position.y}`).join("|");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `at` says all that matters of `moving`, a new list each time.
  return useMemo(() => {
    if (at === "") return undefined;
    const places = new Map(moving.map(({ id, position }) => [id, [position.x, position.y] as const]));
    return drawnOf(line, dragged(laid, places), findings, drawn);
  }, [at, line, laid, findings, drawn]);
}

const Rows = memo(function Rows({ rows, line }: { rows: readonly Row[]; line: LineDocument }) {
  const name = (key: string): string => {
    const station = stationOf(line, key);
    return station ? nameOf(station) : key;
  };
  return (
    <ViewportPortal>
      {rows.map((row) => (
        <span key={row.first} className="ed-row" style={{ transform: `translate(${row.x}px, ${row.y}px)` }}>
          {row.first === row.last ? name(row.first) : say("rowOf", name(row.first), name(row.last))}
        </span>
      ))}
    </ViewportPortal>
  );
});

function select(editor: Editor, changes: readonly NodeChange<AnyNode>[]): void {
  const picked = changes.filter((each) => each.type === "select");
  if (picked.length === 0) return;
  const keys = new Set(editor.state.selection.keys);
  for (const part of picked) part.selected ? keys.add(part.id) : keys.delete(part.id);
  if (keys.size === 1 && keys.has(START_ID)) editor.select({ keys: [], part: "inputs" });
  else editor.select({ keys: [...keys].filter((key) => key !== START_ID) });
}

/** With a heading goes what it stands over. */
function withGroups(changes: NodeChange<AnyNode>[], nodes: readonly AnyNode[]): NodeChange<AnyNode>[] {
  const own = new Set(changes.flatMap((each) => (each.type === "position" ? [each.id] : [])));
  const more = changes.flatMap((each): NodeChange<AnyNode>[] => {
    const heading = each.type === "position" ? nodes.find((node) => node.id === each.id) : undefined;
    if (heading?.type !== "note" || each.type !== "position" || !each.position) return [];
    const [dx, dy] = [each.position.x - heading.position.x, each.position.y - heading.position.y];
    const over = new Set(heading.data.note.over);
    return nodes
      .filter(({ id }) => over.has(id) && !own.has(id))
      .map((node) => ({ ...each, id: node.id, position: { x: node.position.x + dx, y: node.position.y + dy } }));
  });
  return more.length > 0 ? [...changes, ...more] : changes;
}

function places(changes: readonly NodeChange<AnyNode>[]): Positions {
  const positions: Positions = {};
  for (const change of changes) {
    if (change.type === "position" && change.position)
      positions[change.id] = [Math.round(change.position.x), Math.round(change.position.y)];
  }
  return positions;
}

/** A click on an edge, its words or gates: by what it is about; on where the policy leads, its row among the rules; on what
 * a gate rejects, the gate. A stub leads to its station. */
function choose(editor: Editor, target: Element, show: (key: string) => void): void {
  const { line } = editor;
  const stub = target.closest<HTMLElement>("[data-stub]")?.dataset.stub;
  if (stub !== undefined && stationOf(line, stub)) {
    editor.select({ keys: [stub] });
    show(stub);
    return;
  }
  const id = target.closest<HTMLElement | SVGElement>("[data-rule]")?.dataset.rule;
  const gate = target.closest<HTMLElement>("[data-gate]")?.dataset.gate;
  const chosenRule = id === undefined ? undefined : ruleOf(line, id);
  const policy = line.stations.find((each) => onwardId(each.key) === id);
  const refused = ruleOf(line, rejectingRule(id ?? "") ?? "");
  if (policy) editor.select({ keys: [policy.key], part: "rules" });
  else if (refused) {
    const { station, rule } = refused;
    const gate = rule.gates?.find((key) => editor.state.findings.rejected[key] !== undefined);
    editor.select({ keys: [station.key], rule: rule.id, ...(gate ? { gate } : {}) });
  } else if (chosenRule) {
    const { rule, station } = chosenRule;
    if (gate === undefined) editor.select({ keys: [station.key], rule: rule.id });
    else editor.select({ keys: [station.key], rule: rule.id, gate: nextGate(editor, rule.gates ?? [], gate) });
  } else if (gate !== undefined) {
    const station = target.closest<HTMLElement>(".react-flow__node")?.dataset.id ?? "";
    editor.select({ keys: [station], gate });
  }
}

/** Several gates stand on one another: a click on the one that is chosen takes the next. */
function nextGate(editor: Editor, gates: readonly string[], clicked: string): string {
  if (editor.state.selection.gate !== clicked) return clicked;
  return gates[(gates.indexOf(clicked) + 1) % gates.length] ?? clicked;
}

function writeNote(event: React.KeyboardEvent): void {
  const node = event.target instanceof Element && event.target.matches(".react-flow__node") ? event.target : undefined;
  if (event.key !== "Enter" || noteKey(node?.getAttribute("data-id") ?? "") === undefined) return;
  event.preventDefault();
  node?.querySelector(".ed-note")?.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
}

import {
  Background,
  BackgroundVariant,
  getViewportForBounds,
  MiniMap,
  type NodeProps,
  ReactFlow,
  useReactFlow,
  type Viewport,
} from "@xyflow/react";
import { type ComponentType, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { boundsOfAll, type Drawn, drawnOf } from "../canvas/drawing";
import { EdgeLayer } from "../canvas/edges";
import { type AnyNode, Nodes, type RuleEdge } from "../canvas/flow";
import { drawnIn, laidOut } from "../canvas/layout";
import { LevelContext, useZoomLevel } from "../canvas/level";
import { Measured, type Size } from "../canvas/Measured";
import { edgeMark } from "../canvas/marks";
import { nodeTypes } from "../canvas/nodes";
import { edition, onLayout } from "../drawing/layouts";
import { CANVAS_HELP } from "../drawing/text";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import type { LineDocument } from "../store/document";
import { type Findings, NOTHING } from "../store/findings";
import { notesOf } from "../store/notes";

export type Mark = "added" | "removed" | "changed" | "edited" | "moved";
type Marks = Record<string, Mark>;

/** One document in which what is gone still stands, the mark of every part that is not the same, and the conditions of
 * the rules in words. */
export interface Picture {
  document: LineDocument;
  marks: { stations: Marks; rules: Marks; ends: Marks };
  conditions: Record<string, string>;
}

interface Shown {
  node: string;
  rule: string | undefined;
}

const ICONS: Record<Mark, string> = {
  added: "plus",
  removed: "minus",
  changed: "station-route",
  edited: "edit",
  moved: "move",
};
/** Told by a sign before the words, too: nobody needs to see colours. */
const SIGNS: Record<Mark, string> = { added: "+ ", removed: "− ", changed: "≠ ", edited: "", moved: "" };
/** Behind the id of a rule's ghost that shows where it led before (pipelines/formats/overlay.py). */
const BEFORE = " (before)";
const MANY = 80;
const FEW = 8;
const NO_EDGES: RuleEdge[] = [];
const FIT = { maxZoom: 1, padding: 0.12, duration: 200 } as const;

type Any = ComponentType<NodeProps<never>>;

const marked = (Inner: Any) =>
  function MarkedNode(props: NodeProps<AnyNode>) {
    const mark = "mark" in props.data ? (props.data.mark as Mark | undefined) : undefined;
    return (
      <>
        <Inner {...(props as NodeProps<never>)} />
        {mark ? (
          <span className="diff-badge" data-mark={mark}>
            <Icon name={ICONS[mark]} size={12} />
            <span className="visually-hidden">{say(`mark_${mark}`)}</span>
          </span>
        ) : null}
      </>
    );
  };

const NODES = Object.fromEntries(
  Object.entries(nodeTypes).map(([name, inner]) => [name, marked(inner as unknown as Any)]),
);

export function DiffCanvas(given: { picture: Picture; label: string }) {
  return <Measured>{(size) => <Placing {...given} size={size} />}</Measured>;
}

function Placing(given: { picture: Picture; label: string; size: Size }) {
  const { picture, size } = given;
  useSyncExternalStore(onLayout, edition);
  const said = useMemo(() => saying(picture), [picture]);
  drawnIn(size.width, size.height);
  return laidOut(picture.document, said).exact ? <Flow {...given} said={said} /> : null;
}

function Flow({ picture, label, size, said }: { picture: Picture; label: string; size: Size; said: Findings }) {
  const flow = useReactFlow<AnyNode, RuleEdge>();
  const [shown, setShown] = useState<Shown>();
  const level = useZoomLevel();
  const { document: line, marks } = picture;
  const all = useMemo<Marks>(() => {
    const ways = Object.entries(marks.rules).map(([id, mark]) => [edgeMark(id), mark] as const);
    return { ...Object.fromEntries(ways), ...marks.ends, ...marks.stations };
  }, [marks]);
  const laid = useMemo(() => laidOut(line, said), [line, said]);
  const drawn = useMemo(() => withSigns(drawnOf(line, laid, said), marks.rules), [line, laid, said, marks]);
  const made = useRef(new Nodes());
  const nodes = useMemo(
    () =>
      made.current
        .of(line, laid.boxes, NOTHING, { keys: shown ? [shown.node] : [] }, all)
        .map((node) => withPorts(node, marks.rules)),
    [line, laid, all, marks, shown],
  );
  const [first] = useState(() => viewOf(line, laid.boxes, drawn, size));

  useEffect(() => {
    const chosen = (event: MouseEvent): void => {
      const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-show]") : null;
      if (!row) return;
      const node = row.dataset.show ?? "";
      setShown({ node, rule: row.dataset.showRule });
      void flow.fitView({ ...FIT, nodes: [{ id: node }], padding: 1.2 });
    };
    document.addEventListener("click", chosen);
    return () => document.removeEventListener("click", chosen);
  }, [flow]);

  return (
    <LevelContext value={level}>
      <ReactFlow<AnyNode, RuleEdge>
        ariaLabelConfig={CANVAS_HELP}
        className={`ed-level-${level}`}
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
        minZoom={0.1}
        maxZoom={2}
        defaultViewport={first}
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
        {line.stations.length > FEW ? (
          <MiniMap<AnyNode>
            pannable
            zoomable
            ariaLabel={say("minimap")}
            nodeClassName={minimapClass}
            nodeBorderRadius={8}
          />
        ) : null}
        <Tools flow={flow} />
      </ReactFlow>
    </LevelContext>
  );
}

/** The canvas says a rule by its label, else by what the server says of it: here its condition. */
function saying({ conditions }: Picture): Findings {
  const says = (words: string) => ({ status: "live" as const, words, faulty: false, why: "", example: "" });
  return { ...NOTHING, rules: Object.fromEntries(Object.entries(conditions).map(([id, words]) => [id, says(words)])) };
}

function withSigns(drawn: readonly Drawn[], rules: Marks): Drawn[] {
  return drawn.map((each) => {
    const mark = rules[each.id];
    const words = each.label.replace(BEFORE, "");
    const [first = "", ...rest] = each.lines;
    const lines = words ? [`${mark ? SIGNS[mark] : ""}${first}`, ...rest].map((row) => row.replace(BEFORE, "")) : [];
    return { ...each, label: words, lines };
  });
}

function withPorts(node: AnyNode, rules: Marks): AnyNode {
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
  boxes: ReturnType<typeof laidOut>["boxes"],
  drawn: readonly Drawn[],
  { width, height }: Size,
): Viewport {
  const bounds = boundsOfAll([...boxes, ...notesOf(line)], drawn);
  if (!bounds || width === 0) return { x: 0, y: 0, zoom: 1 };
  return getViewportForBounds(bounds, width, height, 0.1, 1, { x: "40px", top: "40px", bottom: "56px" });
}

const minimapClass = (node: AnyNode): string => {
  const mark = "mark" in node.data ? node.data.mark : undefined;
  return mark ? `diff-map-${mark}` : "ed-map-station";
};

function Tools({ flow }: { flow: ReturnType<typeof useReactFlow<AnyNode, RuleEdge>> }) {
  const tools = [
    { icon: "minus", word: "zoomOut", run: () => flow.zoomOut() },
    { icon: "plus", word: "zoomIn", run: () => flow.zoomIn() },
    { icon: "fit", word: "fit", run: () => flow.fitView(FIT) },
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

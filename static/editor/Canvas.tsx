import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  type Connection,
  MarkerType,
  MiniMap,
  type NodeChange,
  ReactFlow,
  SelectionMode,
  useReactFlow,
} from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import * as commands from "./commands";
import { ruleOf } from "./document";
import { edgeTypes } from "./edges";
import { type AnyNode, edgesOf, nodesOf, type RuleEdge } from "./flow";
import { END, START_ID, STATION } from "./layout";
import { nodeTypes } from "./nodes";
import { dropped } from "./Palette";
import { type Editor, useEditor } from "./store";
import { say } from "./words";

const GRID: [number, number] = [8, 8];
const MARKER = { type: MarkerType.ArrowClosed, width: 14, height: 14, color: "context-stroke" } as const;

export function Canvas({ editor, mayEdit }: { editor: Editor; mayEdit: boolean }) {
  const { history, findings, selection } = useEditor(editor);
  const line = history.line;
  const flow = useReactFlow<AnyNode, RuleEdge>();
  const computed = useMemo(() => nodesOf(line, findings, selection), [line, findings, selection]);
  const [nodes, setNodes] = useState<AnyNode[]>(computed);
  useEffect(() => setNodes(computed), [computed]);
  const edges = useMemo(
    () => edgesOf(line, computed, findings, selection).map((edge) => ({ ...edge, markerEnd: MARKER })),
    [line, computed, findings, selection],
  );
  const reconnecting = useRef<RuleEdge | undefined>(undefined);

  // While something is dragged only the drawing moves; the line changes once, when it is let go.
  const onNodesChange = useCallback(
    (changes: NodeChange<AnyNode>[]) => {
      setNodes((now) => applyNodeChanges(changes.filter((each) => each.type !== "remove"), now));
      const picked = changes.filter((each) => each.type === "select");
      if (picked.length > 0) {
        const keys = new Set(editor.state.selection.keys);
        for (const each of picked) each.selected ? keys.add(each.id) : keys.delete(each.id);
        editor.select({ keys: [...keys] });
      }
      const moved = changes.filter((each) => each.type === "position" && each.dragging === false && each.position);
      if (moved.length > 0) {
        editor.run(commands.place(places(moved)));
      }
    },
    [editor],
  );

  const onConnect = useCallback(
    ({ source, target }: Connection) => {
      if (source !== START_ID) editor.run(commands.connect(source, target));
    },
    [editor],
  );

  const onReconnect = useCallback(
    (edge: RuleEdge, { target }: Connection) => {
      reconnecting.current = undefined;
      if (edge.data && edge.data.target !== target) {
        editor.run(commands.retarget(edge.data.rule, edge.data.target, target));
      }
    },
    [editor],
  );

  const onDrop = useCallback(
    (event: React.DragEvent) => {
      const made = dropped(event);
      if (!made) return;
      event.preventDefault();
      const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
      const size = made.what === "station" ? STATION : END;
      const at: [number, number] = [snap(x - size.width / 2), snap(y - size.height / 2)];
      if (made.what === "station") editor.run(commands.addStation(made.kind, made.name, at));
      else editor.run(commands.addEnd(made.kind, made.name, at));
    },
    [editor, flow],
  );

  return (
    <ReactFlow<AnyNode, RuleEdge>
      nodes={nodes}
      edges={edges}
      nodeTypes={nodeTypes}
      edgeTypes={edgeTypes}
      onNodesChange={onNodesChange}
      onConnect={onConnect}
      onReconnect={onReconnect}
      onNodeClick={(_, node) => {
        if (node.id === START_ID) editor.select({ keys: [], part: "inputs" });
      }}
      onEdgeClick={(_, edge) => pick(editor, edge)}
      onPaneClick={() => editor.select({ keys: [] })}
      onDrop={onDrop}
      onDragOver={(event) => event.preventDefault()}
      nodesDraggable={mayEdit}
      nodesConnectable={mayEdit}
      edgesReconnectable={mayEdit}
      elementsSelectable
      deleteKeyCode={null}
      disableKeyboardA11y
      ariaLabelConfig={{ "edge.a11yDescription.default": say("edgeKeys") }}
      selectionKeyCode="Shift"
      multiSelectionKeyCode={["Meta", "Control"]}
      selectionMode={SelectionMode.Partial}
      snapToGrid
      snapGrid={GRID}
      minZoom={0.1}
      maxZoom={2}
      fitView
      fitViewOptions={{ maxZoom: 1, padding: 0.12 }}
      onlyRenderVisibleElements={line.stations.length > 80}
      proOptions={{ hideAttribution: true }}
      aria-label={say("canvas")}
    >
      <Background variant={BackgroundVariant.Dots} gap={24} size={1.5} />
      <MiniMap pannable zoomable ariaLabel={say("minimap")} nodeBorderRadius={6} />
    </ReactFlow>
  );
}

const snap = (value: number): number => Math.round(value / GRID[0]) * GRID[0];

function places(changes: NodeChange<AnyNode>[]): Record<string, [number, number]> {
  const found: Record<string, [number, number]> = {};
  for (const each of changes) {
    if (each.type === "position" && each.position) {
      found[each.id] = [Math.round(each.position.x), Math.round(each.position.y)];
    }
  }
  return found;
}

function pick(editor: Editor, edge: RuleEdge): void {
  const rule = edge.data?.rule;
  const found = rule ? ruleOf(editor.line, rule) : undefined;
  if (found && rule) editor.select({ keys: [found.station.key], rule });
}


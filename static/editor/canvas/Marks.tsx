import { type InternalNode, useStore, ViewportPortal } from "@xyflow/react";
import { useMemo } from "react";
import type { PartKind, Thread } from "../api/line";
import { initials, partName, TONES } from "../saving/People";
import { type Other, type Part, useAround } from "../saving/together";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type LineDocument, ruleOf, rulesOf } from "../store/document";
import { type Editor, useEditor } from "../store/store";
import type { AnyNode } from "./flow";

/** As wide as the circle of a number. */
const PORT = 18;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Mark extends Part {
  /** The node of the canvas, and its port, at which it stands. */
  node: string;
  port?: string;
  others: { other: Other; tone: number }[];
  comments: number;
}

/** Over the canvas: a ring and a name at what others have chosen, and how many comments are open at a part. */
export function Marks({ editor }: { editor: Editor }) {
  const { others, threads } = useAround(editor);
  const { history } = useEditor(editor);
  const marks = useMemo(() => marksOf(history.line, others, threads ?? []), [history.line, others, threads]);
  // Only where these stand: the canvas moves without this being drawn again for every node.
  const places = useStore((flow) =>
    JSON.stringify(marks.map(({ node, port }) => boxOf(flow.nodeLookup.get(node) as Drawn | undefined, port))),
  );
  const boxes = JSON.parse(places) as (Box | null)[];
  if (marks.length === 0) return null;
  return (
    <ViewportPortal>
      {marks.map((mark, index) => {
        const box = boxes[index];
        return box ? <One key={`${mark.kind} ${mark.key}`} {...{ editor, mark, box }} /> : null;
      })}
    </ViewportPortal>
  );
}

function One({ editor, mark, box }: { editor: Editor; mark: Mark; box: Box }) {
  const style = { transform: `translate(${box.x}px, ${box.y}px)`, width: box.width, height: box.height };
  const [first] = mark.others;
  return (
    <div className="ed-mark" data-kind={mark.kind} style={style}>
      {first ? (
        <>
          <span className="ed-ring" data-tone={first.tone} aria-hidden="true" />
          <span className="ed-tags" aria-hidden="true">
            {mark.others.map(({ other, tone }) => (
              <span key={other.id} className="ed-tag" data-tone={tone} title={other.name}>
                <b>{initials(other.name)}</b> {other.name}
              </span>
            ))}
          </span>
        </>
      ) : null}
      {mark.comments > 0 ? (
        <button
          type="button"
          className="ed-said nodrag nopan"
          aria-label={say("commentsOn", String(mark.comments), partName(editor, mark))}
          title={say("commentsOn", String(mark.comments), partName(editor, mark))}
          onClick={() => openComments(editor, mark)}
        >
          <Icon name="comment" size={12} /> {mark.comments}
        </button>
      ) : null}
    </div>
  );
}

function openComments(editor: Editor, { kind, key }: Part): void {
  if (kind === "gate") editor.select({ keys: [], gate: key });
  else if (kind === "rule") {
    const ofRule = ruleOf(editor.line, key);
    if (ofRule) editor.select({ keys: [ofRule.station.key], rule: key });
  } else editor.select({ keys: [key] });
  editor.showTab("comments");
}

function marksOf(line: LineDocument, others: readonly Other[], threads: readonly Thread[]): Mark[] {
  const marks = new Map<string, Mark>();
  const at = (kind: PartKind, key: string): Mark | undefined => {
    const name = `${kind} ${key}`;
    const known = marks.get(name);
    const place = known ?? placeOf(line, kind, key);
    if (!place) return undefined;
    const mark = known ?? { kind, key, ...place, others: [], comments: 0 };
    marks.set(name, mark);
    return mark;
  };
  others.forEach((other, index) => {
    if (other.chosen && !other.away)
      at(other.chosen.kind, other.chosen.key)?.others.push({ other, tone: index % TONES });
  });
  for (const thread of threads) {
    const mark = thread.resolved || thread.kind === "line" ? undefined : at(thread.kind, thread.key);
    if (mark) mark.comments += 1;
  }
  return [...marks.values()];
}

function placeOf(line: LineDocument, kind: PartKind, key: string): { node: string; port?: string } | undefined {
  if (kind === "station" || kind === "end") return { node: key };
  if (kind === "rule") {
    const rule = ruleOf(line, key);
    return rule ? { node: rule.station.key, port: key } : undefined;
  }
  for (const station of line.stations) {
    if (station.gate === key) return { node: station.key };
    const rule = rulesOf(station).find((each) => each.gates?.includes(key));
    if (rule) return { node: station.key, port: rule.id };
  }
  return undefined;
}

type Drawn = InternalNode<AnyNode>;

function boxOf(node: Drawn | undefined, port: string | undefined): Box | null {
  if (!node) return null;
  const { x, y } = node.internals.positionAbsolute;
  if (port === undefined) return { x, y, width: node.measured.width ?? 0, height: node.measured.height ?? 0 };
  const { userNode } = node.internals;
  if (userNode.type !== "station") return null;
  const { rules, ports } = userNode.data;
  const at = ports[rules.findIndex(({ id }) => id === port)];
  if (at === undefined) return null;
  const [middle, level] = [x + (node.measured.width ?? 0) + at[0], y + at[1]];
  return { x: middle - PORT / 2, y: level - PORT / 2, width: PORT, height: PORT };
}

import { ViewportPortal } from "@xyflow/react";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { Counted, Covered, Walked } from "../api/walk";
import { laidOut } from "../canvas/laid";
import { type Box, type Laid, nextPort } from "../canvas/layout";
import { paint } from "../canvas/marks";
import { onwardId, rejectingRule } from "../drawing/graph";
import { edition, onLayout } from "../drawing/layouts";
import type { Point } from "../drawing/types";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type LineDocument, rulesOf, stationOf } from "../store/document";
import { type Editor, useEditor } from "../store/store";
import { marksOf } from "./overlay";
import { testOf, useTest } from "./session";

/** The words and signs of a test over the canvas: where it stands, how often each way was taken, what is covered. */
export function TestLayer({ editor }: { editor: Editor }) {
  const line = useEditor(editor, ({ history }) => history.line);
  const session = useTest(editor);
  const { open, walked, coverage, kept } = session;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the parts of the session that the marks are made of.
  useEffect(() => paint(marksOf(line, session)), [line, open, walked, coverage, kept]);
  useEffect(() => () => paint(), []);
  useEffect(() => void testOf(editor).fromAddress(), [editor]);
  const layout = useSyncExternalStore(onLayout, edition);
  const rules = coverage ? kept?.coverage?.rules : undefined;
  const openSession = open ? walked : undefined;
  const isSeen = openSession !== undefined || rules !== undefined;
  // Only where it is seen: when the page opens this comes before the canvas has its size, and would be a layout of its own.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `layout` says that there is another one.
  const laid = useMemo(() => (isSeen ? laidOut(line) : undefined), [isSeen, line, layout]);
  if (!laid) return null;
  const boxes = new Map(laid.boxes.map((box) => [box.key, box]));
  return (
    <ViewportPortal>
      {openSession ? <Undrawn {...{ line, boxes }} ways={openSession.ways} /> : null}
      <div className="ed-test-layer">
        {openSession ? <Places boxes={boxes} walked={openSession} /> : null}
        {openSession ? <Counts {...{ line, boxes }} gates={laid.gates} ways={openSession.ways} /> : null}
        {rules ? <Coverage line={line} boxes={boxes} rules={rules} /> : null}
      </div>
    </ViewportPortal>
  );
}

const UNDER_GATE = 30;

type Boxes = ReadonlyMap<string, Box>;

interface Moves {
  line: LineDocument;
  boxes: Boxes;
  ways: Counted[];
}

const at = (x: number, y: number) => ({ transform: `translate(${x}px, ${y}px)` });

/** Over a station: that the test stands here, and how often it came. */
function Places({ boxes, walked }: { boxes: Boxes; walked: Walked }) {
  const visited = Object.entries(walked.visits).filter(
    ([key, visits]) => visits > 1 || walked.tokens.some((token) => !token.over && token.station === key),
  );
  return visited.map(([key, visits]) => {
    const box = boxes.get(key);
    const token = walked.tokens.find((each) => !each.over && each.station === key);
    if (!box) return null;
    return (
      <span key={key} className="ed-test-mark" data-place={key} style={at(box.x, box.y)}>
        {token ? (
          <span className={`pill pill-${token.tone}`}>
            <Icon name="flask" size={12} /> {token.word}
          </span>
        ) : null}
        {visits > 1 ? <span className="ed-test-visits">{say("testVisits", String(visits))}</span> : null}
      </span>
    );
  });
}

/** `rule`: undefined for where the policy leads after the rules, "" for what no edge stands for. */
function portOf(
  line: LineDocument,
  boxes: Boxes,
  station: string,
  rule: string | undefined,
): [number, number] | undefined {
  const box = boxes.get(station);
  const ofStation = stationOf(line, station);
  if (!box || !ofStation) return undefined;
  const rules = rulesOf(ofStation);
  const at = rule === undefined ? rules.length : rules.findIndex((each) => each.id === rule);
  const [aside, down] = (rule === "" ? undefined : box.ports[at]) ?? [0, rule === "" ? nextPort(box) : box.port];
  return [box.x + box.width + aside, box.y + down];
}

/** Beside the port of each rule that was taken, or under the gate that rejected. */
function Counts({ line, boxes, gates, ways }: Moves & Pick<Laid, "gates">) {
  return ways.map((way) => {
    const gate = gates.get(rejectingRule(way.edge) ?? "");
    const port: Point | undefined = gate
      ? [gate[0], gate[1] + UNDER_GATE]
      : portOf(line, boxes, way.source, way.edge === onwardId(way.source) ? undefined : way.rule);
    if (!port) return null;
    return (
      <span
        key={`${way.rule} ${way.edge} ${way.source} ${way.target}`}
        className="ed-taken-count"
        style={at(port[0] + 12, port[1])}
      >
        ×{way.count}
      </span>
    );
  });
}

/** Moves that no edge of the line stands for: by a gate's word that sends back, a signal, the policy after a failure, or
 * back to an origin. Dashed, from where it was to where it went. */
function Undrawn({ line, boxes, ways }: Moves) {
  const paths = ways.flatMap((way) => {
    const from = portOf(line, boxes, way.source, way.rule);
    const to = boxes.get(way.target);
    if (way.edge || !from || !to || way.source === way.target) return [];
    const [x, y] = from;
    const [tx, ty] = [to.x, to.y + to.port];
    const bend = Math.max(40, Math.abs(tx - x) / 2);
    return [{ key: `${way.source} ${way.target}`, d: `M${x} ${y}C${x + bend} ${y} ${tx - bend} ${ty} ${tx} ${ty}` }];
  });
  if (paths.length === 0) return null;
  return (
    <svg className="ed-edges ed-undrawn" aria-hidden="true">
      {paths.map(({ key, d }) => (
        <path key={key} d={d} />
      ))}
    </svg>
  );
}

const SIGNS: Record<Covered, [icon: string, word: "coveredTaken" | "coveredTested" | "coveredNever"]> = {
  taken: ["check", "coveredTaken"],
  tested: ["warning", "coveredTested"],
  never: ["minus", "coveredNever"],
};

function Coverage({ line, boxes, rules }: { line: LineDocument; boxes: Boxes; rules: Record<string, Covered> }) {
  return line.stations.flatMap((station) =>
    rulesOf(station).map((rule) => {
      const port = portOf(line, boxes, station.key, rule.id);
      const state = rules[rule.id] ?? "never";
      if (!port) return null;
      return (
        <span
          key={rule.id}
          className="ed-covered"
          data-covered={state}
          title={say(SIGNS[state][1])}
          style={at(port[0] - 32, port[1] - 8)}
        >
          <Icon name={SIGNS[state][0]} size={12} />
        </span>
      );
    }),
  );
}

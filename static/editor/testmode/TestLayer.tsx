import { ViewportPortal } from "@xyflow/react";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { Covered, Walked, Way } from "../api/walk";
import { type Box, laidOut, nextPort } from "../canvas/layout";
import { paint } from "../canvas/marks";
import { edition, onLayout } from "../drawing/layouts";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type LineDocument, rulesOf, stationOf, targetsOf } from "../store/document";
import type { Findings } from "../store/findings";
import { type Editor, useEditor } from "../store/store";
import { isOnward, marksOf } from "./overlay";
import { testOf, useTest } from "./session";

/** The words and signs of a test over the canvas: where it stands, how often each way was taken, what is covered. */
export function TestLayer({ editor }: { editor: Editor }) {
  const line = useEditor(editor, ({ history }) => history.line);
  const onward = useEditor(editor, ({ findings }) => findings.onward);
  const session = useTest(editor);
  const { open, walked, coverage, kept } = session;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the parts of the session that the marks are made of.
  useEffect(() => paint(marksOf(line, session, onward)), [line, onward, open, walked, coverage, kept]);
  useEffect(() => () => paint(), []);
  useEffect(() => void testOf(editor).fromAddress(), [editor]);
  const layout = useSyncExternalStore(onLayout, edition);
  const rules = coverage ? kept?.coverage?.rules : undefined;
  const shown = open ? walked : undefined;
  const isSeen = shown !== undefined || rules !== undefined;
  // Only where it is seen: when the page opens this comes before the canvas has its size, and would be a layout of its own.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `layout` says that there is another one.
  const boxes = useMemo(
    () => new Map(isSeen ? laidOut(line).boxes.map((box) => [box.key, box]) : []),
    [isSeen, line, layout],
  );
  if (!isSeen) return null;
  return (
    <ViewportPortal>
      {shown ? <Undrawn {...{ line, boxes, onward }} ways={shown.ways} /> : null}
      <div className="ed-test-layer">
        {shown ? <Places boxes={boxes} walked={shown} /> : null}
        {shown ? <Counts {...{ line, boxes, onward }} ways={shown.ways} /> : null}
        {rules ? <Coverage line={line} boxes={boxes} rules={rules} /> : null}
      </div>
    </ViewportPortal>
  );
}

type Boxes = ReadonlyMap<string, Box>;

interface Moves {
  line: LineDocument;
  boxes: Boxes;
  onward: Findings["onward"];
  ways: Way[];
}

const at = (x: number, y: number) => ({ transform: `translate(${x}px, ${y}px)` });

/** Over a station: that the test stands here, and how often it came. */
function Places({ boxes, walked }: { boxes: Boxes; walked: Walked }) {
  const shown = Object.entries(walked.visits).filter(
    ([key, visits]) => visits > 1 || walked.tokens.some((token) => !token.over && token.station === key),
  );
  return shown.map(([key, visits]) => {
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
  const found = stationOf(line, station);
  if (!box || !found) return undefined;
  const rules = rulesOf(found);
  const at = rule === undefined ? rules.length : rules.findIndex((each) => each.id === rule);
  const port = rule === "" ? nextPort(box) : box.ports[at];
  return [box.x + box.width, box.y + (port ?? box.port)];
}

/** Beside the port of each rule that was taken. */
function Counts({ line, boxes, onward, ways }: Moves) {
  return ways.map((way) => {
    const port = portOf(line, boxes, way.source, isOnward(onward, way) ? undefined : way.rule);
    if (!port) return null;
    return (
      <span
        key={`${way.rule} ${way.source} ${way.target}`}
        className="ed-taken-count"
        style={at(port[0] + 12, port[1])}
      >
        ×{way.count}
      </span>
    );
  });
}

/** Moves that no edge of the line stands for: by a gate's word, a signal, the policy after a failure, or back to an
 * origin. Dashed, from where it was to where it went. */
function Undrawn({ line, boxes, onward, ways }: Moves) {
  const paths = ways.flatMap((way) => {
    const found = stationOf(line, way.source);
    const rule = found && rulesOf(found).find((each) => each.id === way.rule);
    const isDrawn = rule ? targetsOf(rule).includes(way.target) : isOnward(onward, way);
    const from = portOf(line, boxes, way.source, way.rule);
    const to = boxes.get(way.target);
    if (isDrawn || !from || !to || way.source === way.target) return [];
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

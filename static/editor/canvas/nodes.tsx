import type { NodeProps } from "@xyflow/react";
import { memo, useContext } from "react";
import { cut } from "../drawing/text";
import type { Point } from "../drawing/types";
import { BADGE } from "../drawing/zones";
import { EditorContext } from "../shell/context";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { kindIcon, kindName } from "../store/kinds";
import type { EndNode, StartNode, StationNode } from "./flow";
import { type Level, useLevel } from "./level";
import { NoteCard } from "./NoteCard";

/** A rounded card as high as it has edges: the port of the main way at a fixed height, the next every 24 px, the numbers of
 * rules that share an edge beside one another. What a port starts is drawn by `drawn.tsx`, by its `data-port`. */
const StationCard = memo(function StationCard({ data }: NodeProps<StationNode>) {
  const level = useLevel();
  if (data.bar) return <JoinBar data={data} level={level} />;
  return (
    <div className="ed-station" data-errors={data.errors > 0 || undefined} data-mark={data.mark}>
      {level === "far" ? null : (
        <span className="ed-kind" title={data.agent ? say("byAgent", data.agent) : kindName(data.kind)}>
          <Icon name={kindIcon(data.kind)} size={14} />{" "}
          <span className="truncate">{data.agent || kindName(data.kind)}</span>
        </span>
      )}
      <span className="ed-name" title={data.name}>
        {data.name}
      </span>
      {level === "far" ? null : <Details data={data} level={level} />}
      {level === "near" ? <Ports data={data} /> : null}
      {level === "near" ? <Retries data={data} /> : null}
    </div>
  );
});

/** A station that does nothing but join: the bar alone, with its name and how it joins over it. */
function JoinBar({ data, level }: { data: StationNode["data"]; level: Level }) {
  return (
    <div
      className="ed-station ed-station-bar"
      data-errors={data.errors > 0 || undefined}
      data-mark={data.mark}
      title={data.join ? say("joinWaits", data.join.waits) : undefined}
    >
      {level === "far" ? null : (
        <span className="ed-bar-words">
          <span className="ed-bar-name" title={data.name}>
            {cut(data.name)}
          </span>
          {level === "near" ? <span className="ed-join-how">{data.join?.how}</span> : null}
        </span>
      )}
      {level === "far" || (data.visits === undefined && data.signs.length === 0) ? null : <Closer data={data} />}
      {level === "near" ? <Ports data={data} /> : null}
    </div>
  );
}

function Details({ data, level }: { data: StationNode["data"]; level: Level }) {
  const { join, gate } = data;
  return (
    <>
      {level === "near" ? <Badge data={data} /> : null}
      {join ? (
        <span className="ed-join" title={say("joinWaits", join.waits)}>
          {level === "near" ? <span className="ed-join-words">{say("join", join.how)}</span> : null}
        </span>
      ) : null}
      {gate ? (
        <span className="ed-bar nodrag" data-gate={gate.key} title={say("stationGate", gate.name)}>
          <span className="visually-hidden">{say("stationGate", gate.name)}</span>
        </span>
      ) : null}
      {data.visits !== undefined || data.signs.length > 0 ? <Closer data={data} /> : null}
    </>
  );
}

const ICONS = { limits: "limit", escalates: "bell", needs: "tasks" } as const;

/** What binds here besides its rules: a glance says that there is something, a closer look what. */
function Signs({ data }: { data: StationNode["data"] }) {
  return data.signs.map(({ kind, words }) => (
    <span key={kind} className="ed-sign" data-sign={kind} title={words}>
      <Icon name={ICONS[kind]} size={12} />
    </span>
  ));
}

/** Under the card of the pointer or the keyboard. */
function Closer({ data }: { data: StationNode["data"] }) {
  return (
    <span className="ed-visits" aria-hidden="true">
      {data.visits !== undefined ? <span>{say("visits", String(data.visits))}</span> : null}
      {data.signs.map(({ kind, words }) => (
        <span key={kind}>{words}</span>
      ))}
    </span>
  );
}

function Badge({ data }: { data: StationNode["data"] }) {
  const label =
    data.dead > 0
      ? ["danger", "danger", say("deadRules", String(data.dead))]
      : data.errors > 0
        ? ["danger", "danger", say("errors", String(data.errors))]
        : data.warnings > 0
          ? ["attention", "warning", say("warnings", String(data.warnings))]
          : undefined;
  const many = data.rules.length > 1;
  return (
    <>
      {many || (!label && data.signs.length > 0) ? (
        <span className="ed-count">
          {many ? say("rulesCount", String(data.rules.length)) : null}
          <Signs data={data} />
        </span>
      ) : null}
      {label ? (
        <span className={`ed-badge ed-badge-${label[0]}`}>
          <Icon name={label[1] ?? ""} size={12} /> {label[2]}
          {many ? null : <Signs data={data} />}
        </span>
      ) : null}
    </>
  );
}

const portAt = ([aside, down]: Point = [0, 0]) => ({ top: down, insetInlineEnd: -aside });

function Ports({ data }: { data: StationNode["data"] }) {
  return (
    <>
      {data.rules.map((rule, index) =>
        rule.retry ? null : (
          <span
            key={rule.id}
            className="ed-port nodrag nopan"
            data-port={rule.id}
            data-mark={rule.mark}
            title={rule.title}
            style={portAt(data.ports[index])}
          >
            {index + 1}
          </span>
        ),
      )}
      {data.onward ? <Otherwise onward={data.onward} /> : null}
      {data.rules.length > 0 ? (
        <span
          className="ed-port ed-port-new nodrag nopan"
          data-port="@new"
          title={say("drawRule")}
          style={{ top: data.nextPort }}
        >
          +
        </span>
      ) : (
        <button
          type="button"
          className="ed-plus nodrag nopan"
          data-port="@new"
          title={say("noWayOut", data.otherwise)}
          aria-label={say("addWayFrom", data.name, data.otherwise)}
          style={{ top: data.nextPort }}
        >
          +
        </button>
      )}
    </>
  );
}

/** Where the policy leads on what no rule takes: below the numbers, with the sign that the list of rules has for it. */
function Otherwise({ onward: { id, port, title } }: { onward: NonNullable<StationNode["data"]["onward"]> }) {
  const { editor } = useContext(EditorContext);
  const shared = { className: "ed-port ed-port-otherwise nodrag nopan", title, style: { top: port } };
  const icon = <Icon name="arrow-right" size={12} />;
  return editor ? (
    <button type="button" tabIndex={-1} data-rule={id} aria-label={title} {...shared}>
      {icon}
    </button>
  ) : (
    <span role="img" aria-label={title} {...shared}>
      {icon}
    </span>
  );
}

/** Rules that lead back to the station at once: a badge with the number of the rule, whose place at the side stays empty. */
function Retries({ data }: { data: StationNode["data"] }) {
  const own = data.rules.flatMap((rule, index) => (rule.retry ? [{ rule, number: index + 1, retry: rule.retry }] : []));
  return own.map(({ rule, number, retry }, place) => (
    <span
      key={rule.id}
      className="ed-retry react-flow__edge nodrag nopan"
      data-id={retry.edge}
      data-rule={rule.id}
      data-port={rule.id}
      data-mark={retry.mark ?? rule.mark}
      data-endless={retry.endless || undefined}
      role="img"
      tabIndex={-1}
      aria-label={[rule.title, retry.words].filter(Boolean).join(". ")}
      title={[rule.title, retry.words].filter(Boolean).join(". ")}
      style={{ left: BADGE.first + BADGE.width * place }}
    >
      <span className="ed-retry-number">{number}</span>
      <Icon name="retry" size={12} />
      {retry.most === undefined ? null : say("atMost", String(retry.most))}
    </span>
  ));
}

const EndPill = memo(function EndPill({ data }: NodeProps<EndNode>) {
  return (
    <div className="ed-end" data-kind={data.kind} data-mark={data.mark}>
      <Icon name={`end-${data.kind}`} size={14} />
      <span title={data.name}>{data.name}</span>
    </div>
  );
});

const StartMark = memo(function StartMark({ data }: NodeProps<StartNode>) {
  return (
    <div className="ed-start" title={[say("startInputs"), data.limits].filter(Boolean).join(". ")}>
      <Icon name="run" size={14} />
      <span className="ed-start-word">
        <strong>{say("start")}</strong>
        <br />
        {say("inputs", String(data.inputs))}
        {data.limits ? (
          <span className="ed-sign" data-sign="limits">
            <Icon name="limit" size={12} />
          </span>
        ) : null}
      </span>
    </div>
  );
});

export const nodeTypes = { station: StationCard, end: EndPill, start: StartMark, note: NoteCard };

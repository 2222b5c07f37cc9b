import { Handle, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";

import { rulesOf } from "./document";
import type { EndNode, StartNode, StationNode } from "./flow";
import { Icon } from "./Icon";
import { STATION } from "./layout";
import { say } from "./words";

const KINDS = new Set(["command", "chat", "route", "tools", "http", "runner", "manual", "hook", "noop"]);
const stationIcon = (kind: string): string => `station-${KINDS.has(kind) ? kind : "other"}`;

/** A rounded card as high as it has rules: port 1 at a fixed height, the next every 24 px, so that the number in the
 * circle is the rule. */
export const StationCard = memo(function StationCard({ data }: NodeProps<StationNode>) {
  const rules = rulesOf(data.station);
  return (
    <div className="ed-station" data-errors={data.errors > 0 || undefined}>
      <Handle type="target" position={Position.Left} className="ed-in" style={{ top: STATION.port }} />
      {data.station.join ? <span className="ed-join" title={say("join", data.station.join.aggregation ?? "")} /> : null}
      <span className="ed-kind">
        <Icon name={stationIcon(data.kind)} size={14} /> {say(`kind_${KINDS.has(data.kind) ? data.kind : "other"}` as "kind_other")}
      </span>
      <span className="ed-name" title={data.name}>
        {data.name}
      </span>
      {data.errors > 0 ? (
        <span className="ed-badge ed-badge-danger">
          <Icon name="danger" size={12} /> {say("errors", String(data.errors))}
        </span>
      ) : data.warnings > 0 ? (
        <span className="ed-badge ed-badge-attention">
          <Icon name="warning" size={12} /> {say("warnings", String(data.warnings))}
        </span>
      ) : null}
      {data.gate ? <span className="ed-bar" title={data.gate} /> : null}
      {rules.map((rule, index) => (
        <Handle
          key={rule.id}
          id={rule.id}
          type="source"
          position={Position.Right}
          isConnectableStart={false}
          className="ed-port"
          data-mark={data.marks[rule.id]}
          title={rule.label || rule.id}
          style={{ top: STATION.port + STATION.step * index }}
        >
          {index + 1}
        </Handle>
      ))}
      <Handle
        id="@new"
        type="source"
        position={Position.Right}
        className="ed-port ed-port-new"
        title={say("drawRule")}
        style={{ top: STATION.port + STATION.step * rules.length }}
      >
        +
      </Handle>
    </div>
  );
});

export const EndPill = memo(function EndPill({ data }: NodeProps<EndNode>) {
  return (
    <div className="ed-end">
      <Handle type="target" position={Position.Left} className="ed-in" />
      <Icon name={`end-${data.kind}`} size={14} />
      <span title={data.name}>{data.name}</span>
    </div>
  );
});

export const StartMark = memo(function StartMark({ data }: NodeProps<StartNode>) {
  return (
    <div className="ed-start" title={say("inputs", String(data.inputs))}>
      <Icon name="run" size={14} />
      <span className="ed-start-word">
        {say("start")}
        <br />
        {say("inputs", String(data.inputs))}
      </span>
      <Handle type="source" position={Position.Right} className="ed-in" isConnectable={false} />
    </div>
  );
});

export const nodeTypes = { station: StationCard, end: EndPill, start: StartMark };

import { ServerForm } from "../inspector/ServerForm";
import { gateSubject } from "../inspector/subjects";
import type { TabProps } from "../inspector/tab";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { addGate, freeGateKey, removeGate, usesOf } from "../store/commands-gates";
import { type Gate, type LineDocument, nameOf, ruleOf, stationOf } from "../store/document";
import type { Editor } from "../store/store";

/** A new gate, chosen at once. */
export function newGate(editor: Editor): void {
  const key = freeGateKey(editor.line);
  editor.run(addGate(key), { keys: [], gate: key });
}

/** Every gate of the line, asked somewhere or not. */
export function GatesTab({ editor, line, mayEdit }: TabProps) {
  const gates = line.gates ?? [];
  return (
    <div className="ef-part">
      {gates.length === 0 ? <p className="muted small">{say("noGates")}</p> : null}
      <ul className="ef-list">
        {gates.map((gate) => (
          <li key={gate.key}>
            <button type="button" className="ef-list-item" onClick={() => editor.select({ keys: [], gate: gate.key })}>
              <Icon name={`gate-${modeOf(gate)}`} />
              <span className="grow truncate">{gate.name || gate.key}</span>
              <span className="muted small">{usesWord(line, gate.key)}</span>
              <Icon name="chevron-right" size={14} />
            </button>
          </li>
        ))}
      </ul>
      {mayEdit ? (
        <p className="row">
          <button type="button" className="button button-small" onClick={() => newGate(editor)}>
            <Icon name="plus" size={14} /> <span>{say("addGate")}</span>
          </button>
        </p>
      ) : null}
    </div>
  );
}

function modeOf(gate: Gate): string {
  const mode = gate.mode ?? (gate.checks === undefined ? "manual" : "checks_then_manual");
  return ["manual", "auto", "checks_then_manual", "skip"].includes(mode) ? mode : "manual";
}

function usesWord(line: LineDocument, key: string): string {
  const count = usesOf(line, key).length;
  return count === 0 ? say("gateUnused") : say("gateUsed", String(count));
}

export function GateForm({ editor, line, gate, mayEdit }: Omit<TabProps, "chosen"> & { gate: Gate }) {
  const uses = usesOf(line, gate.key);
  return (
    <>
      <div className="ef-part">
        {uses.length === 0 ? <p className="muted small">{say("gateNowhere")}</p> : null}
        <ul className="ef-uses">
          {uses.map(({ station, rule }) => (
            <li key={`${station} ${rule ?? ""}`}>
              <button
                type="button"
                className="ef-use"
                onClick={() => editor.select({ keys: [station], ...(rule ? { rule } : {}) })}
              >
                <Icon name={rule ? "arrow-right" : "gate"} size={14} />
                <span>{wordsOf(line, station, rule)}</span>
              </button>
            </li>
          ))}
        </ul>
      </div>
      <ServerForm editor={editor} subject={gateSubject(gate.key)} />
      {mayEdit ? (
        <footer className="ed-inspector-foot">
          <button
            type="button"
            className="button button-small"
            onClick={() => editor.run(removeGate(gate.key), { keys: [] })}
          >
            <Icon name="delete" size={14} /> <span>{say("deleteGate")}</span>
          </button>
        </footer>
      ) : null}
    </>
  );
}

function wordsOf(line: LineDocument, key: string, rule: string | undefined): string {
  const station = stationOf(line, key);
  const name = station ? nameOf(station) : key;
  if (!rule) return say("gateOfStation", name);
  const ofRule = ruleOf(line, rule);
  return say("gateOfRule", name, String((ofRule?.index ?? 0) + 1));
}

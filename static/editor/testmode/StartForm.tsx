import { useId } from "react";
import type { Input } from "../api/walk";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import type { Json, LineDocument } from "../store/document";
import type { Test } from "./session";

/** The inputs that the task is started with. Nothing has to be filled in: a test asks only for what its rules read. */
export function StartForm({ test, inputs, given }: { test: Test; inputs: Input[]; given: Record<string, Json> }) {
  return (
    <details className="ed-test-form" open={Object.keys(given).length > 0 || undefined}>
      <summary>
        <Icon name="chevron-right" size={12} /> {say("testInputs")}
      </summary>
      <div className="ed-test-fields">
        {inputs.map((input) => (
          <InputField
            key={input.key}
            input={input}
            value={given[input.key]}
            onChange={(value) => test.setInput(input.key, value)}
          />
        ))}
      </div>
    </details>
  );
}

/** The same fields as the document has them. Files are uploaded to tasks only. */
export function inputsOf(line: LineDocument): Input[] {
  const inputs = Array.isArray(line.inputs) ? line.inputs : [];
  return inputs.flatMap((each) => {
    if (typeof each !== "object" || each === null || Array.isArray(each)) return [];
    const { key, label, type, choices, default: usual } = each;
    if (typeof key !== "string" || type === "file") return [];
    const words = Array.isArray(choices) ? choices.map(String) : [];
    const text = typeof type === "string" ? type : "text";
    return [
      {
        key,
        label: typeof label === "string" && label ? label : key,
        type: text,
        choices: words,
        default: usual ?? null,
      },
    ];
  });
}

export function InputField({
  input,
  value,
  onChange,
}: {
  input: Input;
  value: Json | undefined;
  onChange(value: Json | undefined): void;
}) {
  const id = useId();
  const text = value === undefined ? "" : String(value);
  const take = (text: string): void => {
    if (text === "") onChange(undefined);
    else if (input.type === "yes_no") onChange(text === "true");
    else onChange(input.type === "number" && Number.isFinite(Number(text)) ? Number(text) : text);
  };
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {input.label}
      </label>
      {input.type === "choice" ? (
        <select id={id} className="input" value={text} onChange={(event) => take(event.target.value)}>
          <option value="">{say("testNothing")}</option>
          {input.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : input.type === "yes_no" ? (
        <select id={id} className="input" value={text} onChange={(event) => take(event.target.value)}>
          <option value="">{say("testNothing")}</option>
          <option value="true">{say("testYes")}</option>
          <option value="false">{say("testNo")}</option>
        </select>
      ) : input.type === "long_text" ? (
        <textarea
          id={id}
          className="input"
          rows={3}
          value={text}
          placeholder={input.default === null ? undefined : String(input.default)}
          onChange={(event) => take(event.target.value)}
        />
      ) : (
        <input
          id={id}
          className="input"
          type={input.type === "number" ? "number" : input.type === "date" ? "date" : "text"}
          value={text}
          placeholder={input.default === null ? undefined : String(input.default)}
          onChange={(event) => take(event.target.value)}
        />
      )}
    </div>
  );
}

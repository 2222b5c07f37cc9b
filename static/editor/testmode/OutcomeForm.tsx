import { useId, useState } from "react";
import type { Form, Token } from "../api/walk";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import type { Json } from "../store/document";
import type { Test } from "./session";

interface Given {
  test: Test;
  token: Token;
  form: Form;
  faults: Record<string, string>;
  several: boolean;
}

/** The whole outcome of a station: its words, a field for each place of the output that something reads, or JSON. */
export function OutcomeForm({ test, token, form, faults, several }: Given) {
  const [values, setValues] = useState<Record<string, string>>({ result: "success" });
  const [output, setOutput] = useState<Record<string, string>>({});
  const [json, setJson] = useState('{\n  "result": "success",\n  "output": {}\n}');
  const [asJson, setAsJson] = useState(false);
  const report = (): void => {
    const outcome: Record<string, Json> = asJson ? { json } : { ...values, output };
    test.fill(several ? token.station : undefined, outcome);
  };
  const text = (name: string) => ({
    value: values[name] ?? "",
    fault: faults[name],
    onChange: (value: string) => setValues({ ...values, [name]: value }),
  });
  return (
    <details className="ed-test-form" open={Object.keys(faults).length > 0 || undefined}>
      <summary>
        <Icon name="chevron-right" size={12} /> {say("testOutcome")}
      </summary>
      <form
        className="ed-test-fields"
        onSubmit={(event) => {
          event.preventDefault();
          report();
        }}
      >
        <div className="segments" role="group" aria-label={say("testOutcomeAs")}>
          <button
            type="button"
            className="segment ed-test-segment"
            aria-pressed={!asJson}
            onClick={() => setAsJson(false)}
          >
            {say("testFields")}
          </button>
          <button
            type="button"
            className="segment ed-test-segment"
            aria-pressed={asJson}
            onClick={() => setAsJson(true)}
          >
            JSON
          </button>
        </div>
        {asJson ? (
          <Field label={say("testJson")} fault={faults.json} area value={json} onChange={setJson} />
        ) : (
          <>
            <Select label={say("testResult")} words={form.results} {...text("result")} />
            <Select label={say("testVerdict")} words={form.verdicts} {...text("verdict")} />
            <Field label={say("testEval")} {...text("eval")} />
            <Field label={say("testExitCode")} {...text("exit_code")} />
            <Field label={say("testFailureType")} {...text("failure_type")} />
            {form.fields.map((field) => (
              <Field
                key={field.path}
                label={say("testOutput", field.label)}
                help={field.help}
                fault={faults[`output[${field.path}]`]}
                value={output[field.path] ?? ""}
                onChange={(value) => setOutput({ ...output, [field.path]: value })}
              />
            ))}
            {form.whole.length > 0 ? <p className="field-help">{say("testOnlyJson", form.whole.join(", "))}</p> : null}
            {form.fields.length > 0 ? <p className="field-help">{say("testValues")}</p> : null}
          </>
        )}
        <button type="submit" className="button">
          {say("testReport")}
        </button>
      </form>
    </details>
  );
}

interface OneField {
  label: string;
  value: string;
  fault: string | undefined;
  onChange(value: string): void;
}

function Select({ label, value, fault, words, onChange }: OneField & { words: string[] }) {
  const id = useId();
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className="input"
        value={value}
        aria-invalid={Boolean(fault)}
        aria-describedby={fault ? `${id}-fault` : undefined}
        onChange={(event) => onChange(event.target.value)}
      >
        <option value="">{say("testNothing")}</option>
        {words.map((word) => (
          <option key={word}>{word}</option>
        ))}
      </select>
      <Fault id={id} fault={fault} />
    </div>
  );
}

function Field({ label, value, fault, help, area, onChange }: OneField & { help?: string; area?: boolean }) {
  const id = useId();
  const outcome = {
    id,
    value,
    "aria-invalid": Boolean(fault),
    "aria-describedby": fault ? `${id}-fault` : help ? `${id}-help` : undefined,
  };
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      {area ? (
        <textarea
          {...outcome}
          className="input mono"
          rows={6}
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        <input {...outcome} className="input" onChange={(event) => onChange(event.target.value)} />
      )}
      {help ? (
        <p id={`${id}-help`} className="field-help">
          {help}
        </p>
      ) : null}
      <Fault id={id} fault={fault} />
    </div>
  );
}

function Fault({ id, fault }: { id: string; fault: string | undefined }) {
  if (!fault) return null;
  return (
    <p id={`${id}-fault`} className="field-error" role="alert">
      <Icon name="danger" size={14} /> {fault}
    </p>
  );
}

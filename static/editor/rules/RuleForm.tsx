import { useEffect, useMemo, useRef } from "react";
import { ServerForm } from "../inspector/ServerForm";
import { ruleSubject } from "../inspector/subjects";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { newGate } from "../store/commands-rules";
import type { Rule, Station } from "../store/document";
import type { Editor } from "../store/store";

/** Everything that a rule says: the server draws it, and every change is one command. */
export function RuleForm({ editor, station, rule }: { editor: Editor; station: Station; rule: Rule }) {
  const subject = useMemo(() => ruleSubject(rule.id, station.key), [rule.id, station.key]);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A rule that was renamed is another row of the list: whoever typed the name goes on there.
    if (document.activeElement === document.body)
      place.current?.closest("li")?.querySelector<HTMLElement>(".ed-rule-head")?.focus();
  }, []);
  const gate = (): void => {
    const command = newGate(editor.line, rule.id);
    editor.run(command);
    editor.select({ keys: [station.key], gate: command.key });
  };
  return (
    <div className="ed-rule-form" ref={place}>
      <ServerForm editor={editor} subject={subject} />
      <button type="button" className="button button-small" onClick={gate}>
        <Icon name="gate-manual" size={14} /> <span>{say("newGate")}</span>
      </button>
    </div>
  );
}

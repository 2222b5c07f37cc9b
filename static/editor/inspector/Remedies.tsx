import { Icon } from "../shell/Icon";
import { type Remedy, remedy } from "../store/commands-edits";
import type { Editor } from "../store/store";

/** What puts a finding right: each one button, each one command that can be undone. */
export function Remedies({ editor, remedies }: { editor: Editor; remedies: readonly Remedy[] | undefined }) {
  if (!remedies?.length) return null;
  return (
    <span className="ed-remedies">
      {remedies.map((each) => (
        <button key={each.label} type="button" className="button button-small" onClick={() => editor.run(remedy(each))}>
          <Icon name={each.icon} size={14} /> <span>{each.label}</span>
        </button>
      ))}
    </span>
  );
}

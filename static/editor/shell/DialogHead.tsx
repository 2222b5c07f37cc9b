import { Icon } from "./Icon";
import { say } from "./words";

/** The title of a dialog, and the button that closes it. `id`: that by which the dialog is labelled. */
export function DialogHead({ id, title, close }: { id?: string; title: string; close: () => void }) {
  return (
    <div className="dialog-head">
      <h2 id={id}>{title}</h2>
      <button
        type="button"
        className="button button-quiet button-icon"
        aria-label={say("close")}
        title={say("close")}
        onClick={close}
      >
        <Icon name="x" />
      </button>
    </div>
  );
}

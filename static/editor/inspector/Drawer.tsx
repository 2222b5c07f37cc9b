import { useState } from "react";
import { type Editor, useEditor } from "../store/store";
import { Guarantees } from "./Guarantees";
import { Problems } from "./Problems";

interface Given {
  editor: Editor;
  show(key: string): void;
  mayEdit: boolean;
  open: boolean;
  fold(): void;
  /** One below the other, as long as they are: each is folded by itself. */
  narrow: boolean;
}

/** Below the canvas: what is wrong with the line, and beside it what is known of its guarantees. */
export function Drawer({ narrow, open, fold, ...given }: Given) {
  const guarantees = useEditor(given.editor, ({ findings }) => findings.guarantees);
  const [more, setMore] = useState(false);
  return (
    <div className="ed-drawer">
      <div className="ed-drawer-panes">
        <Problems {...given} open={open} fold={fold} />
        {guarantees.length > 0 ? (
          <Guarantees
            {...given}
            guarantees={guarantees}
            open={narrow ? more : open}
            fold={narrow ? () => setMore((now) => !now) : fold}
          />
        ) : null}
      </div>
    </div>
  );
}

import { createContext } from "react";

import type { Editor } from "../store/store";

/** For what is drawn inside the canvas, which React Flow makes. */
export const EditorContext = createContext<{ editor: Editor | undefined; mayEdit: boolean }>({
  editor: undefined,
  mayEdit: false,
});

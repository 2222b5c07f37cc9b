/** What other parts of the page paint on the canvas: the way of a test, a difference. Words of our own by the key of a
 * station or end, or by `edgeMark` of a rule; they become `data-mark` of what is drawn there, and a sheet gives them a look. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

export type Marks = Readonly<Record<string, string>>;

/** A rule may have the key of a station as its id. `id`: as `Drawn` has it. */
export const edgeMark = (id: string): string => `edge ${id}`;

const NONE: Marks = {};
const painted = createStore<{ marks: Marks }>(() => ({ marks: NONE }));

export const paint = (marks: Marks = NONE): void => painted.setState({ marks });

export const useMarks = (): Marks => useStore(painted, ({ marks }) => marks);

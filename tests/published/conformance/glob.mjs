// The suite imports `globSync` of Node 22, for a command that is not used here. With it, Node 20 runs the suite, too.
import { register } from "node:module";

const FS = "data:text/javascript,export * from 'node:fs'; export const globSync = () => [];";
const HOOK = `export const resolve = (name, context, next) =>
  name === "fs" ? { url: ${JSON.stringify(FS)}, format: "module", shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(HOOK)}`);

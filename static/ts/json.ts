/** JSON of a document, read and written without losing a digit: a whole number that no double tells apart from its
 * neighbours is a bigint. `JSON.stringify` alone writes one as a text, behind a character that no document holds. */
const MARK = "\0";
/** May also stand in a text, but not as the digits of a digest or a time do. */
const LONG = /(?:^|[:[,])\s*-?\d{16}/;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
const DIGITS = /^-?[1-9]\d{15,}$/;
const MARKED = /"\\u0000(-?\d+)"/g;

Object.defineProperty(BigInt.prototype, "toJSON", {
  value(this: bigint): string {
    return MARK + this;
  },
  configurable: true,
});

/** The number that these digits say: a double where its shortest text says the same. */
export function exactNumber(digits: string): number {
  const value = Number(digits);
  const [mantissa = "", power = ""] = Math.abs(value).toExponential().replace(".", "").split("e");
  if (BigInt(digits) === BigInt(Math.sign(value)) * BigInt(mantissa.padEnd(Number(power) + 1, "0"))) return value;
  // No arithmetic is done with one that is so long, and everything else takes it as the number that it is.
  return BigInt(digits) as unknown as number;
}

/** Raises SyntaxError. */
export function parse(text: string): unknown {
  if (!LONG.test(text)) return JSON.parse(text);
  const marked = text.replace(TOKENS, (token) => (DIGITS.test(token) ? `"\\u0000${token}"` : token));
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(MARK) && DIGITS.test(value.slice(1))
      ? exactNumber(value.slice(1))
      : value,
  );
}

/** Writes JSON with numbers as they were read, however many digits they have. */
export function write(value: unknown, indent?: number | string): string {
  return JSON.stringify(value, null, indent).replace(MARKED, "$1");
}

/** Reads what an object itself holds there: some keys are names of what every object inherits. */
export const own = <T>(of: { [key: string]: T }, key: string): T | undefined =>
  Object.hasOwn(of, key) ? of[key] : undefined;

/** Sets a member of this very name: an assignment to `__proto__` would set what the object inherits from. */
export function put<T>(of: { [key: string]: T }, key: string, value: T): void {
  Object.defineProperty(of, key, { value, enumerable: true, writable: true, configurable: true });
}

import { describe, expect, test } from "vitest";

import { parse, write } from "./json";

describe("JSON of a document", () => {
  test.each([
    '{"a":12345678901234567890,"b":[-9007199254740993,9007199254740991,0.1,1e-7]}',
    '["12345678901234567890","\\"12345678901234567890","\\\\u0000123456789012345678",18446744073709551616]',
    '{"12345678901234567890":12345678901234567890,"__proto__":{"a":12345678901234567891}}',
    "[5e-324,1.7976931348623157e+308,12345678901234567.5e-3]",
  ])("%s is written as it was read", (text) => {
    const again = JSON.stringify(JSON.parse(text));
    expect(write(parse(text))).toBe(text.includes("e-3]") ? again : text);
  });

  test("what is no JSON is refused", () => {
    expect(() => parse("[012345678901234567890]")).toThrow(SyntaxError);
    expect(() => parse("[-]")).toThrow(SyntaxError);
  });
});

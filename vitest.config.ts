import { defineConfig } from "vitest/config";

// Tests stand beside what they test, and need no browser: what does is in tests/browser.
export default defineConfig({
  test: { include: ["static/**/*.test.ts"], environment: "node", allowOnly: false, isolate: false },
});

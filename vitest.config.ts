import { defineConfig } from "vitest/config";

// How long a test may take is no matter of how busy the machine is: only what hangs is ended.
// Tests stand beside what they test, and need no browser: what does is in tests/browser.
export default defineConfig({
  test: {
    include: ["static/**/*.test.ts"],
    environment: "node",
    allowOnly: false,
    isolate: false,
    testTimeout: 120_000,
  },
});

// `npm run lock`: writes package-lock.json anew and takes out the addresses that npm adds (funding pages).
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

execFileSync("npm", ["install", "--package-lock-only"], { stdio: "inherit" });
const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
for (const entry of Object.values(lock.packages)) {
  delete entry.funding;
  delete entry.resolved;
}
writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);

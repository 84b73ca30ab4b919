// The Codex CLI, a program that is an agent itself, with an agent of Orlop as its model.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { baseURL, check, finish, scenario } from "./harness.mjs";

const folder = mkdtempSync(join(import.meta.dirname, "codex-"));
const [home, work] = [join(folder, "home"), join(folder, "work")];
[home, work].forEach((path) => mkdirSync(path));
writeFileSync(
  join(home, "config.toml"),
  `model = "helper"
model_provider = "orlop"
[model_providers.orlop]
name = "Orlop"
base_url = "${baseURL}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`,
);

/** What one run tells, line by line. */
async function run(prompt) {
  const codex = join(import.meta.dirname, "node_modules/.bin/codex");
  const flags = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
  const child = spawn(codex, [...flags, prompt], {
    cwd: work,
    env: { ...process.env, CODEX_HOME: home },
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 60_000,
  });
  let text = "";
  for await (const piece of child.stdout) text += piece;
  const lines = text.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line));
}

const items = (events, type) => events.map((event) => event.item).filter((item) => item?.type === type);

await scenario("answers", async () => {
  const events = await run("hi");
  check(items(events, "agent_message").map((item) => item.text), ["Hello there."]);
  check(events.at(-1).usage.output_tokens, 2);
});

await scenario("runs_its_own_tools", async () => {
  const events = await run("write to the harbour");
  check(items(events, "command_execution").at(-1)?.exit_code, 0);
  check(readFileSync(join(work, "harbour.txt"), "utf8"), "ahoy\n");
  check(items(events, "agent_message").at(-1).text, "The harbour has it.");
});

rmSync(folder, { recursive: true, force: true });
finish();

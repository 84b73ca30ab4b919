// Standard input and output as a channel of messages. The plugin's own prints go to standard error, which is its log.

import { once } from "node:events";
import { Readable } from "node:stream";
import { parse, stringify } from "./json.mjs";

const NEWLINE = 10;

/** Hands every message of the host to `take`, and gives what a server writes to. */
export function openPipes(take) {
  const { stdin, stdout } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = process.stderr.write.bind(process.stderr);
  Object.defineProperty(process, "stdin", { get: () => Readable.from([]), configurable: true });
  const complain = (text) => process.stderr.write(`${text}\n`);
  const end = () => {
    setTimeout(() => process.exit(0), 1000); // Should nobody read what is still to be written.
    write("", () => process.exit(0));
  };

  stdout.on("error", () => process.exit(0)); // Nobody listens any more.
  // What a plugin left running in the background does not end the others.
  process.on("uncaughtException", (error) => complain(`nobody caught: ${error?.stack ?? error}`));
  process.on("unhandledRejection", (error) => complain(`nobody waited for: ${error?.stack ?? error}`));
  readLines(stdin, (line) => takeLine(line, take, complain), end);

  return {
    complain,
    end,
    send(message) {
      if (!write(`${stringify(message)}\n`)) return once(stdout, "drain");
    },
  };
}

function takeLine(line, take, complain) {
  if (line.trim() === "") return;
  let message;
  try {
    message = parse(line);
    if (typeof message !== "object" || message === null || Array.isArray(message)) throw new SyntaxError("expected one object");
  } catch (error) {
    return complain(`a line that is no message was skipped: ${error.message}`);
  }
  return take(message);
}

function readLines(stream, each, end) {
  let pieces = [];
  stream.on("data", (data) => {
    let start = 0;
    for (let at = data.indexOf(NEWLINE); at >= 0; at = data.indexOf(NEWLINE, start)) {
      pieces.push(data.subarray(start, at));
      const line = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
      pieces = [];
      start = at + 1;
      each(line.toString("utf8"));
    }
    if (start < data.length) pieces.push(data.subarray(start));
  });
  stream.on("end", end);
  stream.on("error", end);
}

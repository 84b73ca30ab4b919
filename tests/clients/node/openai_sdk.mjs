// The openai package: chat completions, responses, streams and their helpers.
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { baseURL, check, finish, scenario } from "./harness.mjs";

const client = new OpenAI({ baseURL, apiKey: "none" });
const model = "helper";
const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const Person = z.object({ name: z.string(), age: z.number() });

await scenario("models", async () => {
  const found = [];
  for await (const model of client.models.list()) found.push(model.id);
  check(found, ["helper"]);
});

await scenario("chat", async () => {
  const made = await client.chat.completions.create({ model, messages: [{ role: "user", content: "hi" }] });
  check(made.choices[0].message.content, "Hello there.");
});

await scenario("chat_tool_runner", async () => {
  const runner = client.chat.completions.runTools({
    model,
    stream: true,
    messages: [{ role: "user", content: "the weather?" }],
    tools: [
      {
        type: "function",
        function: {
          name: "get_weather",
          parameters,
          parse: JSON.parse,
          function: ({ city }) => `rain in ${city}`,
        },
      },
    ],
  });
  check(await runner.finalContent(), "The tool says: rain in Oslo");
});

await scenario("structured_output", async () => {
  const made = await client.chat.completions.parse({
    model,
    messages: [{ role: "user", content: "a person" }],
    response_format: zodResponseFormat(Person, "person"),
  });
  check(made.choices[0].message.parsed, { name: "Ada", age: 36 });
  const response = await client.responses.parse({
    model,
    input: "a person",
    text: { format: zodTextFormat(Person, "person") },
  });
  check(response.output_parsed, { name: "Ada", age: 36 });
});

await scenario("responses_stream", async () => {
  const stream = client.responses.stream({ model, input: "my plan" });
  const numbers = [];
  for await (const event of stream) numbers.push(event.sequence_number);
  const final = await stream.finalResponse();
  check(final.output.map((item) => item.type), ["reasoning", "message", "mcp_call", "message"]);
  check(numbers, [...new Set(numbers)].sort((a, b) => a - b));

  const half = numbers[Math.floor(numbers.length / 2)];
  const rest = [];
  for await (const event of await client.responses.retrieve(final.id, { stream: true, starting_after: half })) {
    rest.push(event);
  }
  check(rest.every((event) => event.sequence_number > half), true);
  check(rest.at(-1).response.output_text ?? rest.at(-1).response.output.at(-1).content[0].text, "It is noted.");
});

await scenario("responses_with_tools", async () => {
  const tools = [{ type: "function", name: "get_weather", parameters, strict: true }];
  const first = await client.responses.create({ model, input: "the weather?", tools });
  const { call_id } = first.output[0];
  const second = await client.responses.create({
    model,
    tools,
    previous_response_id: first.id,
    input: [{ type: "function_call_output", call_id, output: "7 degrees" }],
  });
  check(second.output_text, "The tool says: 7 degrees");
});

await scenario("errors", async () => {
  const wrong = client.chat.completions.create({ model: "nobody", messages: [{ role: "user", content: "hi" }] });
  check((await wrong.catch((error) => error)).code, "model_not_found");
  const failing = await client.chat.completions.create({
    model,
    stream: true,
    messages: [{ role: "user", content: "fail" }],
  });
  const error = await (async () => {
    for await (const _ of failing);
  })().catch((error) => error);
  check(error instanceof OpenAI.APIError, true);
});

finish();

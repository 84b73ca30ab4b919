// The AI SDK with @ai-sdk/openai, which checks every event of a response against its own schemas.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { baseURL, check, finish, scenario } from "./harness.mjs";

const openai = createOpenAI({ baseURL, apiKey: "none" });
const Person = z.object({ name: z.string(), age: z.number() });
const tools = {
  get_weather: tool({
    description: "The weather in a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `rain in ${city}`,
  }),
};

/** All parts of a stream; one that is an error fails the scenario. */
async function partsOf(stream) {
  const parts = [];
  for await (const part of stream.fullStream ?? stream.stream) {
    if (part.type === "error") throw part.error;
    parts.push(part);
  }
  return parts;
}

for (const [api, model] of [["chat", openai.chat("helper")], ["responses", openai.responses("helper")]]) {
  await scenario(`text_${api}`, async () => {
    const { text, usage } = await generateText({ model, prompt: "hi" });
    check([text, usage.totalTokens], ["Hello there.", 7]);
  });

  await scenario(`tools_${api}`, async () => {
    const { text } = await generateText({ model, tools, stopWhen: stepCountIs(3), prompt: "the weather?" });
    check(text, "The tool says: rain in Oslo");
  });

  await scenario(`streamed_tools_${api}`, async () => {
    const stream = streamText({ model, tools, stopWhen: stepCountIs(3), prompt: "the weather?" });
    const parts = await partsOf(stream);
    check(parts.filter((part) => part.type === "tool-call").map((part) => part.toolName), ["get_weather"]);
    check(await stream.text, "The tool says: rain in Oslo");
  });

  await scenario(`own_tools_${api}`, async () => {
    const stream = streamText({ model, prompt: "my plan" });
    await partsOf(stream);
    check((await stream.text).endsWith("It is noted."), true);
  });

  await scenario(`structured_${api}`, async () => {
    const { output } = await generateText({ model, prompt: "a person", output: Output.object({ schema: Person }) });
    check(output, { name: "Ada", age: 36 });
  });

  await scenario(`conversation_${api}`, async () => {
    const messages = [{ role: "user", content: "my plan" }];
    const first = await generateText({ model, messages });
    messages.push(...first.response.messages, { role: "user", content: "hi" });
    check((await generateText({ model, messages })).text, "Hello there.");
  });

  await scenario(`errors_${api}`, async () => {
    const error = await generateText({ model, prompt: "fail", maxRetries: 0 }).catch((error) => error);
    check(/out of order/.test(error.message), true);
  });
}

finish();

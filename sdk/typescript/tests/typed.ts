// Is checked, never run: what authors write has the types they expect, and what is wrong is refused.

import { Feature, tool, type Call, type RequestInput, type Session } from "orlop";
import { testPlugin } from "orlop/testing";

tool({
  name: "weather",
  parameters: { city: "string", "days?": { type: "integer" }, unit: { enum: ["C", "F"] } },
  run({ city, days, unit }) {
    const text: string = city;
    const count: number | undefined = days;
    const letter: "C" | "F" = unit;
    // @ts-expect-error it is a string
    const wrong: number = city;
    // @ts-expect-error may be left out by the model
    const surely: number = days;
    return [text, count, letter, wrong, surely];
  },
});

export class Right extends Feature {
  history = { finalize: 4, initializeRequest: "none" as const };
  requiredTags = () => ["tools"];
  async initializeRequest({ native_messages, state }: RequestInput, call: Call) {
    const { session } = (await call.app?.loadSession("s1")) ?? {};
    if (session) await call.core?.addMessage(session, "user", "hello", { after_index: -1 });
    return { native_messages: [...native_messages, { role: "user" }], state: { ...state, seen: true } };
  }
}

export class Wrong extends Feature {
  // @ts-expect-error a request is not changed by a number
  initializeRequest() {
    return 7;
  }
}

export async function tested() {
  const plugin = await testPlugin(Right);
  await plugin.call("initializeRequest", { native_messages: [] }, { app: { loadSession: () => null } });
}

export async function asked(call: Call, session: Session) {
  await call.core?.forkSession(session, { upto_index: 0 });
  // @ts-expect-error it must be said up to which message
  await call.core?.forkSession(session);
  const page = await call.app?.listSessions({ limit: 1 });
  // @ts-expect-error there is no such option
  await call.app?.listSessions({ top: 1 });
  const next: string | null | undefined = page?.cursor;
  const lifecycle: string | null | undefined = call.context.lifecycle;
  return [next, lifecycle];
}

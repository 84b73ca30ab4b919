// A host plugin: answers /hello itself, and tells the agent who asks.
import { type ContextInput, HostPlugin, type InterceptInput } from "orlop";

export class MyPlugin extends HostPlugin {
  name = "my_plugin";
  version = "0.1.0";
  interceptChatRequest({ text }: InterceptInput) {
    return text === "/hello" ? { text: "Hello from my_plugin!" } : undefined;
  }
  contextProviders({ request }: ContextInput) {
    return [`The user is ${request.userId}.`];
  }
}

// A host plugin: answers /hello itself, and tells the agent who asks.
export class MyPlugin {
  name = "my_plugin";
  version = "0.1.0";

  interceptChatRequest({ text }) {
    if (text === "/hello") return { text: "Hello from my_plugin!" };
  }

  contextProviders({ request }) {
    return [`The user is ${request.userId}.`];
  }
}

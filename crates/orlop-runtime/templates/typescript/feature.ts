// A feature: counts the words of a session, with a button and after each request.
import { type ActionInput, Feature } from "orlop";

export class MyPlugin extends Feature {
  name = "my_plugin";
  version = "0.1.0";
  getActions() {
    return [{ id: "count_words", label: "Count words", trigger: "request_complete" }];
  }
  executeAction({ session }: ActionInput) {
    const words = session.messages.flatMap(({ content }) => String(content).split(/\s+/).filter(Boolean)).length;
    return { message: `${words} words`, session_metadata: { words } };
  }
}

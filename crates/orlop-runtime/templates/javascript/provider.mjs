// A provider without a server: it says backwards what was said.
export class MyPlugin {
  name = "my_plugin";
  version = "0.1.0";
  toNativeMessages({ messages }) {
    return messages.map(({ role, content }) => ({ role, text: content }));
  }
  fromNativeMessages({ native_messages }) {
    return native_messages.map(({ role, text }, at) => ({ role, content: text, metadata: { native_indices: [at] } }));
  }
  callApi({ native_messages }) {
    return [{ role: "assistant", text: [...native_messages.at(-1).text].reverse().join("") }];
  }
}

// A provider without a server: it says backwards what was said.
import { type FromNativeInput, type ModelRequest, Provider, type ToNativeInput } from "orlop";
export class MyPlugin extends Provider {
  name = "my_plugin";
  version = "0.1.0";
  toNativeMessages({ messages }: ToNativeInput) {
    return messages.map(({ role, content }) => ({ role, text: content }));
  }
  fromNativeMessages({ native_messages }: FromNativeInput) {
    return native_messages.map(({ role, text }, at) => ({ role, content: text, metadata: { native_indices: [at] } }));
  }
  callApi({ native_messages }: ModelRequest) {
    return [{ role: "assistant", text: [...native_messages.at(-1)!.text].reverse().join("") }];
  }
}

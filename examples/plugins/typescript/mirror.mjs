// A provider without a server: it says what was said, backwards, word by word.

export class Mirror {
  name = "mirror";
  version = "1.0.0";

  getModels() {
    return [{ id: "mirror-1" }];
  }

  toNativeMessages({ messages }) {
    return messages.map(({ role, content }) => ({ role, text: String(content) }));
  }

  fromNativeMessages({ native_messages }) {
    return native_messages.map(({ role, text }, at) => ({ role, content: text, metadata: { native_indices: [at] } }));
  }

  async *streamApi({ native_messages }, call) {
    const backwards = [...(native_messages.at(-1)?.text ?? "")].reverse().join("");
    for (const word of backwards.split(/(?<= )/)) {
      call.signal.throwIfAborted();
      yield word;
    }
    return { final_messages: [{ role: "assistant", text: backwards }] };
  }
}

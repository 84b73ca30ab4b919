class MyPlugin:
    """A provider without a server: it says backwards what was said."""

    name, version = "my_plugin", "0.1.0"

    def to_native_messages(self, messages):
        return [{"role": it["role"], "text": it["content"]} for it in messages]

    def from_native_messages(self, native_messages):
        found = enumerate(native_messages)
        return [{"role": it["role"], "content": it["text"], "metadata": {"native_indices": [at]}} for at, it in found]

    def call_api(self, native_messages):
        return [{"role": "assistant", "text": native_messages[-1]["text"][::-1]}]

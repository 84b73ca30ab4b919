"""A provider that streams: it says what was said, backwards."""

from typing import Any, Iterator


class Mirror:
    name = "mirror"
    version = "1.0.0"

    def get_models(self, config: dict[str, Any]) -> list[str]:
        return ["mirror-1"]

    def to_native_messages(self, messages: list[Any], state: dict[str, Any]) -> list[Any]:
        return [{"role": message["role"], "text": message["content"]} for message in messages]

    def from_native_messages(self, native_messages: list[Any], state: dict[str, Any]) -> list[Any]:
        return [
            {"role": item["role"], "content": item["text"], "metadata": {"native_indices": [position]}}
            for position, item in enumerate(native_messages)
        ]

    def stream_api(self, native_messages: list[Any], state: dict[str, Any], request_id: Any = None) -> Iterator[Any]:
        backwards = native_messages[-1]["text"][::-1]
        for word in backwards.split(" "):
            yield {"type": "partial", "message": {"role": "assistant", "content": word + " "}}
        yield {"type": "final_messages", "messages": [{"role": "assistant", "text": backwards}]}

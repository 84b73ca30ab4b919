"""An extension with an action at two lifecycles: every session gets a key for the server's cache."""

from typing import Any
from uuid import uuid4


class PromptCache:
    name = "my_prompt_cache"
    version = "1.0.0"

    def process_chunk(self, chunk: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
        return chunk

    def initialize_request(self, native_messages: list[Any], state: dict[str, Any]) -> Any:
        key = state["config"].get("prompt_cache_key")
        if key:
            state["request"]["prompt_cache_key"] = key
        return native_messages, state

    def get_actions(self, state: dict[str, Any]) -> list[dict[str, Any]]:
        trigger = ["session_create", "request_prepare"]
        return [{"id": "ensure_prompt_cache_key", "label": "Ensure prompt cache key", "inputs": {}, "trigger": trigger}]

    def execute_action(self, action_id: str, session: Any) -> dict[str, Any]:
        if "prompt_cache_key" in session.metadata.get("overrides", {}):
            return {}
        return {"session_metadata": {"overrides": {"prompt_cache_key": str(uuid4())}}}

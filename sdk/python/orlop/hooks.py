"""The hooks of each kind: what their methods are called with, and how their answers are read."""

from __future__ import annotations

from typing import NamedTuple

from . import outcomes as read
from .outcomes import Reader


class Hook(NamedTuple):
    """One hook. ``order`` is the order of its parameters for methods that name them otherwise."""

    order: tuple[str, ...]
    reader: Reader
    lists: tuple[str, ...] = ()
    changes_state: bool = False
    streams: bool = False


def _hook(order: str, reader: Reader, lists: str = "", *, state: bool = False, streams: bool = False) -> Hook:
    return Hook(tuple(order.split()), reader, tuple(lists.split()), state, streams)


_CALL = "tool_name payload state payload_kind payload_format payload_metadata tool_call context prepared"

_SHARED = {
    "init": _hook("config state context", read.state_only, state=True),
    "get_tags": _hook("config models context", read.texts),
    "is_enabled": _hook("config tags models context", read.optional_bool),
    "get_ui_elements": _hook("config tags models available_tools tools context", read.values),
}

_SESSION_ACTIONS = {
    "get_actions": _hook("state context", read.with_key("id")),
    "execute_action": _hook(
        "action_id session native_messages params context state", read.action_result, "native_messages"
    ),
}

_NATIVE = {
    "to_native_messages": _hook("messages native_messages state context", read.native_change, "messages native_messages"),
    "from_native_messages": _hook("native_messages messages state context", read.message_change, "native_messages messages"),
    "initialize_request": _hook("native_messages state context", read.request_change, "native_messages", state=True),
    "finalize": _hook(
        "final_messages native_messages state context", read.finalize_change, "final_messages native_messages", state=True
    ),
}  # fmt: skip

HOOKS: dict[str, dict[str, Hook]] = {
    "provider": {
        **_SHARED,
        "get_models": _hook("config context", read.models),
        "to_native_messages": _hook("messages state context", read.native_items, "messages native_messages"),
        "from_native_messages": _hook("native_messages state context", read.messages, "native_messages messages"),
        "initialize_request": _NATIVE["initialize_request"],
        "call_api": _hook("native_messages state request_id context", read.model_answer, "native_messages", state=True),
        "stream_api": _hook(
            "native_messages state request_id context", read.chunk, "native_messages", state=True, streams=True
        ),
        "finalize": _hook(
            "native_messages state context", read.provider_finalize, "final_messages native_messages", state=True
        ),
        "cancel_request": _hook("request_id context", read.nothing),
    },
    "extension": {
        **_SHARED,
        **_NATIVE,
        **_SESSION_ACTIONS,
        "process_chunk": _hook("chunk state context", read.processed_chunk),
    },
    "feature": {
        **_SHARED,
        **_NATIVE,
        **_SESSION_ACTIONS,
        "filter_tools": _hook("config tools context", read.optional_values),
        "attachment_parts": _hook("config file context", read.mappings),
        "get_template": _hook("config context", read.text),
        "get_completions": _hook("config text context", read.values),
        "apply_completion": _hook("config text completion context", read.text),
    },
    "tool": {
        **_SHARED,
        "get_tool_schemas": _hook("config state context", read.schemas),
        "prepare_tools": _hook("config state schemas context", read.anything),
        "execute_tool": _hook(_CALL, read.report),
        "stream_tool": _hook(_CALL, read.tool_part, streams=True),
        "format_tool_result": _hook("result state context", read.anything),
        "to_display_format": _hook("text result state context", read.anything),
        "format_tool_call_preview": _hook(_CALL, read.text),
    },
    "application": {
        "init": _hook("config context", read.plain_state),
        "get_ui_elements": _hook("state config tags models context", read.values),
        "get_actions": _hook("state context", read.with_key("id")),
        "execute_action": _hook("app action_id params context state", read.application_result),
    },
    "host": {
        "start": _hook("config context", read.nothing),
        "stop": _hook("config context", read.nothing),
        "on_request_start": _hook("request context", read.nothing),
        "intercept_chat_request": _hook("request text files headers context", read.interception),
        "attachment_handler": _hook("request files context", read.joined_text),
        "context_providers": _hook("request text step context", read.texts),
        "before_tool_call": _hook("request call_id tool_name input context", read.gate),
        "after_tool_call": _hook("request call_id tool_name input result failed context", read.optional_text),
        "on_turn_persisted": _hook("request context", read.nothing),
        "on_request_end": _hook("request context", read.nothing),
    },
}

KINDS = tuple(HOOKS)

# Other names that parameters may have.
ALIASES = {
    "app_config": "config",
    "cfg": "config",
    "application": "app",
    "name": "tool_name",
    "arguments": "payload",
    "args": "payload",
    "native": "native_messages",
    "finals": "final_messages",
    "core_messages": "messages",
    "ctx": "context",
}

# What every method may ask for beside the inputs of its hook.
OFFERED = frozenset(("context", "core", "app", "cancellation", "call"))

# All inputs there are, for hooks whose table row does not name one that the host sends.
INPUTS = frozenset(
    name for hooks in HOOKS.values() for hook in hooks.values() for name in (*hook.order, *hook.lists)
) | frozenset(("revision", "stream", "request", "kind", "tenant_id", "user_id", "session_id", "agent_id", "request_id"))

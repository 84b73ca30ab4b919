"""A feature: an action that replaces a range of a session by a summary."""

from datetime import datetime, timezone
from typing import Any, Dict, List, Optional

from agent_core.types import Message


class MyFeaturePlugin:
    """Offers the action `summarize_range` on every session."""

    name = "my_feature"
    version = "1.0.0"
    priority = 100

    def __init__(self) -> None:
        self._state: Dict[str, Any] = {}

    def get_config_schema(self) -> Dict[str, Any]:
        return {
            "enabled": {"type": "boolean", "default": True},
            "max_items": {"type": "integer", "default": 100},
        }

    def init(self, config: Dict[str, Any], state: Dict[str, Any]) -> Dict[str, Any]:
        return {**state, "config": config}

    def get_tags(self, config: Dict[str, Any], models: List[Dict[str, Any]]) -> List[str]:
        return ["my_feature_capable"]

    def required_tags(self) -> List[str]:
        return []

    def get_ui_elements(
        self, config: Dict[str, Any], tags: List[str], models: List[Dict[str, Any]]
    ) -> List[Dict[str, Any]]:
        if not self._is_enabled(config):
            return []
        fields = [{"name": name, "type": "integer", "label": name.title()} for name in ("start", "end")]
        return [
            {
                "ui_type": "session_action",
                "id": "summarize_range",
                "label": "Summarize range",
                "icon": "compress",
                "order": 45,
                "action_id": "summarize_range",
                "dialog": {"kind": "form", "title": "Summarize range", "inputs": fields},
            }
        ]

    def finalize(
        self,
        final_messages: List[Dict[str, Any]],
        native_messages: List[Dict[str, Any]],
        state: Dict[str, Any],
    ) -> tuple[list[Dict[str, Any]], list[Dict[str, Any]], Dict[str, Any]]:
        return final_messages, native_messages, state

    def get_actions(self, state: Dict[str, Any]) -> List[Dict[str, Any]]:
        return [
            {
                "id": "summarize_range",
                "label": "Summarize range",
                "description": "Summarize a range of messages.",
                "inputs": {
                    "start": {"type": "integer", "required": False},
                    "end": {"type": "integer", "required": False},
                },
            }
        ]

    def execute_action(
        self,
        action_id: str,
        session: Any,
        native_messages: List[Dict[str, Any]],
        params: Dict[str, Any],
        context: Optional[Dict[str, Any]],
        state: Dict[str, Any],
    ) -> Dict[str, Any]:
        def refused(kind: str, message: str) -> Dict[str, Any]:
            return {"native_messages": native_messages, "error": {"type": kind, "message": message}}

        if action_id != "summarize_range":
            return refused("unknown_action", f"Unknown action: {action_id}")
        if not isinstance(context, dict):
            return refused("invalid_context", "Context is required")
        core = context.get("core")
        config = context.get("config", {})
        base_config = context.get("base_config", config)
        if core is None:
            return refused("missing_core", "Context must include 'core'")
        if not self._is_enabled(base_config):
            return refused("disabled", "Feature is not enabled.")

        start = params.get("start") or 0
        end = len(native_messages) if params.get("end") is None else params["end"]
        summary = self._ask_for_summary(session, start, end, context)
        native = core.core_messages_to_native([summary.to_dict()], config)
        return {
            "native_messages": self._apply_summarization(native_messages, start, end, native),
            "session_metadata": {"last_summarization": datetime.now(timezone.utc).isoformat()},
        }

    def _ask_for_summary(self, session: Any, start: int, end: int, context: Dict[str, Any]) -> Message:
        core, config = context["core"], context.get("config", {})
        app, base_config = context.get("app"), context.get("base_config", config)
        part = core.slice_session(session, config, start=start, end=end)
        asking = core.add_message(part, "user", "Summarize this conversation.", config=config)
        agent_id = (base_config.get("my_feature") or {}).get("agent_id")
        if app is not None and agent_id:
            other, other_config, given = app.update_agent(agent_id, asking)
            events = app.send_request(other, given, other_config, {}, stream=False)
            finals = [event for event in events if event.get("type") == "final"][-1]["messages"]
        else:
            _session, finals = core.send_request(asking, config)
        return Message(role="user", content=finals[-1]["content"], metadata={"summary": True})

    def _apply_summarization(
        self,
        native_messages: List[Dict[str, Any]],
        start: int,
        end: int,
        summary: List[Dict[str, Any]],
    ) -> List[Dict[str, Any]]:
        return [*native_messages[:start], *summary, *native_messages[end:]]

    def _is_enabled(self, config: Dict[str, Any]) -> bool:
        feature_cfg = config.get("my_feature") or {}
        return feature_cfg.get("enabled", True)

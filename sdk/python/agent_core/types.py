"""Types of the core, for plugins that name them."""

from __future__ import annotations

from typing import Any, Literal

from orlop import ExtensionPlugin as ProviderExtensionPlugin
from orlop import FeaturePlugin, ProviderPlugin, ToolPlugin
from orlop.sessions import Message, Session

MessageRole = Literal["system", "user", "assistant", "tool"]
ToolDescriptor = dict[str, Any]
TOOL_RESULT_FIELD = "tool_result"

__all__ = [
    "FeaturePlugin", "Message", "MessageRole", "ProviderExtensionPlugin", "ProviderPlugin", "Session",
    "TOOL_RESULT_FIELD", "ToolDescriptor", "ToolPlugin",
]  # fmt: skip

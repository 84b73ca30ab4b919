"""The names that plugins import of the core: messages, sessions, and the core as a hook gets it."""

from __future__ import annotations

from orlop.proxies import Core as AgentCore
from orlop.sessions import Message, Session

from .types import FeaturePlugin, ProviderExtensionPlugin, ProviderPlugin, ToolPlugin

__all__ = [
    "AgentCore", "FeaturePlugin", "Message", "ProviderExtensionPlugin", "ProviderPlugin", "Session", "ToolPlugin",
]  # fmt: skip

"""The names that plugins import of the application."""

from __future__ import annotations

from .application_future import AgentApplication, resolve_request_config
from .app_plugins import ApplicationPlugin

__all__ = ["AgentApplication", "ApplicationPlugin", "resolve_request_config"]

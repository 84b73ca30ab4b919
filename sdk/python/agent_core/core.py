"""The core, by the name of the module that plugins know."""

from orlop.proxies import Core as AgentCore

__all__ = ["AgentCore"]

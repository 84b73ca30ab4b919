"""The application as a plugin gets it, and the configuration of a request."""

from __future__ import annotations

from typing import Any, Optional

from orlop.proxies import App as AgentApplication
from orlop.values import copy_json

__all__ = ["AgentApplication", "resolve_request_config"]

# These are one thing: an override of them does not merge.
_WHOLE = ("output_schema",)


def resolve_request_config(base_config: dict[str, Any], *overrides: Optional[dict[str, Any]]) -> dict[str, Any]:
    """Lays overrides over a configuration, a later one over an earlier one.

    Mappings merge key by key, ``None`` removes a key, anything else replaces. Dots in a key lead
    into sections: ``{"compaction.enabled": False}``.
    """
    config = copy_json(base_config)
    for layer in overrides:
        for key, value in (layer or {}).items():
            steps = key.split(".")
            _put(config, [key] if "" in steps else steps, value)
    return config


def _put(config: dict[str, Any], steps: list[str], value: Any) -> None:
    *sections, last = steps
    for section in sections:
        held = config.get(section)
        if not isinstance(held, dict):
            if value is None:
                return
            held = config[section] = {}
        config = held
    if value is None:
        config.pop(last, None)
    elif not sections and last in _WHOLE:
        config[last] = copy_json(value)
    else:
        _merge(config, last, value)


def _merge(config: dict[str, Any], key: str, value: Any) -> None:
    if not isinstance(value, dict):
        config[key] = copy_json(value)
        return
    held = config.get(key)
    if not isinstance(held, dict):
        held = config[key] = {}
    for inner, entry in value.items():
        if entry is None:
            held.pop(inner, None)
        else:
            _merge(held, inner, entry)

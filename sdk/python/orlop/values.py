"""JSON values: copied fast, compared strictly, and the difference between two of them.

Python takes ``1``, ``1.0`` and ``True`` for equal; JSON does not, so ``same`` does not either.
"""

from __future__ import annotations

from typing import Any

_ATOMS = frozenset((str, int, float, bool, type(None)))
_ABSENT = object()


def copy_json(value: Any) -> Any:
    """A copy that shares nothing that can be changed. Texts are shared: they cannot be."""
    if isinstance(value, dict):
        return {k: v if v.__class__ in _ATOMS else copy_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [v if v.__class__ in _ATOMS else copy_json(v) for v in value]
    return value


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same JSON. The order of keys does not matter."""
    if a is b:
        return True
    if isinstance(a, dict):
        if not isinstance(b, dict) or len(a) != len(b):
            return False
        for key, value in a.items():
            other = b.get(key, _ABSENT)
            if value is not other and not same(value, other):
                return False
        return True
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(same, a, b))
    return a.__class__ is b.__class__ and a == b


def state_change(before: dict[str, Any], after: Any) -> Any:
    """What turns one state into another: ``"keep"``, a patch where one can say it, or the whole.

    A patch merges mappings and removes what is ``None``, so it cannot set a ``None``.
    """
    if after is None or same(before, after):
        return "keep"
    if set(after) == {"patch"} and isinstance(after["patch"], dict):
        return after
    if set(after) == {"replace"} and isinstance(after["replace"], dict):
        return after
    after = {**{key: before[key] for key in _RESERVED if key in before}, **after}
    try:
        patch = _patch(before, after, _entry)
    except _NoPatch:
        return {"replace": after}
    return {"patch": patch} if patch else "keep"


_RESERVED = ("config", "request", "session_metadata_patch")


class _NoPatch(Exception):
    """The change cannot be said as a patch."""


def _entry(key: str, before: Any, after: Any) -> Any:
    """The patch of one entry of the state. Some entries have rules of their own."""
    if key == "request" and isinstance(after, dict):
        return _patch(before or {}, after, _whole)
    if key == "session_metadata_patch" and isinstance(after, dict):
        return _additions(before, after, ("overrides",)) if isinstance(before, dict) else after
    return _merge(key, before, after)


def _patch(before: dict[str, Any], after: dict[str, Any], entry: Any) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = entry(key, None, value)
        elif not same(before[key], value):
            patch[key] = entry(key, before[key], value)
    return patch


def _whole(_key: str, _before: Any, after: Any) -> Any:
    if after is None:
        raise _NoPatch
    return after


def _merge(key: str, before: Any, after: Any) -> Any:
    if isinstance(after, dict):
        return _patch(before if isinstance(before, dict) else {}, after, _merge)
    return _whole(key, before, after)


def _additions(before: dict[str, Any], after: dict[str, Any], nested: tuple[str, ...]) -> Any:
    """A patch that is laid over another patch: it can add and set, and remove nothing."""
    if any(key not in after for key in before):
        raise _NoPatch
    patch: dict[str, Any] = {}
    for key, value in after.items():
        if key in before and same(before[key], value):
            continue
        held = before.get(key)
        both = isinstance(held, dict) and isinstance(value, dict)
        patch[key] = _additions(held, value, ()) if key in nested and both else value
    return patch

"""Runs hooks without a host, for the tests of plugins::

    from orlop.testing import run

    def test_adds():
        assert run("sums.py", "execute_tool", tool_name="add", payload={"a": 1, "b": 2}).outcome["output"] == 3

Everything crosses the border as JSON, as it does with a host.
"""

from __future__ import annotations

import _thread
from types import ModuleType
from typing import Any, Optional

from .calls import PROCESS
from .errors import Error
from .plugins import Plugin, classify, find, load, with_defaults
from .server import Server
from .sessions import Session
from .values import copy_json
from .wire import Connection, decode, encode


class Result:
    """What came of a hook: its ``outcome`` as the host gets it, and what that makes of the inputs."""

    def __init__(self, args: dict[str, Any]) -> None:
        self._args = args
        self.outcome: Any = None
        self.error: Optional[dict[str, Any]] = None
        self.parts: list[Any] = []
        self.logs: list[dict[str, Any]] = []
        self.progress: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def _changed(self, name: str) -> list[Any]:
        change = self.outcome.get(name) if isinstance(self.outcome, dict) else None
        if isinstance(self.outcome, dict) and "edits" in self.outcome:
            change = self.outcome
        return apply_change(self._args.get(name) or [], change)

    @property
    def native_messages(self) -> list[Any]:
        """Native history afterwards."""
        return self._changed("native_messages")

    @property
    def messages(self) -> list[Any]:
        """The messages afterwards."""
        return self._changed("messages")

    @property
    def final_messages(self) -> list[Any]:
        """The finals afterwards."""
        return self._changed("final_messages")

    @property
    def state(self) -> Any:
        """The state afterwards."""
        change = self.outcome
        if isinstance(change, dict) and "state" in change:
            change = change["state"]
        return apply_state(self._args.get("state") or {}, change)


def run(
    target: Any,
    hook: str,
    *,
    answers: Optional[dict[str, Any]] = None,
    context: Optional[dict[str, Any]] = None,
    package_config: Optional[dict[str, Any]] = None,
    **args: Any,
) -> Result:
    """Runs a hook of a plugin and gives the result; a failure is raised as ``orlop.Error``.

    ``target`` is a class, an object, a module or a path. ``answers`` says what the host answers:
    ``{"app.load_session": value}``, or a function that takes the arguments. ``package_config`` is the
    section of the package in the configuration.
    """
    PROCESS.config = package_config or {}
    plugin = _plugin(target, hook, PROCESS.config)
    PROCESS.config = with_defaults(PROCESS.config, [plugin.describe()])
    result = Result(copy_json(args))
    link = _Recorder(result, answers or {})
    server = Server("", None, -1)
    server._connection = PROCESS.link = link
    server._plugins = {(plugin.kind, plugin.name): plugin}
    link.revive = server._revive
    context = {"trigger_source": "test", "handles": ["core", "app"], **(context or {})}
    params = {
        "plugin": plugin.name, "kind": plugin.kind, "hook": hook, "call": 1,
        "args": {key: _sent(value, args) for key, value in args.items()}, "context": context,
    }  # fmt: skip
    line = encode({"jsonrpc": "2.0", "id": 1, "method": "hook", "params": params})
    job = server._receive(line.encode())
    if job is not None:
        job()
    link.done.acquire()
    if result.error is not None:
        data = result.error.get("data") or {}
        raise Error(result.error["message"], data.get("class", "internal"), retryable=bool(data.get("retryable")))
    return result


def _plugin(target: Any, hook: str, config: dict[str, Any]) -> Plugin:
    if not isinstance(target, (str, ModuleType)) and not hasattr(target, "__fspath__"):
        cls = target if isinstance(target, type) else type(target)
        instance = target() if isinstance(target, type) else target
        return Plugin(instance, classify(cls), cls.__name__, cls.__name__)
    module = target if isinstance(target, ModuleType) else load(str(target))
    plugins = find(module, config, module.__name__)
    return next((plugin for plugin in plugins if hook in plugin.methods), plugins[0])


def _sent(value: Any, args: dict[str, Any]) -> Any:
    if not isinstance(value, Session):
        return value
    plain = value.to_dict()
    metadata = dict(plain["metadata"])
    native = metadata.pop("native_messages", args.get("native_messages"))
    described = {"handle": "h1", "session_id": value.session_id, "metadata": metadata}
    lists = {"messages": {"$list": {"items": plain["messages"]}}}
    if native is not None:
        lists["native_messages"] = {"$list": {"items": native}}
    return {"$session": {**described, **lists}}


class _Recorder(Connection):
    """Stands where the host would be."""

    def __init__(self, result: Result, answers: dict[str, Any]) -> None:
        super().__init__(-1)
        self._result = result
        self._answers = answers
        self.revive: Any = None
        self.done = _thread.allocate_lock()
        self.done.acquire()

    def _write(self, text: str) -> None:
        message = decode(text)
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            self._result.outcome, self._result.error = message.get("result"), message.get("error")
            self.done.release()
        elif method == "part":
            self._result.parts.append(params["value"])
        elif method == "progress":
            self._result.progress.append(params)
        elif method == "log":
            self._result.logs.append(params)
        else:
            self._result.asked.append((method, params["args"]))
            self.settle(self._answer(message["id"], method, params["args"]), self.revive)

    def _answer(self, request: Any, method: str, args: dict[str, Any]) -> dict[str, Any]:
        if method not in self._answers:
            told = f'the plugin asked for {method}; give run(..., answers={{"{method}": ...}})'
            return {"id": request, "error": {"message": told, "data": {"class": "bad_argument"}}}
        answer = self._answers[method]
        answer = answer(args) if callable(answer) else answer
        return {"id": request, "result": decode(encode(answer))}


def apply_change(given: list[Any], change: Any) -> list[Any]:
    """The list after a change: kept, whole, or edited."""
    if change is None:
        return given
    if isinstance(change, list):
        return change
    items = list(given)
    for edit in change["edits"]:
        if edit["op"] == "append":
            items += edit["items"]
        elif edit["op"] == "replace":
            items[edit["start"] : edit["end"]] = edit["items"]
        else:
            for position in edit["indices"]:
                metadata = {**(items[position].get("_metadata") or {}), **edit["patch"]}
                items[position] = {**items[position], "_metadata": metadata}
    return items


def apply_state(state: dict[str, Any], change: Any) -> Any:
    """The state after a change, by the rules of the host."""
    if isinstance(change, dict) and set(change) == {"replace"}:
        return change["replace"]
    if not isinstance(change, dict) or set(change) != {"patch"}:
        return state
    patch, state = dict(change["patch"]), copy_json(state)
    if "request" in patch:
        _set_entries(state, "request", patch.pop("request"))
    if "session_metadata_patch" in patch:
        _add_metadata(state, patch.pop("session_metadata_patch"))
    return merge_patch(state, patch)


def merge_patch(target: Any, patch: Any) -> Any:
    """JSON Merge Patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def _set_entries(state: dict[str, Any], key: str, entries: Any) -> None:
    held = state.setdefault(key, {})
    if entries is None:
        held.clear()
    for name, value in (entries or {}).items():
        if value is None:
            held.pop(name, None)
        else:
            held[name] = value


def _add_metadata(state: dict[str, Any], patch: Any) -> None:
    key = "session_metadata_patch"
    held = state.get(key)
    if patch is None:
        state.pop(key, None)
    elif not isinstance(held, dict) or not isinstance(patch, dict):
        state[key] = patch
    else:
        for name, value in patch.items():
            inner = held.get(name)
            if name == "overrides" and isinstance(inner, dict) and isinstance(value, dict):
                inner.update(value)
            else:
                held[name] = value

"""The core and the application, as far as a plugin may use them from its own process.

In an async method everything here that answers something is to be awaited.
"""

from __future__ import annotations

import base64
from typing import Any, Optional, Union

from .calls import Call, Events, Pending
from .sessions import Session
from .values import same

Json = dict[str, Any]


class Core:
    """The core of an agent. Sessions are values: every operation gives a new one."""

    def __init__(self, call: Call, agent: Optional[str] = None, *configs: Optional[Json]) -> None:
        self._call = call
        self._configs = [config for config in configs if config is not None]
        self.agent_id = agent
        self._foreign: Optional[str] = None

    @classmethod
    def of_agent(cls, call: Call, agent: str, config: Optional[Json]) -> "Core":
        """The core of an agent that is not the one of the call."""
        core = cls(call, agent, config)
        core._foreign = agent
        return core

    def _ask(self, method: str, args: Json, read: Any = None) -> Any:
        return self._call.ask("core." + method, args, read, self._foreign)

    def create_session(self, session_id: Optional[str] = None) -> Session:
        """A new empty session; nothing is stored."""
        return self._ask("create_session", {"session_id": session_id}, _session)

    def add_message(
        self,
        session: Session,
        role: str,
        content: Any,
        metadata: Optional[Json] = None,
        config: Optional[Json] = None,
        *,
        multipart_content: Optional[list[Json]] = None,
        after_index: Optional[int] = None,
        context: Optional[Json] = None,
        tool_result: Optional[Json] = None,
    ) -> Session:
        """Adds a message at the end, or after the one at ``after_index`` (-1: at the start)."""
        args = {
            "session": session, "role": role, "content": content, "metadata": metadata, "config": config,
            "multipart_content": multipart_content, "after_index": after_index, "tool_result": tool_result,
        }  # fmt: skip
        return self._ask("add_message", args, _session)

    def modify_message(
        self,
        session: Session,
        index: int,
        content: Any,
        config: Optional[Json] = None,
        *,
        context: Optional[Json] = None,
    ) -> Session:
        """Puts another content into a message."""
        args = {"session": session, "index": index, "content": content, "config": config}
        return self._ask("modify_message", args, _session)

    def slice_session(
        self,
        session: Session,
        config: Optional[Json] = None,
        *,
        start: Optional[int] = None,
        end: Optional[int] = None,
        remove_indices: Optional[list[int]] = None,
        return_removed: bool = False,
    ) -> Union[Session, tuple[Session, Session]]:
        """Some of the messages; with ``return_removed`` also those that were left out."""
        args = {"session": session, "config": config, "start": start, "end": end, "remove_indices": remove_indices}
        if not return_removed:
            return self._ask("slice_session", args, _session)
        return self._ask("slice_session", {**args, "return_removed": True}, lambda pair: tuple(map(_session, pair)))

    def fork_session(
        self,
        session: Session,
        config: Optional[Json] = None,
        *,
        upto_index: int,
        new_session_id: Optional[str] = None,
    ) -> Session:
        """The messages up to one of them, that one included."""
        args = {"session": session, "config": config, "upto_index": upto_index, "new_session_id": new_session_id}
        return self._ask("fork_session", args, _session)

    def join_sessions(self, prefix: Session, suffix: Session, config: Optional[Json] = None) -> Session:
        """One session after the other."""
        return self._ask("join_sessions", {"prefix": prefix, "suffix": suffix, "config": config}, _session)

    def rebuild_native_history(
        self,
        session: Session,
        config: Optional[Json] = None,
        *,
        start: Optional[int] = None,
        end: Optional[int] = None,
        context: Optional[Json] = None,
    ) -> Session:
        """Makes native history of the messages anew."""
        args = {"session": session, "config": config, "start": start, "end": end}
        return self._ask("rebuild_native_history", args, _session)

    def export_session(self, session: Session, format: str = "json") -> str:
        """The session as a text."""
        return self._ask("export_session", {"session": session, "format": format})

    def import_session(self, data: str, format: str = "json") -> Session:
        """A session from such a text."""
        return self._ask("import_session", {"data": data, "format": format}, _session)

    def patch_native_internal_metadata(self, native_messages: list[Json], indices: list[int], patch: Json) -> list[Json]:
        """Native items with a patch in the ``_metadata`` of some of them."""
        args = {"native_messages": native_messages, "indices": indices, "patch": patch}
        return self._ask("patch_native_internal_metadata", args)

    def core_messages_to_native(
        self, core_messages: list[Any], config: Json, *, context: Optional[Json] = None
    ) -> list[Json]:
        """Messages in the form of the provider."""
        return self._ask("core_messages_to_native", {"core_messages": core_messages, "config": config})

    def send_request(
        self,
        session: Session,
        config: Json,
        *,
        request_id: Optional[str] = None,
        cancellation: Any = None,
        context: Optional[Json] = None,
    ) -> tuple[Session, list[Json]]:
        """Asks the model once. Gives the session with the answer, and the messages that were added."""
        args = {"session": session, "config": config, "request_id": request_id}
        return self._ask("send_request", args, lambda done: (_session(done["session"]), done["messages"]))

    def send_request_stream(
        self,
        session: Session,
        config: Json,
        *,
        request_id: Optional[str] = None,
        cancellation: Any = None,
        context: Optional[Json] = None,
    ) -> Events:
        """As ``send_request``, as events: ``partial`` as they come, and one ``final``."""
        args = {"session": session, "config": config, "request_id": request_id}

        def last(done: Json) -> list[Json]:
            return [{"type": "final", "session": _session(done["session"]), "messages": done["messages"]}]

        return self._call.stream("core.send_request", args, last, self._foreign)

    stream_request = send_request_stream

    def get_plugins_for_config(self, config: Json) -> dict[str, list[str]]:
        """The names of the plugins that are active with a configuration, by kind."""
        return self._ask("get_plugins_for_config", {"config": config})

    def initialize_action_request(
        self, native_messages: list[Json], state: Json, request_runtime: Json, request_context: Json
    ) -> tuple[list[Json], Json]:
        """Prepares native history as for a request. Gives it and the state."""
        args = {
            "native_messages": native_messages, "state": state,
            "request_runtime": request_runtime, "request_context": _plain_context(request_context),
        }  # fmt: skip
        return self._ask("initialize_action_request", args, tuple)

    def get_available_tools(self, config: Json) -> list[Json]:
        """All tools, also those that features hide from the model."""
        return self._ask("get_available_tools", {"config": config})

    def get_tool_schemas(self, config: Json) -> list[Json]:
        """The tools that the model sees."""
        return self._ask("get_tool_schemas", {"config": config})

    def extract_tool_calls_from_messages(self, messages: list[Any]) -> list[Json]:
        """The tool calls that assistant messages ask for."""
        return self._ask("extract_tool_calls_from_messages", {"messages": messages})

    def execute_tool_calls(
        self, tool_calls: list[Json], config: Json, *, context: Optional[Json] = None
    ) -> list[Json]:
        """Runs tool calls. Gives one tool message for each."""
        return self._ask("execute_tool_calls", {"tool_calls": tool_calls, "config": config})

    def format_tool_call_previews(self, tool_calls: list[Json], config: Json) -> list[Json]:
        """Short texts that say what calls are about to do."""
        return self._ask("format_tool_call_previews", {"tool_calls": tool_calls, "config": config})

    def get_session_actions(self, config: Json) -> list[Json]:
        """The actions that extensions and features offer on a session."""
        return self._ask("get_session_actions", {"config": config})

    def execute_session_action(
        self,
        session: Session,
        config: Json,
        plugin_id: str,
        action_id: str,
        params: Json,
        context: Optional[Json] = None,
    ) -> tuple[Session, Json]:
        """Runs one of them. Gives the session and the public result."""
        args = {
            "session": session, "config": config, "plugin_id": plugin_id,
            "action_id": action_id, "params": params,
        }  # fmt: skip
        return self._ask("execute_session_action", args, lambda pair: (_session(pair[0]), pair[1]))

    def execute_lifecycle_actions(
        self, session: Session, config: Json, trigger: str, *, context: Optional[Json] = None
    ) -> tuple[Session, list[Json]]:
        """Runs all actions of a lifecycle. Gives the session and the results."""
        args = {"session": session, "config": config, "trigger": trigger}
        return self._ask("execute_lifecycle_actions", args, lambda run: (_session(run["session"]), run["results"]))

    def get_config_schema(self) -> list[Json]:
        """The settings of all plugins."""
        return self._ask("get_config_schema", {})

    def get_ui_schema(self, config: Json) -> list[Json]:
        """The elements of all plugins for people."""
        return self._ask("get_ui_schema", {"config": config})

    def get_completions(self, config: Json, text: str) -> list[Json]:
        """Completions for the text before the cursor."""
        return self._ask("get_completions", {"config": config, "text": text})

    def apply_feature_completion(self, config: Json, text: str, completion: Json) -> str:
        """The snippet for a completion that was accepted."""
        return self._ask("apply_feature_completion", {"config": config, "text": text, "completion": completion})


Loaded = tuple[Core, Json, Session]


class App:
    """The application: stored sessions, locks, events, requests with tools."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def _ask(self, method: str, args: Json, read: Any = None) -> Any:
        return self._call.ask("app." + method, args, read)

    def _loaded(self, found: Optional[Json]) -> Optional[Loaded]:
        if found is None:
            return None
        config = found.get("config") or {}
        return Core.of_agent(self._call, found["agent_id"], config), config, _session(found["session"])

    def load_session(self, session_id: str) -> Optional[Loaded]:
        """The core of its agent, that agent's configuration and the session; ``None`` if there is none."""
        return self._ask("load_session", {"session_id": session_id}, self._loaded)

    def save_session(self, session: Session) -> Session:
        """Stores a session. Gives it as it was stored."""
        return self._ask("save_session", {"session": session}, _session)

    def create_session(
        self,
        agent_id: Optional[str] = None,
        session_id: Optional[str] = None,
        metadata: Optional[Json] = None,
    ) -> Loaded:
        """A new stored session."""
        args = {"agent_id": agent_id, "session_id": session_id, "metadata": metadata}
        return self._ask("create_session", args, self._loaded)

    def fork_session(
        self, session_id: str, upto_index: Optional[int] = None, new_session_id: Optional[str] = None
    ) -> Loaded:
        """A stored copy, up to one of the messages."""
        args = {"session_id": session_id, "upto_index": upto_index, "new_session_id": new_session_id}
        return self._ask("fork_session", args, self._loaded)

    def delete_session(self, session_id: str, reason: Optional[str] = None) -> None:
        """Deletes a stored session."""
        return self._ask("delete_session", {"session_id": session_id, "reason": reason})

    def list_sessions(
        self, limit: Optional[int] = None, cursor: Optional[str] = None, search: Optional[str] = None
    ) -> Json:
        """``sessions``, and a ``cursor`` for the next page."""
        return self._ask("list_sessions", {"limit": limit, "cursor": cursor, "search": search})

    def update_agent(self, agent_id: str, session: Session) -> Loaded:
        """Gives a session to another agent; nothing is stored."""
        return self._ask("update_agent", {"agent_id": agent_id, "session": session}, self._loaded)

    def send_request(
        self,
        core: Optional[Core],
        session: Session,
        config: Optional[Json] = None,
        overrides: Optional[Json] = None,
        stream: bool = False,
        *,
        message: Any = None,
        persist: Optional[bool] = None,
    ) -> Any:
        """Sends a request with the whole tool loop, to the agent of ``core``. Gives its events.

        What ``config`` has other than the agent's own configuration counts as an override. With
        ``stream`` the events come as an iterator, each as it happens.
        """
        known = core._configs if core is not None else []
        changed = _differences(known, config) if known and config is not None else {}
        args = {
            "session": session, "agent_id": core.agent_id if core is not None else None, "message": message,
            "overrides": {**changed, **(overrides or {})} or None, "persist": persist,
        }  # fmt: skip
        if stream:
            return self._call.stream("app.send_request", args, lambda events: events or [])
        return self._ask("send_request", args)

    def publish_event(self, event: Json) -> Json:
        """Publishes an event to whoever listens."""
        return self._ask("publish_event", {"event": event})

    def acquire_session_lock(self, session_id: str) -> "SessionLock":
        """``with app.acquire_session_lock(id):`` or ``async with``; it is given back at the end."""
        return SessionLock(self, session_id)

    def list_actions(self, session_id: Optional[str] = None) -> list[Json]:
        """What can be done, of all plugins."""
        return self._ask("list_actions", {"session_id": session_id})

    def execute_action(
        self, plugin: str, action_id: str, params: Optional[Json] = None, session_id: Optional[str] = None
    ) -> Json:
        """Runs an action of any plugin."""
        args = {"plugin": plugin, "action_id": action_id, "params": params or {}, "session_id": session_id}
        return self._ask("execute_action", args)

    def list_assets(self, session_id: str) -> list[Json]:
        """The files of a session: ``id``, ``name``, ``media_type``, ``size`` and more."""
        return self._ask("list_assets", {"session_id": session_id})

    def read_asset(self, asset_id: str) -> bytes:
        """The bytes of a file."""
        return self._ask("read_asset", {"asset_id": asset_id}, lambda read: base64.b64decode(read["data"]))

    def put_asset(
        self, name: str, data: bytes, media_type: Optional[str] = None, session_id: Optional[str] = None
    ) -> Json:
        """Keeps a file with a session, or on its own. Gives what is known of it."""
        text = base64.b64encode(data).decode("ascii")
        args = {"name": name, "data": text, "media_type": media_type, "session_id": session_id}
        return self._ask("put_asset", args)

    def get_state(self, session_id: Optional[str] = None) -> Any:
        """What ``set_state`` kept with a session, or with the user."""
        return self._ask("get_state", {"session_id": session_id})

    def set_state(self, value: Any, session_id: Optional[str] = None) -> None:
        """Keeps a value of the plugin with a session, or with the user."""
        return self._ask("set_state", {"session_id": session_id, "value": value})

    def resolve_request_config(self, base_config: Json, *overrides: Json) -> Json:
        """The configuration of one request: a base and what is laid over it."""
        from agent_app import resolve_request_config

        return resolve_request_config(base_config, *overrides)


class SessionAssetStore:
    """The files of sessions: ``context["session_asset_store"]``, with the session of the call unless another is named."""

    def __init__(self, app: App) -> None:
        self._app = app

    def _session(self, session_id: Optional[str]) -> Optional[str]:
        return session_id or self._app._call.session_id

    def list(self, session_id: Optional[str] = None) -> "list[Json]":
        """The files of a session."""
        return self._app._ask("list_assets", {"session_id": self._session(session_id)})

    def get(self, asset_id: str) -> bytes:
        """The bytes of a file."""
        return self._app.read_asset(asset_id)

    def put(
        self, name: str, data: bytes, media_type: Optional[str] = None, session_id: Optional[str] = None
    ) -> Json:
        """Keeps a file with a session. Gives what is known of it."""
        return self._app.put_asset(name, data, media_type, self._session(session_id))


class SessionLock:
    """A lock on a stored session."""

    def __init__(self, app: App, session_id: str) -> None:
        self._app = app
        self._session_id = session_id
        self._lock: Any = None

    def _acquire(self) -> Any:
        return self._app._ask("acquire_session_lock", {"session_id": self._session_id})

    def _release(self) -> Any:
        lock, self._lock = self._lock, None
        return self._app._ask("release_session_lock", {"lock": lock})

    def __enter__(self) -> "SessionLock":
        taken = self._acquire()
        if isinstance(taken, Pending):
            raise RuntimeError("in an async method write `async with app.acquire_session_lock(...)`")
        self._lock = taken["lock"]
        return self

    def __exit__(self, *error: Any) -> None:
        # A cancelled call has lost its locks already.
        if not self._app._call.cancelled:
            self._release()

    async def __aenter__(self) -> "SessionLock":
        self._lock = (await self._acquire())["lock"]
        return self

    async def __aexit__(self, *error: Any) -> None:
        if not self._app._call.cancelled:
            await self._release()


def _session(value: Any) -> Any:
    return Session.from_dict(value) if isinstance(value, dict) else value


def _differences(known: list[Json], config: Json) -> Json:
    """What a configuration has other than those that are known; sections by their keys."""
    return {} if any(same(one, config) for one in known) else _newer(known[0], config)


def _newer(base: Json, config: Json) -> Json:
    newer: Json = {}
    for key, value in config.items():
        held = base.get(key)
        if isinstance(held, dict) and isinstance(value, dict):
            value = _newer(held, value)
            if value:
                newer[key] = value
        elif key not in base or not same(held, value):
            newer[key] = value
    return newer


def _plain_context(context: Json) -> Json:
    """A context without the things that only live here."""
    return {key: value for key, value in context.items() if not isinstance(value, (Core, App))}

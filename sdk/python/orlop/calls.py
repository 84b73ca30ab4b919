"""The call that is running: what a plugin can ask and tell while it works."""

from __future__ import annotations

import os
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Callable, Optional

from .errors import Cancelled, Error

_CURRENT: ContextVar[Optional["Call"]] = ContextVar("orlop_call", default=None)


class Process:
    """What all calls of the process share."""

    def __init__(self) -> None:
        self.package = ""
        self.config: dict[str, Any] = {}
        self.folders: dict[str, str] = {}
        self.link: Any = None
        self.loop_thread: Optional[int] = None


PROCESS = Process()


class Cancellation:
    """Whether a call was cancelled; runs callbacks when it is."""

    def __init__(self) -> None:
        self.cancelled = False
        self._callbacks: dict[int, Callable[[], Any]] = {}
        self._next = 0

    def is_cancelled(self) -> bool:
        """Whether nobody waits any more."""
        return self.cancelled

    def raise_if_cancelled(self) -> None:
        """Ends the call here if it was cancelled."""
        if self.cancelled:
            raise Cancelled()

    def add_callback(self, callback: Callable[[], Any]) -> int:
        """Runs ``callback`` when the call is cancelled, at once if it already is. Gives a token."""
        self._next += 1
        token = self._next
        self._callbacks[token] = callback
        if self.cancelled:
            self._run(token)
        return token

    def remove_callback(self, token: int) -> None:
        """Forgets a callback."""
        self._callbacks.pop(token, None)

    def cancel(self) -> None:
        """Cancels. What a callback raises is nobody's business."""
        self.cancelled = True
        for token in list(self._callbacks):
            self._run(token)

    def _run(self, token: int) -> None:
        callback = self._callbacks.pop(token, None)
        if callback is not None:
            try:
                callback()
            except Exception:  # noqa: BLE001
                pass


class Log:
    """Writes to the log of the host: ``log.info("fetched", url=url)``."""

    def __init__(self, call: Optional[Any] = None) -> None:
        self._call = call

    def _write(self, level: str, message: str, fields: dict[str, Any]) -> None:
        params: dict[str, Any] = {"level": level, "message": str(message)}
        if self._call is not None:
            params["call"] = self._call.id
        if fields:
            params["fields"] = fields
        link = self._call.link if self._call is not None else PROCESS.link
        if link is not None:
            link.notify("log", params)

    def debug(self, message: str, **fields: Any) -> None:
        """For those who look for a mistake."""
        self._write("debug", message, fields)

    def info(self, message: str, **fields: Any) -> None:
        """What happened."""
        self._write("info", message, fields)

    def warn(self, message: str, **fields: Any) -> None:
        """What may have to be looked at."""
        self._write("warn", message, fields)

    warning = warn

    def error(self, message: str, **fields: Any) -> None:
        """What went wrong."""
        self._write("error", message, fields)


class State:
    """A JSON value that stays with a session, or with the user: ``get`` and ``set``."""

    def __init__(self, call: "Call", session_id: Optional[str]) -> None:
        self._call = call
        self._args = {"session_id": session_id} if session_id else {}

    def get(self, default: Any = None) -> Any:
        """What was kept, else ``default``. To be awaited in async methods."""
        return self._call.ask("app.get_state", self._args, lambda value: default if value is None else value)

    def set(self, value: Any) -> Any:
        """Keeps a value. To be awaited in async methods."""
        return self._call.ask("app.set_state", {**self._args, "value": value})


class Call:
    """One call of a hook. ``orlop.current()`` gives the one that is running."""

    def __init__(self, link: Any, call: Any = None, context: Optional[dict[str, Any]] = None) -> None:
        self.link = link
        self.id = call
        self.context: dict[str, Any] = context or {}
        self.cancellation = Cancellation()
        self.task: Any = None
        self.over = False

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.cancellation.cancelled

    @property
    def session_id(self) -> Optional[str]:
        """The session the call is about, where there is one."""
        return self.context.get("session_id")

    @property
    def request_id(self) -> Optional[str]:
        """The request the call is part of, where there is one."""
        return self.context.get("request_id")

    @property
    def config(self) -> dict[str, Any]:
        """The section of this package in the configuration."""
        return PROCESS.config

    @property
    def data_folder(self) -> Path:
        """A folder for this package alone, which stays between runs."""
        folder = PROCESS.folders.get("data") or os.environ.get("PLUGIN_DATA") or "."
        return Path(folder)

    @property
    def log(self) -> Log:
        """Writes to the log of the host."""
        return Log(self if self.id is not None else None)

    @property
    def core(self) -> Any:
        """The core of the agent that this call belongs to."""
        from .proxies import Core

        return Core(self)

    @property
    def app(self) -> Any:
        """The application. Most of it needs a grant in the manifest."""
        from .proxies import App

        return App(self)

    @property
    def state(self) -> State:
        """What the plugin keeps with the session of this call."""
        if not self.session_id:
            raise Error("this call has no session to keep a state with; use user_state", "bad_state")
        return State(self, self.session_id)

    @property
    def user_state(self) -> State:
        """What the plugin keeps with the user."""
        return State(self, None)

    def progress(self, message: str, done: Optional[float] = None, total: Optional[float] = None) -> None:
        """Shows people how far the call is."""
        params = {"call": self.id, "message": message, "done": done, "total": total}
        self.link.notify("progress", {key: value for key, value in params.items() if value is not None})

    def ask(
        self,
        method: str,
        args: dict[str, Any],
        read: Optional[Callable[[Any], Any]] = None,
        agent: Optional[str] = None,
    ) -> Any:
        """Asks the host. Blocks for the answer; in an async method it is to be awaited."""
        reply = self._request(method, args, agent)
        if PROCESS.loop_thread is not None and PROCESS.loop_thread == _this_thread():
            return Pending(reply, method, read)
        value = reply.wait()
        return read(value) if read else value


    def stream(
        self,
        method: str,
        args: dict[str, Any],
        last: Callable[[Any], list[Any]],
        agent: Optional[str] = None,
    ) -> "Events":
        """Asks the host for what comes on the way; ``last`` makes the last events of the answer."""
        return Events(self._request(method, args, agent, stream=True), last)

    def _request(self, method: str, args: dict[str, Any], agent: Optional[str], **more: Any) -> Any:
        if self.id is None:
            raise Error(f"{method} can only be asked while a hook is running", "bad_state")
        self.cancellation.raise_if_cancelled()
        params = {"call": self.id, "args": {k: v for k, v in args.items() if v is not None}, **more}
        if agent is not None:
            params["agent"] = agent
        reply = self.link.request(self, method, params)
        if self.cancelled:
            self.link.give_up(self)
        return reply


class Events:
    """Events as they come: ``for event in events``, in an async method ``async for``."""

    def __init__(self, reply: Any, last: Callable[[Any], list[Any]]) -> None:
        self._reply = reply
        self._last = last
        self._iterator: Any = None

    def _in_place(self) -> Any:
        answer = yield from self._reply.each()
        yield from self._last(answer)

    def __iter__(self) -> "Events":
        if PROCESS.loop_thread is not None and PROCESS.loop_thread == _this_thread():
            raise TypeError("in an async method write `async for`")
        return self

    def __next__(self) -> Any:
        if self._iterator is None:
            self._iterator = self._in_place()
        return next(self._iterator)

    async def __aiter__(self) -> Any:
        async for is_part, value in self._reply.each_later():
            for event in [value] if is_part else self._last(value):
                yield event

    def __await__(self) -> Any:
        return self
        yield  # What need not be waited for may be awaited all the same.


def _this_thread() -> int:
    import _thread

    return _thread.get_ident()


class Pending:
    """An answer that has to be awaited; says so if somebody forgot."""

    def __init__(self, reply: Any, method: str, read: Optional[Callable[[Any], Any]]) -> None:
        self._parts = (reply, method, read)

    def __await__(self) -> Any:
        reply, _, read = self._parts
        value = yield from reply.later().__await__()
        return read(value) if read else value

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self._parts[1]} was called in an async method: write `await` before it")

    def __iter__(self) -> Any:
        return self.__getattr__("__iter__")


def current() -> Call:
    """The call that is running. Outside of one it still has ``log``, ``config`` and ``data_folder``."""
    return _CURRENT.get() or Call(PROCESS.link)


def enter(call: Call) -> Any:
    """Makes a call the current one of this thread or task."""
    return _CURRENT.set(call)


def leave(token: Any) -> None:
    """Ends what ``enter`` began."""
    _CURRENT.reset(token)

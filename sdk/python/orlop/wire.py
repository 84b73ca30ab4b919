"""JSON lines between this process and the host."""

from __future__ import annotations

import _thread
import os
from json import JSONDecoder, JSONEncoder
from queue import Empty, SimpleQueue
from typing import Any, AsyncIterator, Callable, Iterator, Optional

from .errors import Cancelled, Error

LONGEST_LINE = 32 * 1024 * 1024


def _plain(value: Any) -> Any:
    """JSON of values that JSON does not know."""
    for method in ("to_wire", "to_dict", "isoformat", "__fspath__"):
        make = getattr(value, method, None)
        if callable(make) and not isinstance(value, type):
            return make()
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None and not isinstance(value, type):
        return {name: getattr(value, name) for name in fields}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    raise TypeError(f"{type(value).__name__} is no JSON value")


encode: Callable[[Any], str] = JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=True, separators=(",", ":"), default=_plain
).encode
decode: Callable[[str], Any] = JSONDecoder().decode


class Reply:
    """The answer to a request of the plugin, waited for by a thread or by the event loop."""

    __slots__ = ("call", "value", "error", "_gate", "_listener")

    def __init__(self, call: Any) -> None:
        self.call = call
        self.value: Any = None
        self.error: Optional[Error] = None
        self._gate = _thread.allocate_lock()
        self._gate.acquire()
        self._listener: Optional[Callable[[], None]] = None

    def settle(self, value: Any, error: Optional[Error]) -> None:
        """Says what the answer is. Only once."""
        self.value, self.error = value, error
        self._gate.release()
        if self._listener is not None:
            self._listener()

    def wait(self) -> Any:
        """Blocks until the answer is there."""
        self._gate.acquire()
        return self._result()

    async def later(self) -> Any:
        """The same for the event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        arrived = loop.create_future()

        def arrive() -> None:
            if not arrived.done():
                arrived.set_result(None)

        self._listener = lambda: loop.call_soon_threadsafe(arrive)
        if not self._gate.locked():
            arrive()
        await arrived
        return self._result()

    def _result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class PartsReply(Reply):
    """An answer with parts that come before it, as they come."""

    __slots__ = ("_parts", "_wake")

    def __init__(self, call: Any) -> None:
        super().__init__(call)
        self._parts: SimpleQueue[tuple[bool, Any]] = SimpleQueue()
        self._wake: Optional[Callable[[], None]] = None

    def part(self, value: Any) -> None:
        """Takes a part."""
        self._put(True, value)

    def settle(self, value: Any, error: Optional[Error]) -> None:
        """Says what the answer is. Only once."""
        super().settle(value, error)
        self._put(False, None)

    def _put(self, is_part: bool, value: Any) -> None:
        self._parts.put((is_part, value))
        if self._wake is not None:
            self._wake()

    def each(self) -> Iterator[Any]:
        """The parts, waited for in place. Gives the answer at the end."""
        while True:
            is_part, value = self._parts.get()
            if not is_part:
                return self._result()
            yield value

    async def each_later(self) -> AsyncIterator[tuple[bool, Any]]:
        """The same for the event loop: parts, and the answer as the last one."""
        import asyncio

        loop, arrived = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: loop.call_soon_threadsafe(arrived.set)
        while True:
            try:
                is_part, value = self._parts.get_nowait()
            except Empty:
                arrived.clear()
                if self._parts.empty():
                    await arrived.wait()
                continue
            yield (True, value) if is_part else (False, self._result())
            if not is_part:
                return


class Connection:
    """Writes lines, and knows which requests of the plugin have no answer yet."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._writing = _thread.allocate_lock()
        self._pending: dict[str, Reply] = {}
        self._last = 0
        self._counting = _thread.allocate_lock()

    def send(self, message: dict[str, Any]) -> None:
        """Writes one message."""
        self._write(encode(message))

    def _write(self, text: str) -> None:
        # Half of a surrogate pair is no text; a mark stands for it.
        line = text.encode("utf-8", "replace") + b"\n"
        if len(line) > LONGEST_LINE:
            raise Error(f"{len(line)} bytes are more than a line may have ({LONGEST_LINE}); send less", "bad_argument")
        with self._writing:
            sent = os.write(self._output, line)
            while sent < len(line):
                sent += os.write(self._output, memoryview(line)[sent:])

    def answer(self, request: Any, outcome: Any) -> None:
        """Answers a request of the host."""
        self._write(f'{{"jsonrpc":"2.0","id":{encode(request)},"result":{encode(outcome)}}}')

    def fail(self, request: Any, error: dict[str, Any]) -> None:
        """Answers a request of the host with an error."""
        self.send({"jsonrpc": "2.0", "id": request, "error": error})

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tells the host something."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, call: Any, method: str, params: dict[str, Any]) -> Reply:
        """Asks the host something; the answer comes in the reply."""
        reply = PartsReply(call) if params.get("stream") else Reply(call)
        with self._counting:
            self._last += 1
            request = f"p{self._last}"
            self._pending[request] = reply
        try:
            self.send({"jsonrpc": "2.0", "id": request, "method": method, "params": params})
        except BaseException:
            self._pending.pop(request, None)
            raise
        return reply

    def part(self, params: dict[str, Any]) -> None:
        """Takes a part of an answer of the host."""
        reply = self._pending.get(params.get("request"))  # type: ignore[arg-type]
        if isinstance(reply, PartsReply):
            reply.part(params.get("value"))

    def settle(self, message: dict[str, Any], revive: Callable[[Any], Any]) -> None:
        """Takes an answer of the host."""
        reply = self._pending.pop(message.get("id"), None)  # type: ignore[arg-type]
        if reply is None:
            return
        error = message.get("error")
        if error is None:
            try:
                reply.settle(revive(message.get("result")), None)
            except (ValueError, KeyError, TypeError, AttributeError) as problem:
                reply.settle(None, Error(f"the answer of the host cannot be read: {problem!r}"))
            return
        data = error.get("data") or {}
        told = str(error.get("message", "the host refused"))
        if data.get("class") == "cancelled":
            reply.settle(None, Cancelled(told))
        else:
            retryable = data.get("retryable") is True
            reply.settle(None, Error(told, data.get("class") or "internal", retryable=retryable))

    def give_up(self, call: Any) -> None:
        """Ends the waiting of a call that was cancelled."""
        for request, reply in list(self._pending.items()):
            if reply.call is call and self._pending.pop(request, None) is not None:
                reply.settle(None, Cancelled())

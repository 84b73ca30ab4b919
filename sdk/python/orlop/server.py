"""Serves a host: reads its lines, runs hooks, answers.

Threads take turns at reading. The one that read a hook runs it itself, while another goes on
reading; so a quick hook is answered without waiting for a thread, and a hook that asks the host
something can wait for the answer. Async methods run on one event loop.
"""

from __future__ import annotations

import _thread
import contextvars
import sys
from typing import Any, Callable, Optional

from . import __version__
from .calls import PROCESS, Call, enter, leave
from .errors import Error, PluginMistake, UnknownMethod, as_json_rpc, log_trace
from .lists import History, Slots
from .outcomes import Inputs, report
from .plugins import Method, Plugin, find, load, strays, with_defaults
from .proxies import App, Core, SessionAssetStore
from .sessions import Session
from .values import copy_json
from .wire import Connection, decode

PROTOCOL = 1
_READY = 4


class Server:
    """One plugin process."""

    def __init__(self, path: str, source: Any, output: int) -> None:
        self._path = path
        self._source = source
        self._connection = PROCESS.link = Connection(output)
        self._plugins: dict[tuple[str, str], Plugin] = {}
        self._calls: dict[Any, Call] = {}
        self._slots = Slots()
        self._chunk_states: dict[Any, Any] = {}
        self._loop: Optional[Loop] = None
        self._turn = _thread.allocate_lock()
        self._counting = _thread.allocate_lock()
        self._waiting = 0
        self._ended = _thread.allocate_lock()
        self._ended.acquire()

    def run(self) -> None:
        """Serves until the host says goodbye or is gone."""
        for _ in range(_READY):
            self._start_thread()
        self._ended.acquire()

    def _start_thread(self) -> None:
        self._waiting += 1
        _thread.start_new_thread(self._take_turns, ())

    def _take_turns(self) -> None:
        while True:
            with self._turn:
                line = self._source.readline()
                job = self._understand(line) if line else None
            if not line:
                self._end()
                return
            if job is None:
                continue
            with self._counting:
                self._waiting -= 1
                if self._waiting == 0:
                    self._start_thread()
            self._do(job)
            with self._counting:
                if self._waiting >= _READY:
                    return
                self._waiting += 1

    def _end(self) -> None:
        try:
            self._ended.release()
        except RuntimeError:
            pass  # Another thread saw the end as well.

    def _do(self, job: Callable[[], None]) -> None:
        try:
            job()
        except BrokenPipeError:
            self._end()
        except BaseException as error:  # noqa: BLE001 - a thread that dies here would read no more
            log_trace(error, "orlop")

    def _understand(self, line: bytes) -> Optional[Callable[[], None]]:
        try:
            return self._receive(line)
        except Exception as error:  # noqa: BLE001
            sys.stderr.write(f"orlop: skipped a line that is no message of the protocol: {error!r}\n")
            return None

    def _receive(self, line: bytes) -> Optional[Callable[[], None]]:
        """Reads a line, in the order of arrival. What takes time is left for later."""
        try:
            message = decode(line.decode("utf-8"))
        except ValueError as error:
            if line.strip():
                sys.stderr.write(f"orlop: skipped a line that is no JSON: {error}\n")
            return None
        if not isinstance(message, dict):
            sys.stderr.write("orlop: skipped a line that is no JSON object\n")
            return None
        method = message.get("method")
        if method is None:
            self._connection.settle(message, self._revive)
            return None
        request, params = message.get("id"), message.get("params") or {}
        if method == "hook":
            return self._receive_hook(request, params)
        if method == "cancel":
            return self._receive_cancel(params)
        if method == "part":
            self._connection.part(params)
            return None
        if method == "ping":
            return lambda: self._connection.answer(request, {})
        if method == "initialize":
            return lambda: self._initialize(request, params)
        if method == "shutdown":
            return lambda: self._shut_down(request)
        if request is not None:
            unknown = UnknownMethod(f"there is no method {method!r}")
            return lambda: self._connection.fail(request, as_json_rpc(unknown, ""))
        return None

    def _initialize(self, request: Any, params: dict[str, Any]) -> None:
        try:
            if params.get("protocol", PROTOCOL) != PROTOCOL:
                raise Error(f"this SDK speaks protocol {PROTOCOL}, and not {params.get('protocol')}", "bad_state")
            PROCESS.package = params.get("package") or ""
            PROCESS.config = params.get("config") or {}
            PROCESS.folders = params.get("folders") or {}
            module = load(self._path)
            plugins = find(module, PROCESS.config, PROCESS.package or module.__name__)
            described = [plugin.describe() for plugin in plugins]
            PROCESS.config = with_defaults(PROCESS.config, described)
            self._plugins = {(plugin.kind, plugin.name): plugin for plugin in plugins}
            warnings = [*strays(module), *(doubt for plugin in plugins for doubt in plugin.doubts())]
            sys.stderr.writelines(f"warning: {warning}\n" for warning in warnings)
            answer = {"protocol": PROTOCOL, "sdk": f"python {__version__}", "plugins": described, "warnings": warnings}
            self._connection.answer(request, answer)
        except Exception as error:
            self._fail(request, error, "initialize")

    def _shut_down(self, request: Any) -> None:
        self._connection.answer(request, {})
        self._end()

    def _receive_cancel(self, params: dict[str, Any]) -> Optional[Callable[[], None]]:
        call = self._calls.get(params.get("call"))
        if call is None:
            return None

        def cancel() -> None:
            call.cancellation.cancel()
            self._connection.give_up(call)
            if call.task is not None and self._loop is not None:
                self._loop.soon(call.task.cancel)

        return cancel

    def _receive_hook(self, request: Any, params: dict[str, Any]) -> Callable[[], None]:
        args, context = params.get("args") or {}, params.get("context") or {}
        try:
            for values in (args, context):
                for name, value in values.items():
                    if value.__class__ is dict:
                        values[name] = self._revive(value)
        except (ValueError, KeyError, TypeError) as error:
            failure = Error(f"the arguments cannot be read: {error}", "bad_argument")
            return lambda: self._connection.fail(request, as_json_rpc(failure, ""))
        if params.get("hook") == "process_chunk":
            # The state is left out where it is the one that came last.
            if args.get("input") is None:
                args["input"] = self._chunk_states.get(params.get("plugin"))
            else:
                self._chunk_states[params.get("plugin")] = args["input"]
        call = Call(self._connection, params.get("call", request), context)
        self._calls[call.id] = call
        return lambda: self._run(request, call, params, args)

    def _revive(self, value: Any, depth: int = 2) -> Any:
        """Lists and sessions out of their descriptions. Does not look into what they contain."""
        if value.__class__ is dict:
            described = value.get("$list")
            if described.__class__ is dict:
                return self._slots.receive(described)
            described = value.get("$session")
            if described.__class__ is dict:
                messages = self._revive(described.get("messages") or {"$list": {}})
                native = described.get("native_messages")
                native = self._revive(native) if native is not None else None
                return Session.received(described, _history(messages), None if native is None else _history(native))
            if depth:
                for key, inner in value.items():
                    if inner.__class__ in (dict, list):
                        value[key] = self._revive(inner, depth - 1)
        elif depth and value.__class__ is list:
            return [self._revive(inner, depth - 1) for inner in value]
        return value

    def _run(self, request: Any, call: Call, params: dict[str, Any], args: dict[str, Any]) -> None:
        where = f"{params.get('plugin')}.{params.get('hook')}"
        token = enter(call)
        try:
            plugin = self._plugins.get((params.get("kind"), params.get("plugin")))  # type: ignore[arg-type]
            plugin = plugin or self._named(params.get("plugin"))
            method = plugin.methods.get(params.get("hook"))  # type: ignore[arg-type]
            if method is None:
                raise UnknownMethod(
                    f"{plugin.owner} has no hook `{params.get('hook')}`; it has: {', '.join(plugin.methods)}"
                )
            where = method.where
            inputs = self._inputs(plugin, method, call, args)
            returned = method(inputs.values)
            run = Run(self, request, call, plugin, method, inputs)
            if hasattr(returned, "__await__") or hasattr(returned, "__anext__"):
                self._on_loop(run, returned)
                return
            run.finish(returned)
        except BaseException as error:  # noqa: BLE001 - sys.exit() in a hook is a failure, too
            self._fail(request, error, where)
        finally:
            leave(token)
        self._calls.pop(call.id, None)

    def _named(self, name: Any) -> Plugin:
        for (_, held), plugin in self._plugins.items():
            if held == name:
                return plugin
        known = ", ".join(name for _, name in self._plugins)
        raise UnknownMethod(f"there is no plugin {name!r} here; there are: {known}")

    def _inputs(self, plugin: Plugin, method: Method, call: Call, args: dict[str, Any]) -> Inputs:
        """The values a method may ask for."""
        if method.name == "process_chunk":
            return self._chunk_inputs(plugin, method, call, args)
        names, hook = method.names, method.hook
        values: dict[str, Any] = dict(args)
        inputs = Inputs(method.where, values, names)
        for name in hook.lists:
            values[name] = inputs.lists[name] = _history(args.get(name) or [])
        if hook.changes_state:
            inputs.state_before = state = args.get("state") or {}
            inputs.state = values["state"] = copy_json(state) if "state" in names else state
        self._offer(plugin, values, names, call, args)
        return inputs

    def _offer(
        self, plugin: Plugin, values: dict[str, Any], names: frozenset[str], call: Call, args: dict[str, Any]
    ) -> None:
        """Adds what is not part of the input."""
        if "context" in names:
            values["context"] = _context(call, args, plugin.kind)
        if "request" in names and "request" not in args and plugin.kind == "host":
            values["request"] = args
        if "app" in names:
            values["app"] = App(call)
        if "core" in names:
            values["core"] = _core(call)
        if "cancellation" in names:
            values["cancellation"] = call.cancellation
        if "call" in names:
            values["call"] = call

    def _chunk_inputs(self, plugin: Plugin, method: Method, call: Call, args: dict[str, Any]) -> Inputs:
        """Quick, for it runs for every piece of text."""
        chunk = args.get("chunk") or {}
        inputs = Inputs(method.where, {"chunk": chunk, "_before": copy_json(chunk)}, method.names)
        inputs.state_before = inputs.state = args.get("input") or {}
        if "state" in method.names:
            inputs.values["state"] = inputs.state = copy_json(inputs.state_before)
        self._offer(plugin, inputs.values, method.names, call, {})
        return inputs

    def _on_loop(self, run: "Run", returned: Any) -> None:
        with self._counting:
            if self._loop is None:
                self._loop = Loop()
        self._loop.start(run.call, self._finish_later(run, returned))

    async def _finish_later(self, run: "Run", returned: Any) -> None:
        try:
            await run.finish_later(returned)
        except BaseException as error:  # noqa: BLE001 - a cancelled task answers like any other
            self._fail(run.request, error, run.method.where)
        finally:
            self._calls.pop(run.call.id, None)

    def _fail(self, request: Any, error: BaseException, where: str) -> None:
        if isinstance(error, BrokenPipeError):
            self._end()
            return
        if not isinstance(error, (PluginMistake, UnknownMethod)) or error.__cause__ is None:
            log_trace(error, where)
        self._connection.fail(request, as_json_rpc(error, where))


class Run:
    """A method that was called, and what is to become of what it returned."""

    def __init__(
        self, server: Server, request: Any, call: Call, plugin: Plugin, method: Method, inputs: Inputs
    ) -> None:
        self.request = request
        self.call = call
        self.method = method
        self._connection = server._connection
        self._plugin = plugin
        self._inputs = inputs
        self._reported = False

    def finish(self, returned: Any) -> None:
        """Answers."""
        if self.method.hook.streams:
            self._stream(returned)
            self._answer(None)
        else:
            self._answer(self.method.hook.reader(self._inputs, returned))

    async def finish_later(self, returned: Any) -> None:
        """Awaits, then answers."""
        if hasattr(returned, "__await__"):
            returned = await returned
        if hasattr(returned, "__anext__"):
            if not self.method.hook.streams:
                raise PluginMistake(f"{self.method.where} yields; this hook returns once")
            try:
                async for value in returned:
                    self._part(value)
            finally:
                close = getattr(returned, "aclose", None)
                if close is not None:
                    await close()
            self._end_of_stream(None)
            self._answer(None)
            return
        self.finish(returned)

    def _answer(self, outcome: Any) -> None:
        try:
            self._connection.answer(self.request, outcome)
        except (TypeError, ValueError, RecursionError) as error:
            raise PluginMistake(f"{self.method.where} returned what is no JSON: {error}") from None

    def _stream(self, returned: Any) -> None:
        if returned is None:
            return
        if isinstance(returned, (dict, str)) or not hasattr(returned, "__iter__"):
            returned = [returned]
        iterator, result = iter(returned), None
        try:
            while True:
                self.call.cancellation.raise_if_cancelled()
                try:
                    value = next(iterator)
                except StopIteration as end:
                    result = end.value
                    break
                self._part(value)
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()
        self._end_of_stream(result)

    def _part(self, value: Any) -> None:
        for made in self._made(value):
            self._reported = self._reported or "success" in made
            try:
                self._connection.notify("part", {"call": self.call.id, "value": made})
            except (TypeError, ValueError, RecursionError) as error:
                raise PluginMistake(f"{self.method.where} yielded what is no JSON: {error}") from None

    def _made(self, value: Any) -> list[dict[str, Any]]:
        reader, own = self.method.hook.reader, self._plugin.own_chunks
        if own is None or self.method.name != "stream_api":
            return [reader(self._inputs, value)]
        made = own({**self._inputs.values, "chunk": value, "state": self._inputs.state})
        if made is None:
            return []
        if isinstance(made, tuple) and len(made) == 2 and made[0] is None:
            made = {"state": made[1]}
        many = made if isinstance(made, list) or hasattr(made, "__next__") else [made]
        return [reader(self._inputs, one) for one in many]

    def _end_of_stream(self, result: Any) -> None:
        if self.method.name == "stream_tool":
            if result is not None:
                self._part(report(self._inputs, result))
            elif not self._reported:
                raise PluginMistake(
                    f"{self.method.where} ended without a report; yield a mapping with `success` at the end"
                )
            return
        if result is not None:
            self._part([result] if isinstance(result, dict) and "role" in result else result)
        state = self._inputs.next_state(self._inputs.state)
        if state != "keep":
            self._connection.notify("part", {"call": self.call.id, "value": {"state": state}})


class Loop:
    """The event loop for async methods, in a thread of its own."""

    def __init__(self) -> None:
        import asyncio

        self._loop = asyncio.new_event_loop()
        self._tasks: set[Any] = set()
        started = _thread.allocate_lock()
        started.acquire()

        def run() -> None:
            asyncio.set_event_loop(self._loop)
            PROCESS.loop_thread = _thread.get_ident()
            started.release()
            self._loop.run_forever()

        _thread.start_new_thread(run, ())
        started.acquire()

    def soon(self, action: Callable[[], Any]) -> None:
        """Does something on the loop."""
        self._loop.call_soon_threadsafe(action)

    def start(self, call: Call, work: Any) -> None:
        """Runs a coroutine; inside of it the call is the current one."""

        def begin() -> None:
            task = call.task = self._loop.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if call.cancelled:
                task.cancel()

        self._loop.call_soon_threadsafe(begin, context=contextvars.copy_context())


def _history(value: Any) -> History:
    return value if isinstance(value, History) else History(value)


def _core(call: Call) -> Core:
    return Core(call, None, call.context.get("config"), call.context.get("base_config"))


def _context(call: Call, args: dict[str, Any], kind: str) -> dict[str, Any]:
    """The context as plugins know it: with the core and the application, and sessions as mappings."""
    context = {**args, **call.context} if kind == "host" else dict(call.context)
    if "session" not in context and isinstance(args.get("session"), Session):
        context["session"] = args["session"]
    for key in ("session", "original_session"):
        if isinstance(context.get(key), Session):
            context[key] = context[key].to_dict()
    handles = context.pop("handles", None) or ()
    if "core" in handles:
        context["core"] = _core(call)
    if "app" in handles:
        context["app"] = context["application"] = App(call)
    if "session_asset_store" in handles:
        context["session_asset_store"] = SessionAssetStore(App(call))
    return context

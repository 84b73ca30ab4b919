"""Streams of tools and providers, and how they are cancelled."""

from __future__ import annotations

from tests.host import HOLD, HostCase, whole

STATE = {"config": {}, "request": {}}
CALL = {"payload": {}, "payload_kind": "json", "tool_call": {}, "prepared": None, "state": STATE}


class ToolStreams(HostCase):
    def test_parts_and_a_report(self):
        host = self.start(
            """
            class Slow:
                name = "slow"
                def get_tool_schemas(self): return []
                def execute_tool(self, tool_name): return ""
                def stream_tool(self, tool_name):
                    if tool_name == "plain":
                        yield {"part": {"line": 1}}
                        yield {"line": 2}
                        yield "three"
                        yield {"success": True, "output": "done"}
                    elif tool_name == "returned":
                        yield "one"
                        return "done"
                    elif tool_name == "broken":
                        yield "one"
                        raise OSError("disk")
                    else:
                        yield "one"
            class Later(Slow):
                name = "later"
                async def stream_tool(self, tool_name):
                    import asyncio
                    for number in range(3):
                        await asyncio.sleep(0)
                        yield {"part": number}
                    yield {"success": False, "error": "tired"}
            """
        )

        def stream(tool: str, plugin: str = "slow") -> list:
            call = host.begin_hook("tool", plugin, "stream_tool", tool_name=tool, **CALL)
            try:
                self.assertIsNone(host.answer(call))
            finally:
                self.seen = host.parts(call)
            return self.seen

        self.assertEqual(
            stream("plain"), [{"part": {"line": 1}}, {"part": {"line": 2}}, {"part": "three"}, {"success": True, "output": "done"}]
        )
        self.assertEqual(stream("returned"), [{"part": "one"}, {"success": True, "output": "done"}])
        self.assertEqual(stream("x", "later"), [{"part": 0}, {"part": 1}, {"part": 2}, {"success": False, "error": "tired"}])
        self.fails("Slow.stream_tool: OSError: disk", lambda: stream("broken"))
        self.assertEqual(self.seen, [{"part": "one"}])
        self.fails("Slow.stream_tool ended without a report; yield a mapping with `success`", lambda: stream("none"))

    def test_functions_that_yield(self):
        host = self.start(
            """
            import orlop
            @orlop.tool
            def count(upto: int):
                "Counts."
                for number in range(upto):
                    yield str(number)
            @orlop.tool
            async def wait(upto: int):
                yield "a"
                yield "b"
            @orlop.tool
            def plain() -> str:
                return "x"
            """
        )

        def stream(tool: str, **payload) -> list:
            call = host.begin_hook("tool", "sample", "stream_tool", **{**CALL, "tool_name": tool, "payload": payload})
            host.answer(call)
            return host.parts(call)

        self.assertEqual(stream("count", upto=2), [{"part": "0"}, {"part": "1"}, {"success": True, "output": "01"}])
        self.assertEqual(stream("wait", upto=2), [{"part": "a"}, {"part": "b"}, {"success": True, "output": "ab"}])
        self.assertEqual(stream("plain"), [{"success": True, "output": "x"}])
        done = host.hook("tool", "sample", "execute_tool", **{**CALL, "tool_name": "count", "payload": {"upto": 3}})
        self.assertEqual(done, {"success": True, "output": "012"})

    def test_a_cancelled_generator_is_closed(self):
        host = self.start(
            """
            class Endless:
                name = "endless"
                def get_tool_schemas(self): return []
                def execute_tool(self, tool_name): return ""
                def stream_tool(self, tool_name, cancellation):
                    import itertools, threading
                    cancelled = threading.Event()
                    cancellation.add_callback(cancelled.set)
                    try:
                        yield "begun"
                        cancelled.wait()
                        yield "seen by nobody, maybe"
                        yield "never"
                    finally:
                        print("closed")
            class EndlessLater(Endless):
                name = "later"
                async def stream_tool(self, tool_name):
                    import asyncio
                    try:
                        yield "begun"
                        await asyncio.Event().wait()
                    finally:
                        print("closed later")
            """
        )
        for plugin in ("endless", "later"):
            call = host.begin_hook("tool", plugin, "stream_tool", tool_name="x", **CALL)
            host.until(lambda: host.parts(call))
            host.write({"jsonrpc": "2.0", "method": "cancel", "params": {"call": call}})
            error = self.fails("cancelled", lambda: host.answer(call))
            self.assertEqual(error.data["class"], "cancelled")
            self.assertNotIn({"part": "never"}, host.parts(call))
        host.close()
        self.assertIn("closed\n", host.log())
        self.assertIn("closed later\n", host.log())


class ProviderStreams(HostCase):
    def stream(self, host, plugin: str) -> list:
        call = host.begin_hook("provider", plugin, "stream_api", native_messages=whole({"text": "hi"}), state=STATE, request_id="r1", stream=True)
        self.assertIsNone(host.answer(call))
        return host.parts(call)

    def test_what_a_provider_may_yield(self):
        host = self.start(
            """
            class Texts:
                name = "texts"
                def stream_api(self, native_messages, state, request_id=None):
                    yield "Hel"
                    yield {"role": "assistant", "content": "lo"}
                    yield {"type": "partial", "message": {"role": "assistant", "content": "", "metadata": {"reasoning": "hm"}}}
                    state["request"]["sent"] = request_id
                    yield {"type": "final_messages", "messages": [{"text": "Hello"}]}
            class Chunks:
                name = "chunks"
                async def stream_api(self, native_messages, state):
                    yield {"partial": {"content": "Hel"}}
                    yield {"final_messages": [{"text": "Hello"}], "state": {**state, "usage": 5}}
            class Returns:
                name = "returns"
                def stream_api(self, native_messages):
                    yield "a"
                    return [{"text": "a"}]
            class Raw:
                name = "raw"
                def stream_api(self, native_messages, state):
                    yield {"delta": "He"}
                    yield {"delta": None}
                    yield {"done": True}
                def process_chunk(self, chunk, state):
                    state["text"] = state.get("text", "") + (chunk.get("delta") or "")
                    if chunk.get("done"):
                        return {"final_messages": [{"text": state["text"]}]}
                    return chunk["delta"]
            class Wrong:
                name = "wrong"
                def stream_api(self, native_messages):
                    yield 5
            """
        )
        self.assertEqual(
            self.stream(host, "texts"),
            [
                {"partial": {"role": "assistant", "content": "Hel"}},
                {"partial": {"role": "assistant", "content": "lo"}},
                {"partial": {"role": "assistant", "content": "", "metadata": {"reasoning": "hm"}}},
                {"final_messages": [{"text": "Hello"}]},
                {"state": {"patch": {"request": {"sent": "r1"}}}},
            ],
        )
        self.assertEqual(
            self.stream(host, "chunks"),
            [{"partial": {"content": "Hel", "role": "assistant"}}, {"final_messages": [{"text": "Hello"}], "state": {"patch": {"usage": 5}}}],
        )
        self.assertEqual(self.stream(host, "returns"), [{"partial": {"role": "assistant", "content": "a"}}, {"final_messages": [{"text": "a"}]}])
        self.assertEqual(
            self.stream(host, "raw"),
            [
                {"partial": {"role": "assistant", "content": "He"}},
                {"final_messages": [{"text": "He"}]},
                {"state": {"patch": {"text": "He"}}},
            ],
        )
        self.fails("Wrong.stream_api returned int 5; expected a text", lambda: self.stream(host, "wrong"))


class Cancelling(HostCase):
    def test_flag_task_and_waiting(self):
        host = self.start(
            """
            import asyncio, threading, orlop
            class Waiters:
                name = "waiters"
                def get_template(self):
                    call, gone = orlop.current(), threading.Event()
                    call.cancellation.add_callback(gone.set)
                    call.progress("ready")
                    gone.wait()
                    return "cancelled" if call.cancelled else "?"
                async def get_completions(self):
                    orlop.current().progress("ready")
                    try:
                        await asyncio.Event().wait()
                    finally:
                        print("task cancelled")
                def get_tags(self, config):
                    orlop.current().progress("ready")
                    orlop.current().app.list_sessions()
                async def get_ui_elements(self, config):
                    orlop.current().progress("ready")
                    await orlop.current().app.list_sessions()
            """,
            {"app.list_sessions": HOLD},
        )
        for hook, outcome in (("get_template", "cancelled"), ("get_completions", None), ("get_tags", None), ("get_ui_elements", None)):
            call = host.begin_hook("feature", "waiters", hook, config={}, text="")
            host.until(lambda: [note for note in host.told("progress") if note["call"] == call])
            host.write({"jsonrpc": "2.0", "method": "cancel", "params": {"call": call}})
            if outcome is not None:
                self.assertEqual(host.answer(call), outcome)
            else:
                error = self.fails("cancelled", lambda: host.answer(call))
                self.assertEqual(error.data["class"], "cancelled")
        host.write({"jsonrpc": "2.0", "method": "cancel", "params": {"call": 999}})
        self.assertEqual(host.request("ping"), {})
        host.close()
        self.assertIn("task cancelled", host.log())

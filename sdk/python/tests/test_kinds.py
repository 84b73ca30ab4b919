"""One plugin of each kind, as the host meets it."""

from __future__ import annotations

from tests.host import HostCase, session, whole

STATE = {"config": {"model": "m"}, "request": {}}


class Kinds(HostCase):
    def test_classes_are_sorted_by_what_they_can_do(self):
        self.start(
            """
            from agent_core import Session
            from collections import OrderedDict
            class Model:
                def call_api(self, native_messages): return []
                def process_chunk(self, chunk): return chunk
            class Hammer:
                version = "2.0"
                def get_tool_schemas(self): return []
                def execute_tool(self): return ""
                def process_chunk(self, chunk): return chunk
            class Quiet:
                def process_chunk(self, chunk, state): return chunk
            class Desk:
                def execute_action(self, app, action_id, params, context, state): return {}
            class Door:
                name = "front_door"
                def on_request_start(self, context): pass
            class Counter:
                def get_tags(self, config, models): return []
            class Named:
                name = "only_a_name"
            class Said:
                kind = "host"
                def init(self): pass
            class Helper:
                def help(self): pass
            class _Hidden:
                name = "hidden"
            """
        )
        said = [(about["kind"], about["name"], about["version"]) for about in self.described]
        self.assertEqual(
            said,
            [
                ("provider", "Model", "0.0.0"), ("tool", "Hammer", "2.0"), ("extension", "Quiet", "0.0.0"),
                ("application", "Desk", "0.0.0"), ("host", "front_door", "0.0.0"), ("feature", "Counter", "0.0.0"),
                ("feature", "only_a_name", "0.0.0"), ("host", "Said", "0.0.0"),
            ],
        )  # fmt: skip

    def test_a_plugin_says_what_it_is(self):
        self.start(
            """
            import orlop
            class Shy:
                name, version, priority, critical = "shy", "1.2.3", 7, True
                history = {"finalize": 4}
                before = ("loud",)
                def required_tags(self): return ["vision"]
                forbidden_tags = ["audio"]
                def get_config_schema(self): return {"depth": {"type": "integer"}}
                def finalize(self, final_messages, native_messages, state): pass
                def initialize_request(self, state): pass
                @orlop.history("full")
                def to_native_messages(self, messages, native_messages): pass
                def get_tags(self, config, models): return []
            """
        )
        self.assertEqual(
            self.described,
            [
                {
                    "name": "shy", "version": "1.2.3", "kind": "feature", "priority": 7, "critical": True,
                    "config_schema": {"depth": {"type": "integer"}}, "uses_models": True,
                    "required_tags": ["vision"], "forbidden_tags": ["audio"], "before": ["loud"],
                    "hooks": ["get_tags", "to_native_messages", "initialize_request", "finalize"],
                    "history": {"to_native_messages": "full", "initialize_request": "none", "finalize": {"tail": 4}},
                }
            ],
        )  # fmt: skip

    def test_feature(self):
        host = self.start(
            """
            class Notes:
                name = "notes"
                def init(self, config, state): return {**state, "seen": [config["model"]]}
                def get_tags(self, config, models): return ["notes"]
                def is_enabled(self, config, tags, models, context): return "off" not in tags
                def get_ui_elements(self, config, tags, models): return [{"ui_type": "button", "tags": tags}]
                def initialize_request(self, native_messages, state, context):
                    native_messages[0]["_metadata"] = {"step": context["lifecycle"]}
                    state["request"]["top_p"] = 1
                    return native_messages, state
                def to_native_messages(self, messages, native_messages): return [*native_messages, {"n": len(messages)}]
                def from_native_messages(self, native_messages, messages):
                    messages[0]["metadata"]["seen"] = True
                    return messages
                def finalize(self, final_messages, native_messages, state):
                    return final_messages[:0], native_messages, {**state, "session_metadata_patch": {"done": True}}
                def get_actions(self, state): return [{"id": "count", "label": "Count"}]
                def execute_action(self, action_id, session, native_messages, params, context, state):
                    core = context["core"]
                    assert context["app"] is not None and type(core).__name__ == "Core"
                    return {
                        "native_messages": native_messages[:-1],
                        "session_metadata": {"count": len(session.messages), "of": context["session"]["session_id"]},
                        "message": session.messages[0].content + params["mark"],
                    }
                def filter_tools(self, tools): return tools[1:]
                def get_template(self, config): return "Dear " + config["model"]
                def get_completions(self, config, text): return [{"replacement": text + "!"}]
                def apply_completion(self, config, text, completion): return completion["replacement"]
                def attachment_parts(self, file): return [{"type": "text", "text": file["name"]}]
            """
        )
        one = {"role": "user", "content": "a"}
        message = {"role": "user", "content": "a", "metadata": {}}
        hook = lambda name, context=None, **args: host.hook("feature", "notes", name, context, **args)  # noqa: E731
        self.assertEqual(hook("init", config={"model": "m"}, state=STATE), {"patch": {"seen": ["m"]}})
        self.assertEqual(hook("get_tags", config={}, models=[]), ["notes"])
        self.assertEqual(hook("is_enabled", config={}, tags=["off"], models=[]), False)
        self.assertEqual(hook("get_ui_elements", config={}, tags=["t"], models=[]), [{"ui_type": "button", "tags": ["t"]}])
        self.assertEqual(
            hook("initialize_request", {"lifecycle": "x"}, native_messages=whole(one), state=STATE),
            {
                "native_messages": {
                    "edits": [{"op": "replace", "start": 0, "end": 1, "items": [{**one, "_metadata": {"step": "x"}}]}]
                },
                "state": {"patch": {"request": {"top_p": 1}}},
            },
        )
        self.assertEqual(
            hook("to_native_messages", messages=[message], native_messages=whole(one), state=STATE),
            {"edits": [{"op": "append", "items": [{"n": 1}]}]},
        )
        self.assertEqual(
            hook("from_native_messages", messages=whole(message), native_messages=whole(one), state=STATE),
            {"edits": [{"op": "replace", "start": 0, "end": 1, "items": [{**message, "metadata": {"seen": True}}]}]},
        )
        self.assertEqual(
            hook("finalize", final_messages=whole(one), native_messages={"$list": {"skip": 5, "items": [one]}}, state=STATE),
            {
                "final_messages": {"edits": [{"op": "replace", "start": 0, "end": 1, "items": []}]},
                "native_messages": None,
                "state": {"patch": {"session_metadata_patch": {"done": True}}},
            },
        )
        self.assertEqual(hook("get_actions", state=STATE), [{"id": "count", "label": "Count"}])
        lent = session("h1", "one", "two", native=whole(one, one), agent_id="default")
        context = {"session": session("h1", "one", "two", native=whole(one, one)), "config": {}}
        done = hook("execute_action", context, action_id="count", session=lent, native_messages=whole(one, one), params={"mark": "!"}, state=STATE, revision=1)
        self.assertEqual(
            done,
            {
                "native_messages": {"edits": [{"op": "replace", "start": 1, "end": 2, "items": []}]},
                "session_metadata": {"count": 2, "of": "s1"},
                "message": "one!",
            },
        )
        self.assertEqual(hook("filter_tools", config={}, tools=[1, 2]), [2])
        self.assertEqual(hook("get_template", config={"model": "m"}), "Dear m")
        self.assertEqual(hook("get_completions", config={}, text="a"), [{"replacement": "a!"}])
        self.assertEqual(hook("apply_completion", config={}, text="a", completion={"replacement": "b"}), "b")
        self.assertEqual(hook("attachment_parts", config={}, file={"name": "f"}), [{"type": "text", "text": "f"}])

    def test_tool(self):
        host = self.start(
            """
            class Shelf:
                name = "shelf"
                def get_tool_schemas(self, config): return {"name": "put", "parameters": {"type": "object"}}
                def prepare_tools(self, schemas): return {"count": len(schemas)}
                def execute_tool(self, name, payload, state, *, payload_kind=None, tool_call=None, cancellation=None, context=None, prepared=None, **kwargs):
                    assert cancellation.is_cancelled() is False and context["core"] and sorted(kwargs)[:1] == ["app"]
                    return {"success": True, "output": [name, payload, payload_kind, tool_call["id"], prepared]}
                def format_tool_result(self, result, state): return "did " + result["output"]
                def to_display_format(self, text, result, state): return {"type": "text", "content": text}
                def format_tool_call_preview(self, tool_name, arguments): return f"{tool_name} {arguments['x']}"
            """
        )
        self.assertEqual(self.described[0]["kind"], "tool")
        hook = lambda name, **args: host.hook("tool", "shelf", name, **args)  # noqa: E731
        call = {"tool_name": "put", "payload": {"x": 1}, "payload_kind": "json", "tool_call": {"id": "c1"}, "prepared": 5, "state": STATE}
        self.assertEqual(hook("get_tool_schemas", config={}, state=STATE), [{"name": "put", "parameters": {"type": "object"}}])
        self.assertEqual(hook("prepare_tools", config={}, state=STATE, schemas=[1]), {"count": 1})
        self.assertEqual(hook("execute_tool", **call), {"success": True, "output": ["put", {"x": 1}, "json", "c1", 5]})
        self.assertEqual(hook("format_tool_result", result={"success": True, "output": "it"}, state=STATE), "did it")
        self.assertEqual(hook("to_display_format", text="t", result={}, state=STATE), {"type": "text", "content": "t"})
        self.assertEqual(hook("format_tool_call_preview", **call), "put 1")

    def test_extension(self):
        host = self.start(
            """
            class Quiet:
                name, provider = "quiet", "openai_compatible"
                def process_chunk(self, chunk, state):
                    state["count"] = state.get("count", 0) + 1
                    if chunk.get("partial"):
                        chunk["partial"]["content"] = chunk["partial"]["content"].lower()
                    if state["count"] == 3:
                        return chunk, {**state, "total": 3}
                    return chunk
            class Calm:
                name = "calm"
                def process_chunk(self, chunk): return chunk
            """
        )
        self.assertEqual(self.described[0]["provider"], "openai_compatible")
        chunk = lambda text: {"partial": {"role": "assistant", "content": text}, "final_messages": [], "state": "keep"}  # noqa: E731
        hook = lambda state, text: host.hook("extension", "quiet", "process_chunk", input=state, chunk=chunk(text))  # noqa: E731
        said = {"partial": {"role": "assistant", "content": "loud"}}
        self.assertEqual(hook(STATE, "LOUD"), {**said, "state": {"patch": {"count": 1}}})
        # The same state again, which need not be sent; what the plugin did to it is not remembered.
        self.assertEqual(hook(None, "LOUD"), {**said, "state": {"patch": {"count": 1}}})
        self.assertEqual(hook({**STATE, "count": 2}, "loud"), {**said, "state": {"patch": {"count": 3, "total": 3}}})
        self.assertEqual(hook({**STATE, "count": 5}, "STILL")["partial"]["content"], "still")
        self.assertIsNone(host.hook("extension", "calm", "process_chunk", input=None, chunk=chunk("LOUD")))

    def test_application(self):
        host = self.start(
            """
            class Desk:
                name = "desk"
                def init(self, app_config): return {"agents": list(app_config)}
                def get_ui_elements(self, state, config=None, tags=None, models=None): return [{"id": state["agents"][0], "config": config}]
                def get_actions(self, state): return [{"id": "tidy", "trigger": "session_create"}]
                def execute_action(self, app, action_id, params, context, state):
                    if action_id != "tidy":
                        raise ValueError(f"Unknown action: {action_id}")
                    return {"message": context["lifecycle"], "mutations": {"updated_session_ids": [params["session_id"]]}}
            """
        )
        hook = lambda name, context=None, **args: host.hook("application", "desk", name, context, **args)  # noqa: E731
        self.assertEqual(hook("init", config={"default": {}}), {"agents": ["default"]})
        self.assertEqual(hook("get_ui_elements", state={"agents": ["a"]}), [{"id": "a", "config": None}])
        self.assertEqual(hook("get_actions", state={}), [{"id": "tidy", "trigger": "session_create"}])
        done = hook("execute_action", {"lifecycle": "session_create"}, action_id="tidy", params={"session_id": "s1"}, state={})
        self.assertEqual(done, {"message": "session_create", "mutations": {"updated_session_ids": ["s1"]}})
        error = self.fails("Desk.execute_action: ValueError: Unknown action: x", lambda: hook("execute_action", action_id="x", params={}, state={}))
        self.assertEqual(error.data["class"], "bad_argument")

    def test_host_plugin(self):
        host = self.start(
            """
            class Door:
                name, critical = "door", True
                def start(self, config): self.seen = [sorted(config)]
                def on_request_start(self, context): self.seen.append(context["user_id"])
                def intercept_chat_request(self, request, text):
                    if text == "/ping": return "pong"
                    if text == "/re": return {"rewrite": "again " + request["user_id"]}
                def attachment_handler(self, files): return [file["name"] for file in files]
                def context_providers(self, text, step): return f"step {step}"
                def before_tool_call(self, tool_name, input):
                    if tool_name == "deploy": return {"deny": "not on a Friday"}
                    if tool_name == "rm": return False
                    if tool_name == "mv": return {"rewrite": {"to": input}}
                def after_tool_call(self, result): return result.upper() if result == "a" else None
                def on_request_end(self, request): self.seen.append(request["kind"])
                def stop(self): print(self.seen)
            """
        )
        request = {"kind": "chat", "tenant_id": "local", "user_id": "ana", "session_id": "s", "agent_id": "a", "request_id": "r"}
        hook = lambda name, **args: host.hook("host", "door", name, **args)  # noqa: E731
        call = lambda tool: hook("before_tool_call", request=request, call_id="c", tool_name=tool, input=1)  # noqa: E731
        self.assertIsNone(hook("start", config={"b": 1, "a": 2}))
        self.assertIsNone(hook("on_request_start", **request))
        ask = lambda text: hook("intercept_chat_request", request=request, text=text, files=[], headers={})  # noqa: E731
        self.assertEqual([ask("/ping"), ask("/re"), ask("x")], [{"text": "pong"}, {"rewrite": "again ana"}, None])
        self.assertEqual(hook("attachment_handler", request=request, files=[{"name": "a"}, {"name": "b"}]), "a\nb")
        self.assertEqual(hook("context_providers", request=request, text="", step=2), ["step 2"])
        self.assertEqual(
            [call("deploy"), call("rm"), call("mv"), call("ls")],
            [{"deny": "not on a Friday"}, {"deny": "Door does not allow this call"}, {"rewrite": {"to": 1}}, "allow"],
        )
        after = lambda text: hook("after_tool_call", request=request, call_id="c", tool_name="t", input=1, result=text, failed=False)  # noqa: E731
        self.assertEqual([after("a"), after("b")], ["A", None])
        hook("on_request_end", **request)
        hook("stop", config={})
        host.close()
        self.assertIn("[['a', 'b'], 'ana', 'chat']", host.log())

    def test_provider(self):
        host = self.start(
            """
            class Mirror:
                name, native_format = "mirror", "mirror.v1"
                def get_models(self, config): return ["one", {"id": "two"}]
                def to_native_messages(self, messages, state): return [{"text": m["content"]} for m in messages]
                def from_native_messages(self, native_messages, state):
                    return [{"role": "assistant", "content": i["text"], "metadata": {"native_indices": [n]}} for n, i in enumerate(native_messages)]
                def initialize_request(self, native_messages, state):
                    state["request"]["model"] = state["config"]["model"]
                    return native_messages, state
                def call_api(self, native_messages, state, request_id=None):
                    final = {"text": native_messages[-1]["text"][::-1], "id": request_id}
                    return [], [final], [*native_messages, final], state
                def finalize(self, native_messages, state): return [{"text": "bye"}], native_messages, state
                def cancel_request(self, request_id): print("cancel", request_id)
            """
        )
        self.assertEqual(self.described[0]["native_format"], "mirror.v1")
        hook = lambda name, **args: host.hook("provider", "mirror", name, **args)  # noqa: E731
        native = whole({"text": "abc"})
        self.assertEqual(hook("get_models", config={}), [{"id": "one"}, {"id": "two"}])
        self.assertEqual(hook("to_native_messages", messages=[{"role": "user", "content": "x"}], native_messages=whole(), state=STATE), [{"text": "x"}])
        self.assertEqual(
            hook("from_native_messages", native_messages=native, messages=whole(), state=STATE),
            [{"role": "assistant", "content": "abc", "metadata": {"native_indices": [0]}}],
        )
        self.assertEqual(hook("initialize_request", native_messages=native, state=STATE)["state"], {"patch": {"request": {"model": "m"}}})
        self.assertEqual(
            hook("call_api", native_messages=native, state=STATE, request_id="r1", stream=False),
            {"partials": [], "final_messages": [{"text": "cba", "id": "r1"}], "native_messages": None, "state": "keep"},
        )
        self.assertEqual(
            hook("finalize", final_messages=whole({"text": "a"}), native_messages=native, state=STATE)["final_messages"],
            {"edits": [{"op": "append", "items": [{"text": "bye"}]}]},
        )
        self.assertIsNone(hook("cancel_request", request_id="r1"))

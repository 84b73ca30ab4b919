"""What plugins ask the host: the core, the application, state, progress, logs."""

from __future__ import annotations

from tests.host import HostCase, failed, session, whole

STATE = {"config": {}, "request": {}}


class Asking(HostCase):
    def test_the_core_works_on_sessions_by_handle(self):
        host = self.start(
            """
            class Cutter:
                name = "cutter"
                def execute_action(self, action_id, session, native_messages, params, context, state):
                    core, config = context["core"], context["config"]
                    kept, removed = core.slice_session(session, config, start=0, end=1, return_removed=True)
                    longer = core.add_message(kept, "user", "more", after_index=-1)
                    new_session, finals = core.send_request(longer, config)
                    native = core.core_messages_to_native(finals, config)
                    return {"native_messages": native_messages + native, "texts": [m.content for m in new_session.messages], "removed": removed.session_id}
            """,
            {
                "core.slice_session": [session("h2", "one"), session("h3", "two")],
                "core.add_message": session("h4", "more", "one"),
                "core.send_request": {"session": session("h5", "more", "one", "answer"), "messages": [{"role": "assistant", "content": "answer", "metadata": {}}]},
                "core.core_messages_to_native": [{"n": "answer"}],
            },
        )
        done = host.hook(
            "feature", "cutter", "execute_action", {"config": {"model": "m"}},
            action_id="cut", session=session("h1", "one", "two"), native_messages={"$list": {"skip": 7, "items": [{"n": 1}]}}, params={}, state=STATE,
        )  # fmt: skip
        self.assertEqual(
            done,
            {"native_messages": {"edits": [{"op": "append", "items": [{"n": "answer"}]}]}, "texts": ["more", "one", "answer"], "removed": "s1"},
        )
        handle = lambda name: {"$session": {"handle": name}}  # noqa: E731
        asked = [(message["method"], message["params"]["args"]) for message in host.asked]
        self.assertEqual(
            asked,
            [
                ("core.slice_session", {"session": handle("h1"), "config": {"model": "m"}, "start": 0, "end": 1, "return_removed": True}),
                ("core.add_message", {"session": handle("h2"), "role": "user", "content": "more", "after_index": -1}),
                ("core.send_request", {"session": handle("h4"), "config": {"model": "m"}}),
                ("core.core_messages_to_native", {"core_messages": [{"role": "assistant", "content": "answer", "metadata": {}}], "config": {"model": "m"}}),
            ],
        )

    APPLICATION = """
        import orlop
        class Desk:
            name = "desk"
            {define} execute_action(self, app, action_id, params, context, state):
                {lock} app.acquire_session_lock(params["session_id"]):
                    found = {wait}app.load_session(params["session_id"])
                    if found is None:
                        raise KeyError("no session " + params["session_id"])
                    core, base_config, session = found
                    session.metadata["tidy"] = True
                    saved = {wait}app.save_session(session)
                    core, config, other = {wait}app.update_agent("other", session)
                    events = {wait}app.send_request(core, other, config, {{"temperature": 0}}, stream=False)
                    joined = {wait}core.join_sessions(saved, other)
                {wait}app.publish_event({{"type": "tidied"}})
                {wait}app.set_state({{"n": 1}}, session_id=params["session_id"])
                return {{"message": events[-1]["type"], "joined": len(joined.messages)}}
        """

    def test_the_application(self):
        loaded = {"agent_id": "default", "config": {"model": "m"}, "session": session("h1", "one")}
        other = {"agent_id": "other", "config": {"model": "o"}, "session": session("h2", "one")}
        answers = {
            "app.acquire_session_lock": {"lock": "l1"},
            "app.release_session_lock": None,
            "app.load_session": lambda params: loaded if params["args"]["session_id"] == "s1" else None,
            "app.save_session": session("h3", "one", tidy=True),
            "app.update_agent": other,
            "app.send_request": [{"type": "partial"}, {"type": "final"}],
            "core.join_sessions": session("h4", "one", "one"),
            "app.publish_event": {"type": "tidied", "seq": 1},
            "app.set_state": None,
        }
        for words in ({"define": "def", "lock": "with", "wait": ""}, {"define": "async def", "lock": "async with", "wait": "await "}):
            with self.subTest(words["define"]):
                host = self.start(self.APPLICATION.format(**words), answers)
                act = lambda **params: host.hook("application", "desk", "execute_action", action_id="tidy", params=params, state={})  # noqa: E731
                self.assertEqual(act(session_id="s1"), {"message": "final", "joined": 2})
                tidied = {"$session": {"handle": "h1", "metadata": {"tidy": True}}}
                asked = [(message["method"], message["params"]["args"], message["params"].get("agent")) for message in host.asked]
                self.assertEqual(
                    asked,
                    [
                        ("app.acquire_session_lock", {"session_id": "s1"}, None),
                        ("app.load_session", {"session_id": "s1"}, None),
                        ("app.save_session", {"session": tidied}, None),
                        ("app.update_agent", {"agent_id": "other", "session": tidied}, None),
                        ("app.send_request", {"session": {"$session": {"handle": "h2"}}, "agent_id": "other", "overrides": {"temperature": 0}}, None),
                        ("core.join_sessions", {"prefix": {"$session": {"handle": "h3"}}, "suffix": {"$session": {"handle": "h2"}}}, "other"),
                        ("app.release_session_lock", {"lock": "l1"}, None),
                        ("app.publish_event", {"event": {"type": "tidied"}}, None),
                        ("app.set_state", {"session_id": "s1", "value": {"n": 1}}, None),
                    ],
                )
                self.assertEqual({message["params"]["call"] for message in host.asked}, {host._last})
                host.asked.clear()
                error = self.fails("KeyError: no session s2", lambda: act(session_id="s2"))
                self.assertEqual(error.data["class"], "not_found")
                self.assertEqual(host.asked[-1]["method"], "app.release_session_lock")

    def test_a_refusal_arrives_as_an_error(self):
        host = self.start(
            """
            import orlop
            class Eager:
                name = "eager"
                def get_template(self):
                    try:
                        orlop.current().app.list_sessions()
                    except orlop.Error as error:
                        return f"{error.error_class}: {error}"
                def get_completions(self):
                    orlop.current().app.list_sessions()
            """,
            {"app.list_sessions": failed("the manifest grants no list_sessions", "bad_state")},
        )
        self.assertEqual(host.hook("feature", "eager", "get_template"), "bad_state: the manifest grants no list_sessions")
        error = self.fails("grants no list_sessions", lambda: host.hook("feature", "eager", "get_completions"))
        self.assertEqual(error.data["class"], "bad_state")

    def test_state_progress_and_logs_without_a_context(self):
        kept: dict = {}

        def keep(params):
            kept[params["args"].get("session_id")] = params["args"]["value"]

        host = self.start(
            """
            import orlop
            class Counter:
                name = "counter"
                def get_template(self):
                    call = orlop.current()
                    count = call.state.get(0) + 1
                    call.state.set(count)
                    call.user_state.set({"of": call.session_id})
                    call.progress("counted", done=count, total=9)
                    call.log.warn("so many", count=count)
                    return str(count)
                async def get_completions(self):
                    return [await orlop.current().state.get(), orlop.current().request_id]
            """,
            {"app.get_state": lambda params: kept.get(params["args"].get("session_id")), "app.set_state": keep},
        )
        context = {"session_id": "s1", "request_id": "r1"}
        self.assertEqual([host.hook("feature", "counter", "get_template", context) for _ in range(2)], ["1", "2"])
        self.assertEqual(host.hook("feature", "counter", "get_completions", context), [2, "r1"])
        self.assertEqual(kept, {"s1": 2, None: {"of": "s1"}})
        call = host.told("progress")[0]["call"]
        self.assertEqual(host.told("progress")[0], {"call": call, "message": "counted", "done": 1, "total": 9})
        self.assertEqual(host.told("log")[0], {"call": call, "level": "warn", "message": "so many", "fields": {"count": 1}})
        self.fails("this call has no session to keep a state with", lambda: host.hook("feature", "counter", "get_template"))

    def test_a_forgotten_await_is_pointed_out(self):
        host = self.start(
            """
            import orlop
            class Hasty:
                name = "hasty"
                async def get_template(self):
                    return orlop.current().core.create_session().session_id
            """,
            {"core.create_session": session("h1")},
        )
        self.fails("core.create_session was called in an async method: write `await` before it", lambda: host.hook("feature", "hasty", "get_template"))

    def test_hooks_of_other_requests_run_while_one_waits(self):
        host = self.start(
            """
            import orlop
            class Deep:
                name = "deep"
                def get_template(self, config):
                    return orlop.current().core.get_config_schema()[0] if config["ask"] else "inner"
                async def get_completions(self, config):
                    return await orlop.current().core.get_config_schema() if config["ask"] else ["inner"]
            """,
        )
        for hook in ("get_template", "get_completions"):
            # The host asks the plugin something before it answers what the plugin asks.
            host.answers["core.get_config_schema"] = lambda params: [
                str(host.hook("feature", "deep", hook, config={"ask": False}, text=""))
            ]
            answer = host.hook("feature", "deep", hook, config={"ask": True}, text="")
            self.assertIn("inner", str(answer))

    def test_a_session_that_is_only_here_in_part_cannot_be_stored_changed(self):
        host = self.start(
            """
            class Desk:
                name = "desk"
                def execute_action(self, action_id, session, context):
                    if action_id == "mark":
                        session.metadata["x"] = 1
                    if action_id == "change":
                        session.messages[0].content += "!"
                    return {"saved": context["app"].save_session(session).session_id, "skip": session.skip}
            """,
            {"app.save_session": session("h2")},
        )
        part = session("h1", "last")
        part["$session"]["messages"]["$list"]["skip"] = 40
        act = lambda action: host.hook("feature", "desk", "execute_action", action_id=action, session=part, native_messages=whole(), params={}, state=STATE)  # noqa: E731
        self.assertEqual(act("look"), {"saved": "s1", "skip": 40})
        self.assertEqual(host.asked[0]["params"]["args"], {"session": {"$session": {"handle": "h1"}}})
        act("mark")
        self.assertEqual(host.asked[1]["params"]["args"], {"session": {"$session": {"handle": "h1", "metadata": {"x": 1}}}})
        self.fails("only its last messages are here", lambda: act("change"))

    def test_messages_that_were_changed_leave_native_history_behind(self):
        host = self.start(
            """
            class Desk:
                name = "desk"
                def execute_action(self, action_id, session, context):
                    assert context["session"]["messages"][0]["content"] == "hello"
                    assert session.metadata["native_messages"] == [{"n": 1}]
                    if action_id == "text":
                        session.messages[0].content = "bye"
                    if action_id == "native":
                        session.metadata["native_messages"].append({"n": 2})
                    context["app"].save_session(session)
            """,
            {"app.save_session": session("h2")},
        )
        for action, text, metadata in (
            ("text", "bye", {"a": 1}),
            ("native", "hello", {"a": 1, "native_messages": [{"n": 1}, {"n": 2}]}),
        ):
            lent = session("h1", "hello", native=whole({"n": 1}), a=1)
            host.hook("feature", "desk", "execute_action", action_id=action, session=lent, native_messages=whole({"n": 1}), params={}, state=STATE)
            message = {"role": "user", "content": text, "metadata": {}}
            saved = {"session_id": "s1", "messages": [message], "metadata": metadata}
            self.assertEqual(host.asked[-1]["params"]["args"], {"session": saved})

    def test_a_changed_configuration_counts_as_overrides(self):
        host = self.start(
            """
            class Desk:
                name = "desk"
                def execute_action(self, app, action_id, params, context, state):
                    core, config, session = app.load_session("s1")
                    config = {**config, "model": "big", "section": {**config["section"], "on": True}}
                    app.send_request(core, session, config, {"top": 1}, message="go", persist=True)
            """,
            {
                "app.load_session": {"agent_id": "a", "config": {"model": "m", "key": "***", "section": {"on": False, "key": "***"}}, "session": session("h1")},
                "app.send_request": [],
            },
        )
        host.hook("application", "desk", "execute_action", action_id="x", params={}, state={})
        sent = host.asked[-1]["params"]["args"]
        self.assertEqual(sent["overrides"], {"model": "big", "section": {"on": True}, "top": 1})
        self.assertEqual((sent["message"], sent["persist"], sent["agent_id"]), ("go", True, "a"))

"""The examples, run as a host and as the tests of their authors do."""

from __future__ import annotations

import shutil
import tempfile
import unittest
from pathlib import Path

from orlop import Message, Session
from orlop.errors import Error
from orlop.plugins import load
from orlop.testing import run
from tests.host import SDK, Host, HostCase, session, whole

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "plugins" / "python"
STATE = {"config": {"model": "m"}, "request": {}}


def example(name: str) -> str:
    return str(EXAMPLES / f"{name}.py")


@unittest.skipUnless(EXAMPLES.is_dir(), "the examples are not beside this copy of the SDK")
class AsAuthorsTest(unittest.TestCase):
    def test_a_function(self):
        self.assertEqual(run(example("sums"), "execute_tool", tool_name="add", payload={"a": 1, "b": 2}).outcome["output"], 3)

    def test_a_stream(self):
        result = run(example("mirror"), "stream_api", native_messages=[{"role": "user", "text": "ab c"}], state=STATE)
        self.assertEqual([part["partial"]["content"] for part in result.parts[:2]], ["c ", "ba "])
        self.assertEqual(result.parts[2], {"final_messages": [{"role": "assistant", "text": "c ba"}]})

    def test_a_change_of_the_request(self):
        state = {"config": {"prompt_cache_key": "k"}, "request": {}}
        result = run(example("my_prompt_cache"), "initialize_request", native_messages=[{"a": 1}], state=state)
        self.assertEqual(result.state["request"], {"prompt_cache_key": "k"})
        self.assertEqual(result.native_messages, [{"a": 1}])

    def test_the_state_that_init_makes(self):
        state = run(example("my_feature"), "init", config={"model": "big"}, state=STATE).state
        self.assertEqual(state, {"config": {"model": "big"}, "request": {}})

    def test_an_action(self):
        fresh = Session("s1", [Message("user", "hi")], {})
        given = {"action_id": "ensure_prompt_cache_key", "native_messages": [], "params": {}, "state": STATE}
        made = run(example("my_prompt_cache"), "execute_action", session=fresh, **given).outcome
        self.assertEqual(list(made["session_metadata"]["overrides"]), ["prompt_cache_key"])
        done = Session("s1", [], {"overrides": {"prompt_cache_key": "k"}})
        self.assertEqual(run(example("my_prompt_cache"), "execute_action", session=done, **given).outcome, {})

    def test_an_object_of_its_own(self):
        plugin = load(example("no_fridays")).NoFridays()
        for friday, expected in ((True, {"deny": "not on a Friday"}), (False, "allow")):
            plugin.is_friday = lambda: friday
            self.assertEqual(run(plugin, "before_tool_call", tool_name="deploy", input={}).outcome, expected)

    def test_what_the_host_would_answer(self):
        given = {"action_id": "my_action", "params": {"session_id": "s1"}, "state": {}}
        answers = {
            "app.acquire_session_lock": {"lock": "l1"},
            "app.release_session_lock": None,
            "app.load_session": {"agent_id": "default", "config": {}, "session": Session("s1", [Message("user", "hi")]).to_dict()},
            "app.save_session": lambda args: args["session"],
            "app.publish_event": lambda args: args["event"],
        }
        result = run(example("my_app_plugin"), "execute_action", answers=answers, **given)
        self.assertEqual(result.outcome["message"], "Action completed successfully.")
        saved = dict(result.asked)["app.save_session"]["session"]
        self.assertEqual(saved["metadata"], {"reviewed": True})
        with self.assertRaisesRegex(Error, "the plugin asked for app.load_session; give run"):
            run(example("my_app_plugin"), "execute_action", answers={"app.acquire_session_lock": {"lock": "l"}, "app.release_session_lock": None}, **given)


@unittest.skipUnless(EXAMPLES.is_dir(), "the examples are not beside this copy of the SDK")
class AsAHostRuns(HostCase):
    def example(self, name: str, answers=None) -> Host:
        host = Host(example(name), answers, package=name)
        self.addCleanup(host.close)
        self.described = host.initialize()["plugins"]
        return host

    def test_all_examples_start(self):
        found = {}
        for path in sorted(EXAMPLES.glob("*.py")):
            self.example(path.stem)
            found[path.stem] = self.described[0]["kind"]
        self.assertEqual(
            found,
            {
                "mirror": "provider", "my_app_plugin": "application", "my_feature": "feature",
                "my_prompt_cache": "extension", "no_fridays": "host", "sums": "tool",
            },
        )  # fmt: skip

    def test_my_feature(self):
        summary = [{"role": "assistant", "content": "in short", "metadata": {}}]
        host = self.example(
            "my_feature",
            {
                "core.slice_session": session("h2", "a"),
                "core.add_message": session("h3", "a", "Summarize"),
                "core.send_request": {"session": session("h4"), "messages": summary},
                "core.core_messages_to_native": lambda params: [{"n": params["args"]["core_messages"][0]["content"]}],
                "app.update_agent": {"agent_id": "small", "config": {"model": "s"}, "session": session("h5")},
                "app.send_request": [{"type": "partial"}, {"type": "final", "messages": summary}],
            },
        )
        self.assertEqual(
            self.described[0]["hooks"],
            ["init", "get_tags", "get_ui_elements", "finalize", "get_actions", "execute_action"],
        )
        hook = lambda name, context=None, **args: host.hook("feature", "my_feature", name, context, **args)  # noqa: E731
        self.assertEqual(hook("init", config={"model": "m"}, state=STATE), "keep")
        self.assertIsNone(hook("finalize", final_messages=whole(), native_messages=whole({"n": 1}), state=STATE))

        def act(context: dict, action: str = "summarize_range") -> dict:
            native = whole(*({"n": n} for n in range(4)))
            return hook("execute_action", context, action_id=action, session=session("h1", "a", "b"), native_messages=native, params={"start": 1, "end": 3}, state=STATE)

        edits = {"edits": [{"op": "replace", "start": 1, "end": 3, "items": [{"n": "in short"}]}]}
        done = act({"config": {"model": "m"}})
        self.assertEqual(done["native_messages"], edits)
        self.assertIn("last_summarization", done["session_metadata"])
        done = act({"config": {"model": "m"}, "base_config": {"my_feature": {"agent_id": "small"}}})
        self.assertEqual(done["native_messages"], edits)
        self.assertEqual(host.asked[-2]["params"]["args"], {"session": {"$session": {"handle": "h5"}}, "agent_id": "small"})
        self.assertEqual(act({}, "other"), {"error": {"type": "unknown_action", "message": "Unknown action: other"}})
        disabled = {"config": {"my_feature": {"enabled": False}}}
        self.assertEqual(act(disabled), {"error": {"type": "disabled", "message": "Feature is not enabled."}})
        self.assertEqual(act({"handles": []})["error"]["type"], "missing_core")

    def test_the_sdk_works_from_any_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            copied = Path(folder) / "a b"
            for package in ("orlop", "agent_core", "agent_app"):
                shutil.copytree(SDK / package, copied / package)
            # Files of the working folder that hide modules of the standard library do no harm.
            for module in ("uuid", "json", "inspect"):
                (Path(folder) / f"{module}.py").write_text("raise RuntimeError('hidden')")
            host = Host(example("my_prompt_cache"), sdk=copied, folder=folder)
            self.addCleanup(host.close)
            self.assertEqual(host.initialize()["plugins"][0]["name"], "my_prompt_cache")

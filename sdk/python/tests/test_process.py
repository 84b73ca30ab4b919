"""The process: mistakes of authors, prints, the end, many calls at once."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys

from tests.host import SDK, Host, HostCase, whole

STATE = {"config": {}, "request": {}}


class Mistakes(HostCase):
    def start_fails(self, words: str, text: str) -> None:
        host = self.bare(text)
        self.fails(words, host.initialize)
        self.assertEqual(host.request("ping"), {})

    def test_at_the_start(self):
        self.start_fails("sample.py cannot be loaded: line 2: ", "\nclass Broken(:\n")
        self.start_fails("sample.py cannot be loaded: ModuleNotFoundError: No module named 'nowhere'", "import nowhere")
        self.start_fails("sample.py cannot be loaded: SystemExit: 3", "import sys; sys.exit(3)")
        self.start_fails("has no plugin: write a class with a `name` and hooks, or a function", "x = 1")
        self.start_fails("Costly(): OSError: no key", "class Costly:\n name = 'c'\n def __init__(self): raise OSError('no key')")
        self.start_fails("Needy() needs client; a plugin is made without arguments", "class Needy:\n name = 'c'\n def __init__(self, client): pass")
        self.start_fails("Odd.kind is 'thing'; expected one of: provider, ", "class Odd:\n kind = 'thing'")
        self.start_fails("Odd.name is int; expected a text", "class Odd:\n kind = 'feature'\n name = 5")
        self.start_fails("there are two feature plugins named 'a'", "class A:\n name = 'a'\nclass B:\n name = 'a'")
        self.start_fails(
            "Odd.get_template has a parameter `nonsense` that nobody can fill; it can have: config, context",
            "class Odd:\n def get_template(self, config, context, nonsense): pass",
        )
        self.start_fails("Odd.history names finalise, and has no such hook", "class Odd:\n name = 'o'\n history = {'finalise': 1}")
        self.start_fails("Odd.get_config_schema returned list; expected a mapping", "class Odd:\n name = 'o'\n def get_config_schema(self): return []")

    def test_an_old_python_is_told_what_it_lacks(self):
        program = "import sys; sys.version_info = (3, 9, 18, 'final', 0); del sys.orig_argv; import orlop"
        old = subprocess.run([sys.executable, "-c", program], cwd=SDK, capture_output=True, text=True)
        self.assertEqual(old.returncode, 1)
        self.assertEqual(
            old.stderr,
            f"plugins need Python 3.10 or newer, and {sys.executable} is 3.9.18; put a newer one first in PATH, "
            "or make a .venv in the plugin's folder\n",
        )
        # An older one does not get that far in a file with syntax that it does not know.
        tree = ast.parse((SDK / "orlop" / "__init__.py").read_text(), feature_version=(3, 4))
        modern = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) or getattr(node, "module", "") == "__future__"]
        self.assertEqual(modern, [])

    def test_a_path_that_is_not_there(self):
        host = Host("/nowhere/plugin.py")
        self.addCleanup(host.close)
        self.fails("/nowhere/plugin.py does not exist", host.initialize)

    def test_a_trace_has_the_lines_of_the_author_only(self):
        host = self.bare("import json\njson.loads('{')\n")
        self.fails("sample.py cannot be loaded: JSONDecodeError", host.initialize)
        host.close()
        self.assertIn("json.loads('{')", host.log())
        self.assertNotIn("importlib", host.log())

    def test_another_protocol_is_refused(self):
        host = self.bare("class A:\n name = 'a'")
        self.fails("speaks protocol 1, and not 2", lambda: host.request("initialize", protocol=2))

    def test_a_hook_with_a_slip_of_the_pen_is_pointed_out(self):
        slip = "\n def initialise_request(self, state): pass\n"
        warning = ".initialise_request is no hook, so it is never called; did you mean initialize_request?"
        host = self.bare(f"class A:\n name = 'a'{slip}class Stray:{slip}")
        self.assertEqual(host.initialize()["warnings"], [f"Stray{warning}", f"A{warning}"])
        host.close()
        self.assertIn(f"warning: A{warning}", host.log())
        self.start_fails(f"has no plugin: Stray{warning}", f"class Stray:{slip}")

    def test_a_slip_of_the_pen_that_decides_the_kind_is_pointed_out(self):
        tool = "class A:\n name = 'a'\n def get_tool_schemas(self): pass\n def execute_tol(self, payload): pass\n"
        described = self.bare(tool).initialize()
        self.assertEqual(described["plugins"][0]["kind"], "feature")
        warning = "A.execute_tol is no hook, so it is never called; did you mean execute_tool?"
        self.assertIn(warning, described["warnings"])
        # Who says the kind has a method of that name for something else.
        said = self.bare("class A:\n kind = 'feature'\n def process_chunks(self): pass\n def get_tags(self): pass").initialize()
        self.assertEqual(said["warnings"], [])

    def test_one_name_is_a_list_of_one(self):
        host = self.bare("class A:\n name = 'a'\n after = 'b'\n def get_tags(self): pass")
        self.assertEqual(host.initialize()["plugins"][0]["after"], ["b"])

    def test_a_hook_of_another_kind_is_pointed_out(self):
        host = self.bare("class A:\n kind = 'feature'\n def process_chunk(self, chunk): pass")
        warning = 'A.process_chunk is a hook of extension plugins, but this is a feature plugin, so it is never called; set kind = "extension" if that is what it should be'
        self.assertEqual(host.initialize()["warnings"], [warning])

    def test_in_a_hook(self):
        host = self.start(
            """
            import sys
            class Clumsy:
                name = "clumsy"
                def get_tags(self, config): return 5
                def is_enabled(self): return "yes"
                def init(self, state): return [1]
                def initialize_request(self, native_messages, state): return native_messages, state, 1
                def finalize(self, final_messages): return ["text"]
                def to_native_messages(self, native_messages): return "text"
                def get_actions(self): return [{"label": "no id"}]
                def execute_action(self): return 5
                def get_template(self): raise RuntimeError("the template\\n is gone")
                def get_completions(self): sys.exit(1)
                def apply_completion(self): return {"not": "text"}
                def get_ui_elements(self): return [object()]
                def attachment_parts(self): raise KeyError("no such file")
                def filter_tools(self, tools):
                    return filter(lambda tool: tool["schema"]["x"], tools)
            """
        )
        native = {"native_messages": whole({}), "final_messages": whole({}), "messages": whole(), "state": STATE}
        for hook, words, args in (
            ("get_tags", "Clumsy.get_tags returned int 5; expected a list of texts", {}),
            ("is_enabled", "Clumsy.is_enabled returned str 'yes'; expected True, False or None", {}),
            ("init", "Clumsy.init returned list [1]; expected the state as a mapping", {"state": STATE}),
            ("initialize_request", "Clumsy.initialize_request returned a tuple of 3; expected (native_messages, state)", native),
            ("finalize", "Clumsy.finalize returned str 'text'; expected mappings in final_messages", native),
            ("to_native_messages", "Clumsy.to_native_messages returned str 'text'; expected native_messages as a list", native),
            ("get_actions", "Clumsy.get_actions returned dict {'label': 'no id'}; expected mappings with `id`", {}),
            ("execute_action", "Clumsy.execute_action returned int 5; expected a mapping", native),
            ("get_template", "Clumsy.get_template: RuntimeError: the template is gone", {}),
            ("get_completions", "Clumsy.get_completions: SystemExit: 1", {}),
            ("apply_completion", "Clumsy.apply_completion returned dict {'not': 'text'}; expected a text", {}),
            ("get_ui_elements", "Clumsy.get_ui_elements returned what is no JSON: object is no JSON value", {}),
            ("attachment_parts", "Clumsy.attachment_parts: KeyError: no such file", {}),
            ("filter_tools", "Clumsy.filter_tools: KeyError: schema", {"tools": [{}]}),
        ):
            with self.subTest(hook):
                self.fails(words, lambda: host.hook("feature", "clumsy", hook, **args))
        error = self.fails("Clumsy has no hook `get_models`; it has: init, ", lambda: host.hook("feature", "clumsy", "get_models"))
        self.assertEqual(error.code, -32601)
        error = self.fails("there is no plugin 'other' here; there are: clumsy", lambda: host.hook("feature", "other", "init"))
        self.assertEqual(error.code, -32601)
        host.close()
        log = host.log()
        self.assertIn("Clumsy.get_template failed:", log)
        self.assertIn('raise RuntimeError("the template', log)
        self.assertNotIn("orlop/server.py", log)

    def test_errors_carry_their_class(self):
        host = self.start(
            """
            import orlop
            class Failing:
                name = "failing"
                def get_template(self, config):
                    raise {"o": orlop.Error("try later", "unavailable", retryable=True), "v": ValueError("bad"), "c": ConnectionError("down"), "p": PermissionError("no"), "l": orlop.Error("too long", "provider", context_overflow=True)}[config["how"]]
            """
        )
        for how, data in (
            ("o", {"class": "unavailable", "retryable": True}),
            ("v", {"class": "bad_argument"}),
            ("c", {"class": "unavailable", "retryable": True}),
            ("l", {"class": "provider", "context_overflow": True}),
            ("p", {"class": "bad_state"}),
        ):
            error = self.fails("", lambda: host.hook("feature", "failing", "get_template", config={"how": how}))
            self.assertEqual(error.data, data)


class Border(HostCase):
    ECHO = """
        import sys, os, subprocess
        class Echo:
            name = "echo"
            def get_template(self, config):
                print("printed")
                sys.stdout.write("written\\n")
                os.write(1, b"raw\\n")
                subprocess.run(["echo", "child"])
                try:
                    input()
                except EOFError:
                    print("nothing to read")
                return config["text"]
        """

    def test_prints_go_to_the_log(self):
        host = self.start(self.ECHO)
        self.assertEqual(host.hook("feature", "echo", "get_template", config={"text": "ok"}), "ok")
        host.close()
        for words in ("printed", "written", "raw", "child", "nothing to read"):
            self.assertIn(words + "\n", host.log())

    def test_lines_that_are_no_json_are_skipped(self):
        host = self.start("class A:\n name = 'a'")
        broken = (b"{nonsense", b"[]", b"\xff\xfe", b"", b"5", b'{"method": "hook", "params": 5}', b'{"id": [], "result": 1}')
        for line in broken * 10:
            host.write(line)
        self.assertEqual(host.request("ping"), {})
        host.close()
        self.assertIn("skipped a line that is no JSON", host.log())
        self.assertIn("skipped a line that is no message of the protocol", host.log())

    def test_unknown_methods(self):
        host = self.start("class A:\n name = 'a'")
        self.assertEqual(self.fails("there is no method 'dance'", lambda: host.request("dance")).code, -32601)
        host.write({"jsonrpc": "2.0", "method": "whisper"})
        self.assertEqual(host.request("ping"), {})

    def test_nothing_of_a_text_or_a_number_is_lost(self):
        host = self.start("class A:\n name = 'a'\n def prepare(self): pass\n kind = 'tool'\n def prepare_tools(self, schemas): return schemas")
        for value in (10**400, -(2**63), 0.1, "ä \u2028 \0 \U0001f600", {"ü": [True, None, 1.5]}):
            self.assertEqual(host.hook("tool", "a", "prepare_tools", schemas=[value]), [value])
        self.assertEqual(host.hook("tool", "a", "prepare_tools", schemas=["\ud800"]), ["?"])

    def test_a_line_that_is_too_long_is_an_error(self):
        host = self.start("class A:\n name = 'a'\n def get_template(self): return 'x' * (33 << 20)")
        self.fails("more than a line may have", lambda: host.hook("feature", "a", "get_template"))

    def test_the_end_of_input_is_the_end(self):
        host = self.start(
            """
            import threading
            class Busy:
                name = "busy"
                def get_template(self):
                    threading.Thread(target=threading.Event().wait).start()
                    return ""
                def get_tags(self): threading.Event().wait()
            """
        )
        host.hook("feature", "busy", "get_template")
        host.begin_hook("feature", "busy", "get_tags")
        self.assertEqual(host.close(), 0)

    def test_shutdown_is_answered(self):
        host = self.start("import atexit\natexit.register(print, 'tidied up')\nclass A:\n name = 'a'")
        self.assertEqual(host.request("shutdown"), {})
        self.assertEqual(host.process.wait(10), 0)
        host.close()
        self.assertIn("tidied up", host.log())

    def test_where_a_plugin_lives(self):
        host = self.start(
            """
            import orlop
            class Here:
                name = "here"
                def __init__(self, config):
                    self.greeting = config["greeting"]
                    (orlop.current().data_folder / "made").write_text("x")
                    orlop.current().log.info("made", by="here")
                def get_template(self):
                    call = orlop.current()
                    return f"{self.greeting} {call.config['greeting']} {(call.data_folder / 'made').read_text()}"
            """
        )
        self.assertEqual(host.hook("feature", "here", "get_template"), "Hello Hello x")
        self.assertTrue(os.path.exists(os.path.join(host.data, "made")))
        self.assertEqual(host.told("log"), [{"level": "info", "message": "made", "fields": {"by": "here"}}])

    def test_settings_that_are_not_set_have_their_defaults(self):
        host = self.start(
            """
            import json, orlop
            class Sky:
                name = "sky"
                def get_config_schema(self):
                    return {"unit": {"default": "C"}, "greeting": {"default": "no"}, "sky.at.depth": {"default": 3}, "none": {}}
                def get_template(self): return json.dumps(orlop.current().config)
            """
        )
        config = json.loads(host.hook("feature", "sky", "get_template"))
        self.assertEqual(config, {"greeting": "Hello", "unit": "C", "at": {"depth": 3}})

    def test_folders_and_packages(self):
        for name, text in (("plugin.py", "import beside"), ("__init__.py", "from . import beside")):
            path = self.source(text + "\nclass A:\n name = beside.NAME\n", name)
            folder = os.path.dirname(path)
            with open(os.path.join(folder, "beside.py"), "w") as file:
                file.write("NAME = 'from_beside'")
            host = Host(folder)
            self.addCleanup(host.close)
            self.assertEqual(host.initialize()["plugins"][0]["name"], "from_beside")


class Many(HostCase):
    def test_a_flood_of_calls_at_once(self):
        host = self.start(
            """
            import asyncio, threading, orlop
            class Crowd:
                name = "crowd"
                def __init__(self):
                    self.gate = threading.Barrier(40)
                def get_template(self, config):
                    self.gate.wait()   # passes when forty calls run at once
                    return str(config["n"])
                async def get_completions(self, config):
                    await asyncio.sleep(0)
                    return [config["n"], orlop.current().request_id]
            """
        )
        calls = {}
        for number in range(400):
            hook = "get_template" if number % 10 == 0 else "get_completions"
            calls[number] = host.begin_hook("feature", "crowd", hook, {"request_id": f"r{number}"}, config={"n": number}, text="")
        for number, call in calls.items():
            expected = str(number) if number % 10 == 0 else [number, f"r{number}"]
            self.assertEqual(host.answer(call), expected)

    def test_lists_in_slots(self):
        host = self.start(
            """
            class Last:
                name = "last"
                def initialize_request(self, native_messages, state):
                    for item in native_messages: item["damaged"] = True
                    return None
                def finalize(self, final_messages, native_messages):
                    return {"native_messages": [*native_messages, {"n": sum(i["n"] for i in native_messages)}]}
            """
        )
        item = lambda number: {"n": number}  # noqa: E731
        slot = lambda keep, *numbers: {"$list": {"slot": 5, "keep": keep, "items": [item(n) for n in numbers]}}  # noqa: E731
        damage = host.hook("feature", "last", "initialize_request", native_messages=slot(0, 1, 2, 3), state=STATE)
        self.assertEqual(damage["native_messages"]["edits"][0]["end"], 3)
        sums = []
        for described in (slot(3), slot(2, 10), slot(3, 100), slot(0)):
            done = host.hook("feature", "last", "finalize", final_messages=whole(), native_messages=described, state=STATE)
            sums.append(done["native_messages"]["edits"][-1]["items"][0]["n"])
        self.assertEqual(sums, [6, 13, 113, 0])
        self.fails("slot 5 holds 0 items", lambda: host.hook("feature", "last", "finalize", final_messages=whole(), native_messages=slot(4), state=STATE))

    def test_signatures(self):
        host = self.start(
            """
            class Any:
                kind = "tool"
                name = "any"
                def execute_tool(self, *args): return {"success": True, "n": len(args), "first": args[:2]}
                def format_tool_call_preview(self, which, what, /, *, state): return f"{which} {what} {state['a']}"
                def format_tool_result(self, anything, *, extra=5): return [anything, extra]
                @staticmethod
                def to_display_format(text, **rest): return [text, "result" in rest]
                @classmethod
                def prepare_tools(cls, config): return cls.__name__
            """
        )
        call = {"tool_name": "t", "payload": "p", "payload_kind": "text", "tool_call": {}, "prepared": 1, "state": {"a": "s"}}
        self.assertEqual(host.hook("tool", "any", "execute_tool", **call), {"success": True, "n": 9, "first": ["t", "p"]})
        self.assertEqual(host.hook("tool", "any", "format_tool_call_preview", **call), "t p s")
        self.assertEqual(host.hook("tool", "any", "format_tool_result", result=1, state={}), [1, 5])
        self.assertEqual(host.hook("tool", "any", "to_display_format", text="x", result=1, state={}), ["x", True])
        self.assertEqual(host.hook("tool", "any", "prepare_tools", config={}), "Any")


class Functions(HostCase):
    def test_a_function_is_a_tool(self):
        host = self.start(
            '''
            import orlop
            from typing import Annotated, Literal, Optional
            @orlop.tool(idempotent=True, access="read")
            def find(what: str, kinds: list[str] = [], limit: Optional[int] = None, order: Literal["up", "down"] = "up",
                     place: Annotated[str, "Where to look."] = "here") -> str:
                """Finds things.

                It looks everywhere.

                Args:
                    what: The text to find,
                        in any case.
                    limit (int): At most so many.
                Returns: a text
                """
                return f"{what} {kinds} {limit} {order} {place}"
            @orlop.tool
            async def later(n: int) -> int:
                """Later."""
                return n + 1
            @orlop.tool
            def fail() -> None:
                raise ValueError("no such berth")
            '''
        )
        self.assertEqual(self.described[0]["name"], "sample")
        schemas = host.hook("tool", "sample", "get_tool_schemas", config={}, state={})
        self.assertEqual(
            schemas[0],
            {
                "name": "find",
                "description": "Finds things.\n\nIt looks everywhere.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "what": {"type": "string", "description": "The text to find, in any case."},
                        "kinds": {"type": "array", "items": {"type": "string"}, "default": []},
                        "limit": {"type": "integer", "description": "At most so many."},
                        "order": {"enum": ["up", "down"], "default": "up"},
                        "place": {"type": "string", "description": "Where to look.", "default": "here"},
                    },
                    "required": ["what"],
                },
                "annotations": {"idempotent": True, "access": "read"},
            },
        )
        call = lambda tool, payload: host.hook("tool", "sample", "execute_tool", tool_name=tool, payload=payload)  # noqa: E731
        self.assertEqual(call("find", {"what": "x"}), {"success": True, "output": "x [] None up here"})
        self.assertEqual(call("later", {"n": 1}), {"success": True, "output": 2})
        self.assertEqual(call("fail", {}), {"success": False, "error": "ValueError: no such berth"})
        self.assertEqual(
            call("find", {"who": 1}),
            {"success": False, "error": "find: missing a required argument: 'what'; it takes: what, kinds, limit, order, place"},
        )
        self.assertIn("there is no tool 'x'; there are: find, later, fail", json.dumps(call("x", {})))

"""What the guide shows works."""

from __future__ import annotations

import os
import re
import tempfile
import unittest
from pathlib import Path

from orlop.plugins import load
from orlop.testing import run
from tests.host import SDK

BLOCKS = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", (SDK.parent.parent / "docs" / "plugins" / "python.md").read_text(), re.DOTALL)


class Guide(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for name, text in BLOCKS:
            Path(name).write_text(text)

    def test_there_is_something_to_test(self):
        self.assertEqual([name for name, _ in BLOCKS], ["sums.py", "brief.py", "tail.py", "busy.py", "test_sums.py"])

    def test_functions(self):
        load("test_sums.py").test_adds()
        answers = {"app.get_state": None, "app.set_state": None}
        call = {"tool_name": "fetch_all", "payload": {"urls": ["a", "b"]}}
        result = run("busy.py", "execute_tool", answers=answers, context={"session_id": "s1"}, **call)
        self.assertEqual(result.outcome, {"success": True, "output": "done"})
        self.assertEqual(result.asked[-1], ("app.set_state", {"session_id": "s1", "value": ["a", "b"]}))
        self.assertEqual([told["message"] for told in result.progress], ["fetching a", "fetching b"])
        self.assertEqual(result.logs[0]["fields"], {"count": 2})

    def test_classes(self):
        native = [{"n": n} for n in range(3)]
        result = run("brief.py", "initialize_request", native_messages=native, state={"config": {}, "request": {}})
        self.assertEqual((result.native_messages, result.state["request"]), (native, {"max_tokens": 200}))
        result = run("tail.py", "initialize_request", native_messages=native, state={})
        self.assertEqual(result.native_messages[3:], [{"role": "user", "content": "Be brief."}])

"""A host for tests: starts the SDK as Orlop does and talks to it in JSON lines."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
from pathlib import Path
from typing import Any, Callable, Optional

SDK = Path(__file__).resolve().parent.parent
PATIENCE = 30


class Failed(Exception):
    """An error that the plugin answered."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data") or {}


class Host:
    """A plugin process and the lines it writes."""

    def __init__(self, path: str, answers: Optional[dict[str, Any]] = None, package: str = "sample", sdk: Path = SDK, folder: Optional[str] = None) -> None:
        self.answers = answers or {}
        self.asked: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self._arrived: queue.Queue[Any] = queue.Queue()
        self._kept: dict[Any, Any] = {}
        self._last = 100
        self.data = tempfile.mkdtemp()
        environment = {**os.environ, "PYTHONPATH": str(sdk), "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "orlop", path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=folder,
        )  # fmt: skip
        self._stderr: list[bytes] = []
        self._logging = threading.Thread(target=lambda: self._stderr.extend(self.process.stderr), daemon=True)
        self._logging.start()
        threading.Thread(target=self._read, daemon=True).start()
        folders = {"package": str(Path(path).parent), "data": self.data, "work": os.getcwd()}
        self._greeting = {
            "protocol": 1, "orlop": "0.1.0", "package": package, "config": {"greeting": "Hello"}, "folders": folders,
        }  # fmt: skip

    def initialize(self) -> dict[str, Any]:
        return self.request("initialize", **self._greeting)

    def _read(self) -> None:
        for line in self.process.stdout:
            self._arrived.put(json.loads(line))
        self._arrived.put(None)

    def write(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def begin(self, method: str, **params: Any) -> int:
        """Sends a request and does not wait."""
        self._last += 1
        self.write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        return self._last

    def begin_hook(self, kind: str, plugin: str, hook: str, context: Optional[dict[str, Any]] = None, /, **args: Any) -> int:
        context = {"trigger_source": "application", "handles": ["core", "app"], **(context or {})}
        call = self._last + 1
        return self.begin("hook", plugin=plugin, kind=kind, hook=hook, call=call, args=args, context=context)

    def hook(self, kind: str, plugin: str, hook: str, context: Optional[dict[str, Any]] = None, /, **args: Any) -> Any:
        return self.answer(self.begin_hook(kind, plugin, hook, context, **args))

    def request(self, method: str, **params: Any) -> Any:
        return self.answer(self.begin(method, **params))

    def answer(self, request: int) -> Any:
        """Waits for the answer to a request; answers what the plugin asks meanwhile."""
        while request not in self._kept:
            self._take()
        message = self._kept.pop(request)
        if "error" in message:
            raise Failed(message["error"])
        return message["result"]

    def until(self, there: Callable[[], Any]) -> Any:
        """Takes messages until something is there."""
        while not there():
            self._take()
        return there()

    def _take(self) -> None:
        message = self._arrived.get(timeout=PATIENCE)
        if message is None:
            raise AssertionError(f"the plugin ended: {self.log()}")
        if "method" not in message:
            self._kept[message["id"]] = message
        elif "id" in message:
            self.asked.append(message)
            self._answer(message)
        else:
            self.notes.append(message)

    def _answer(self, message: dict[str, Any]) -> None:
        answer = self.answers.get(message["method"])
        if answer is HOLD:
            return
        if callable(answer):
            answer = answer(message["params"])
        if isinstance(answer, Failed):
            error = {"code": answer.code, "message": str(answer), "data": answer.data}
            self.write({"jsonrpc": "2.0", "id": message["id"], "error": error})
        else:
            self.write({"jsonrpc": "2.0", "id": message["id"], "result": answer})

    def parts(self, call: int) -> list[Any]:
        notes = [note["params"] for note in self.notes if note["method"] == "part"]
        return [note["value"] for note in notes if note["call"] == call]

    def told(self, method: str) -> list[dict[str, Any]]:
        return [note["params"] for note in self.notes if note["method"] == method]

    def log(self) -> str:
        return b"".join(self._stderr).decode()

    def close(self) -> int:
        """Closes standard input and waits for the end."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self._logging.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


HOLD = object()


class HostCase(unittest.TestCase):
    """A test with plugins that are written where they are used."""

    maxDiff = None

    def source(self, text: str, name: str = "sample.py") -> str:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / name
        path.write_text(textwrap.dedent(text))
        return str(path)

    def start(self, text: str, answers: Optional[dict[str, Any]] = None) -> Host:
        """A host with a plugin, initialized."""
        host = self.bare(text, answers)
        self.described = host.initialize()["plugins"]
        return host

    def bare(self, text: str, answers: Optional[dict[str, Any]] = None) -> Host:
        """A host with a plugin that was told nothing yet."""
        host = Host(self.source(text), answers)
        self.addCleanup(host.close)
        return host

    def fails(self, words: str, action: Callable[[], Any]) -> Failed:
        with self.assertRaises(Failed) as caught:
            action()
        self.assertIn(words, str(caught.exception))
        return caught.exception


def failed(message: str, error_class: str) -> Failed:
    """An answer of the host that refuses."""
    return Failed({"code": -32000, "message": message, "data": {"class": error_class}})


def whole(*items: Any) -> dict[str, Any]:
    """A list, all of it."""
    return {"$list": {"skip": 0, "items": list(items)}}


def session(handle: str, *texts: str, native: Any = None, **metadata: Any) -> dict[str, Any]:
    """A session as the host sends it."""
    messages = [{"role": "user", "content": text, "metadata": {}} for text in texts]
    described = {"handle": handle, "session_id": "s1", "metadata": metadata, "messages": whole(*messages)}
    return {"$session": {**described, "native_messages": native}}

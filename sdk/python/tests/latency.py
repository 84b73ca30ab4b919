"""How long a hook that does nothing takes, seen from the host: ``python3 tests/latency.py``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SDK = Path(__file__).resolve().parent.parent

PLUGIN = '''
class Idle:
    name = "idle"
    def initialize_request(self, native_messages, state):
        return native_messages, state
    def filter_tools(self, tools):
        return None
    async def get_template(self):
        return ""
    def finalize(self, native_messages):
        native_messages.append({"role": "x"})
'''


def main(rounds: int = 2000, length: int = 10_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "idle.py"
        path.write_text(PLUGIN)
        command = [sys.executable, "-m", "orlop", str(path)]
        host = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PYTHONPATH": str(SDK)}, bufsize=0)
        reader = open(host.stdout.fileno(), "rb", 1 << 16, closefd=False)

        def ask(method: str, params: dict, number: int = 0) -> None:
            line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
            line = line.encode()
            began = time.perf_counter()
            host.stdin.write(line)
            answer = reader.readline()
            taken.append((time.perf_counter() - began) * 1000)
            assert b'"result"' in answer, answer

        def hook(name: str, args: dict) -> dict:
            return {"plugin": "idle", "kind": "feature", "hook": name, "call": 1, "args": args, "context": {}}

        state = {"config": {"model": "m", "tools": ["a", "b"], "section": {"x": 1}}, "request": {"temperature": 1}}
        item = {"role": "user", "content": "some words that were said", "_metadata": {"n": 1}}
        cases = {
            "ping": ("ping", {}),
            "no lists": ("hook", hook("filter_tools", {"config": {}, "tools": []})),
            "request, 4 items": ("hook", hook("initialize_request", {"native_messages": {"$list": {"skip": 9, "items": [item] * 4}}, "state": state})),
            f"request, {length} kept": ("hook", hook("initialize_request", {"native_messages": {"$list": {"slot": 1, "keep": length, "items": []}}, "state": state})),
            f"append to {length} kept": ("hook", hook("finalize", {"native_messages": {"$list": {"slot": 1, "keep": length, "items": []}}, "final_messages": [], "state": state})),
            "async": ("hook", hook("get_template", {"config": {}})),
        }  # fmt: skip
        taken: list[float] = []
        ask("initialize", {"protocol": 1, "package": "idle"})
        fill = {"native_messages": {"$list": {"slot": 1, "keep": 0, "items": [item] * length}}, "state": state}
        ask("hook", hook("initialize_request", fill))
        for name, (method, params) in cases.items():
            taken.clear()
            for number in range(rounds):
                ask(method, params, number)
            taken.sort()
            print(f"{name:24} median {taken[rounds // 2]:.3f} ms  p99 {taken[rounds * 99 // 100]:.3f} ms")
        host.stdin.close()
        host.wait(5)


if __name__ == "__main__":
    main()

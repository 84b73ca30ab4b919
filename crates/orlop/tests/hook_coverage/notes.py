"""Plugins of every kind with every hook. Each call is noted in a file; what they say is in ``scene.json``."""

import json
import os
import pathlib
import time

import orlop

DATA = pathlib.Path(os.environ["PLUGIN_DATA"])
SCENE = json.loads((pathlib.Path(__file__).parent / "scene.json").read_text())


def note(kind, hook, values):
    context = orlop.current().context
    state, request = values.get("state") or {}, values.get("request") or {}
    config = state.get("config") if isinstance(state, dict) else None
    config = config or values.get("config") or context.get("config") or {}
    agent = request.get("agent_id") if kind == "host" else config.get("model")
    told = [kind, hook, context.get("lifecycle"), agent, context.get("request_id")]
    with open(DATA / "notes", "a") as file:
        file.write("\t".join(str(it or "-") for it in told) + "\n")


def reply(native_messages):
    last = native_messages[-1]
    if last["role"] == "user" and "$broken" in str(last["content"]):
        raise orlop.Error("the model is at sea", "provider")
    if last["role"] == "user" and "$crash" in str(last["content"]):
        os._exit(7)
    word = next((word for word in SCENE["replies"] if word in str(last["content"])), None)
    if last["role"] != "user" or word is None:
        return {"role": "assistant", "content": "done"}
    if word == "$overflow" and not (DATA / "overflow").exists():
        (DATA / "overflow").touch()
        raise orlop.Error("too long", "provider", context_overflow=True)
    return {"role": "assistant", "content": "", "calls": SCENE["replies"][word]}


def to_native(message):
    metadata = message.get("metadata") or {}
    item = {"role": message["role"], "content": message["content"]}
    return {**item, "calls": metadata.get("tool_calls"), "answers": metadata.get("tool_call_id")}


def from_native(position, item):
    metadata = {"tool_calls": item.get("calls"), "tool_call_id": item.get("answers")}
    metadata = {key: value for key, value in metadata.items() if value}
    return {"role": item["role"], "content": item["content"], "metadata": {**metadata, "native_indices": [position]}}


def stream_api(native_messages, cancellation, **_):
    yield "done"
    if "$wait" in str(native_messages[-1]["content"]):
        while not (DATA / "release").exists() and not cancellation.cancelled:
            time.sleep(0.01)
    yield {"final_messages": [reply(native_messages)]}


def stream_tool(**_):
    yield "half"
    yield {"success": True, "output": "flowed"}


def execute_tool(payload, **_):
    return {"success": False, "error": "it failed"} if payload.get("fail") else {"success": True, "output": "noted"}


OWN = {
    "to_native_messages": lambda messages, **_: [to_native(message) for message in messages],
    "from_native_messages": lambda native_messages, **_: [from_native(*it) for it in enumerate(native_messages)],
    "call_api": lambda native_messages, **_: [reply(native_messages)],
    "stream_api": stream_api,
    "execute_tool": execute_tool,
    "stream_tool": stream_tool,
}


def method(kind, hook, said):
    def call(self, **values):
        note(kind, hook, values)
        if hook in OWN and kind in ("provider", "tool"):
            return OWN[hook](**values)
        return said.get(hook)

    return call


for about in SCENE["plugins"]:
    kind, name = about["kind"], about["name"]
    methods = {hook: method(kind, hook, about["says"]) for hook in about["hooks"]}
    title = f"{name}_{kind}".title()
    globals()[title] = type(title, (), {"kind": kind, "name": name, "priority": 0, "__module__": __name__, **methods})

"""An application plugin that contributes something to every surface, for the tests of the page."""

DISPLAY = {"title": "Probe", "body": "**Bold** words.", "format": "markdown", "variant": "success"}


class ProbeApplicationPlugin:
    """Buttons, settings, badges and displays; nothing is stored."""

    name = "probe"
    version = "1.0.0"

    def __init__(self):
        self.runs = 0
        self.steps = 0

    def get_ui_elements(self, state, config=None, tags=None, models=None):
        session = {"session_id": "$session.session_id"}
        return [
            {"ui_type": "session_action", "id": "inline", "label": "Show inline", "order": 10, "action_id": "show",
             "fixed_params": {"presentation": "modal"}},
            {"ui_type": "session_action", "id": "ask", "label": "Ask first", "order": 5, "action_id": "add",
             "dialog": {"kind": "form", "title": "Two numbers", "inputs": [
                 {"name": "a", "type": "integer", "label": "First", "required": True},
                 {"name": "b", "type": "integer", "label": "Second", "default": 2},
                 {"name": "loud", "type": "boolean", "label": "Loud"},
                 {"name": "tone", "type": "string", "label": "Tone", "choices": ["short", "long"]}]}},
            {"ui_type": "session_action", "id": "within", "label": "Ask within bounds", "action_id": "within",
             "dialog": {"kind": "form", "title": "A berth", "inputs": [
                 {"name": "length", "type": "number", "label": "Length", "required": True, "minimum": 1, "maximum": 40},
                 {"name": "mail", "type": "string", "label": "Mail", "format": "email"},
                 {"name": "code", "type": "string", "label": "Code", "pattern": "^[A-Z]{2}\\d+$", "examples": ["AB12"]},
                 {"name": "broken", "type": "string", "label": "Broken", "pattern": "("},
                 {"name": "days", "type": "array", "label": "Days", "choices": ["Mon", "Tue", "Wed"], "minItems": 2}]}},
            {"ui_type": "session_action", "id": "confirm", "label": "Confirm", "order": 20, "action_id": "show",
             "dialog": {"kind": "form", "title": "Really?", "inputs": []}},
            {"ui_type": "session_action", "id": "fixed", "label": "Show what stays", "action_id": "fixed"},
            {"ui_type": "session_action", "id": "fail", "label": "Fail", "action_id": "fail"},
            {"ui_type": "message_action", "id": "banner", "label": "Show a banner", "action_id": "show",
             "fixed_params": {"presentation": "banner"}, "param_map": {"index": "$message.index", **session}},
            {"ui_type": "message_action", "id": "modal", "label": "Show a popup", "action_id": "show",
             "fixed_params": {"presentation": "modal"}, "param_map": {"index": "$message.index"}},
            {"ui_type": "message_action", "id": "any", "label": "Show anything", "action_id": "anything", "dialog": {
                "kind": "form", "title": "Show anything", "inputs": [
                    {"name": "variant", "type": "string", "label": "Variant", "required": True,
                     "choices": ["info", "success", "warning", "error", "mauve"]},
                    {"name": "presentation", "type": "string", "label": "Presentation", "required": True,
                     "choices": ["inline", "banner", "modal", "hologram"]}]}},
            {"ui_type": "session_action", "id": "step", "label": "One step", "action_id": "step", "param_map": session},
            {"ui_type": "session_list_action", "id": "list", "label": "Tidy up", "action_id": "show"},
            {"ui_type": "session_action", "id": "reload", "label": "Reload", "action_id": "tell", "param_map": session},
            {"ui_type": "session_action", "id": "leave", "label": "Leave", "action_id": "tell", "param_map": session,
             "fixed_params": {"deleted": True}},
            {"ui_type": "session_action", "id": "go", "label": "Go elsewhere", "action_id": "go", "dialog": {
                "kind": "form", "title": "Go elsewhere", "inputs": [{"name": "to", "type": "string", "label": "To"}]}},
            {"ui_type": "config", "key": "probe_level", "label": "Level", "type": "integer", "default": 1},
            {"ui_type": "gauge", "id": "gauge", "label": "A gauge"},
        ]

    def init(self, app_config):
        return {}

    def get_actions(self, state):
        return [
            {"id": "show", "label": "Show", "inputs": {}},
            {"id": "add", "label": "Add", "inputs": {"a": {"type": "integer", "required": True}, "b": {"type": "integer"}}},
            {"id": "within", "label": "Within", "inputs": {"length": {"type": "number", "required": True}}},
            {"id": "anything", "label": "Anything", "inputs": {"variant": {"type": "string"}, "presentation": {"type": "string"}}},
            {"id": "step", "label": "Step", "inputs": {"session_id": {"type": "string", "required": True}}},
            {"id": "fixed", "label": "Fixed", "inputs": {}},
            {"id": "tell", "label": "Tell", "inputs": {"session_id": {"type": "string", "required": True}}},
            {"id": "go", "label": "Go", "inputs": {"to": {"type": "string"}}},
            {"id": "again", "label": "Again", "inputs": {}},
            {"id": "fail", "label": "Fail", "inputs": {}},
            {"id": "crash", "label": "Crash", "inputs": {}},
            {"id": "badges", "label": "Badges", "inputs": {"session_ids": {"type": "array"}}, "trigger": "session_list"},
        ]

    def execute_action(self, app, action_id, params, context, state):
        if action_id == "badges":
            return {"session_summaries": {id: {"badge": "probed"} for id in params.get("session_ids", [])}}
        if action_id == "add":
            total = params["a"] + params.get("b", 0)
            return {"message": f"The sum is {total}.", "loud": params.get("loud")}
        if action_id == "within":
            return {"message": f"A berth of {params['length']} m on {' and '.join(params['days'])}."}
        if action_id == "fail":
            return {"status": "error", "error_type": "no_luck", "message": "It could not be done today."}
        if action_id == "crash":
            raise RuntimeError("the probe fell over")
        if action_id == "tell":
            ids = [params["session_id"]]
            if params.get("deleted"):
                return {"mutations": {"deleted_session_ids": ids}, "ui_effects": {"confetti": True}}
            return {"ui_effects": {"reload_session_ids": ids}, "message": "Told."}
        if action_id == "go" and "to" in params:
            return {"mutations": {"created_session_ids": [params["to"]]},
                    "ui_effects": {"navigate": {"screen": "session", "session_id": params["to"]}}}
        if action_id == "go":
            return {"ui_effects": {"navigate": {"screen": "sessions"}}}
        if action_id == "anything":
            return {"display": dict(DISPLAY, title=f"A {params['variant']}", **params)}
        if action_id == "step":
            self.steps += 1
            app.publish_event({"type": "probe_progress", "session_id": params["session_id"], "display": {
                "title": "At work", "body": f"{self.steps} of 3 done", "display_id": "work"}})
            return {}
        if action_id == "again":
            self.runs += 1
            return {"display": {"body": f"Run {self.runs}", "display_id": "runs"}}
        display = dict(DISPLAY, presentation=params.get("presentation", "inline"))
        if "index" in params:
            display["body"] = f"Message {params['index']}"
        if action_id == "fixed":
            display.update(dismissible=False, display_id="fixed", variant="warning", actions=[
                {"kind": "copy_text", "id": "copy", "label": "Copy it", "text": "copied words"},
                {"kind": "open_url", "id": "open", "label": "Open it", "url": "https://example.test/"},
                {"kind": "open_url", "id": "bad", "label": "Never shown", "url": "javascript:alert(1)"},
                {"kind": "run_action", "id": "again", "label": "Run it", "plugin": "probe", "action_id": "again",
                 "preserve_display": True},
            ])
        return {"display": display}

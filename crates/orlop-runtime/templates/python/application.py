"""An application plugin: works on all sessions. What it calls on `app` is granted in plugin.toml."""


class MyPlugin:
    name = "my_plugin"
    version = "0.1.0"

    def get_actions(self):
        return [{"id": "count_sessions", "label": "Count sessions"}]

    def execute_action(self, app, action_id):
        found = app.list_sessions(limit=100)["sessions"]
        return {"message": f"{len(found)} sessions"}

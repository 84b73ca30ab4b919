// An application plugin: works on all sessions. What it calls on `app` is granted in plugin.toml.
export class MyPlugin {
  name = "my_plugin";
  version = "0.1.0";

  getActions() {
    return [{ id: "count_sessions", label: "Count sessions" }];
  }

  async executeAction(app) {
    const { sessions } = await app.listSessions({ limit: 100 });
    return { message: `${sessions.length} sessions` };
  }
}

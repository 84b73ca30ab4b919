// An application plugin: works on all sessions. What it calls on `app` is granted in plugin.toml.
import { type ApplicationActionInput, ApplicationPlugin, type Call } from "orlop";

export class MyPlugin extends ApplicationPlugin {
  name = "my_plugin";
  version = "0.1.0";
  getActions() {
    return [{ id: "count_sessions", label: "Count sessions" }];
  }
  async executeAction(_: ApplicationActionInput, call: Call) {
    const { sessions } = await call.app!.listSessions({ limit: 100 });
    return { message: `${sessions.length} sessions` };
  }
}

// An application plugin: an action on a stored session, by hand or when a session is created.

import { ApplicationPlugin, type ApplicationActionInput, type ApplicationInitInput, type ApplicationUiInput, type Call, PluginError } from "orlop";

export class MyApplicationPlugin extends ApplicationPlugin {
  name = "my_app_plugin";
  version = "1.0.0";

  getConfigSchema() {
    return {
      enabled: { type: "boolean", default: true },
      max_iterations: { type: "integer", default: 10 },
    };
  }

  getUiElements({ config }: ApplicationUiInput) {
    if (config && config.my_app_plugin?.enabled === false) return [];
    return [{
      ui_type: "session_action",
      id: "my_action",
      label: "My Action",
      icon: "star",
      order: 50,
      action_id: "my_action",
      dialog: { kind: "form", title: "My Action", inputs: [] },
    }];
  }

  init({ config }: ApplicationInitInput) {
    return { app_config: config };
  }

  getActions() {
    return [{
      id: "my_action",
      label: "My Action",
      description: "Perform an application-level action.",
      inputs: { session_id: { type: "string", required: true } },
      trigger: "session_create",
    }];
  }

  async executeAction({ action_id, params }: ApplicationActionInput, call: Call) {
    if (action_id !== "my_action") throw new PluginError("not_found", `there is no action ${action_id}`);
    const { app } = call;
    const id = params.session_id;
    if (!app || !id) throw new PluginError("bad_argument", "session_id is required");

    await app.withSessionLock(id, async () => {
      const loaded = await app.loadSession(id);
      if (!loaded) throw new PluginError("not_found", `there is no session ${id}`);
      loaded.session.metadata.my_action_runs = (loaded.session.metadata.my_action_runs ?? 0) + 1;
      await app.saveSession(loaded.session);
    });
    await app.publishEvent({ type: "my_action_complete", session_id: id });

    return {
      mutations: { updated_session_ids: [id] },
      ui_effects: { reload_session_ids: [id] },
      message: "Action completed successfully.",
    };
  }
}

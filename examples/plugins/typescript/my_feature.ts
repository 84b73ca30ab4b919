// A feature with settings, a tag, a look at what the model answered, and an action that shortens a stretch of history.

import { Feature, type ActionInput, type Call, type FinalizeInput, type InitInput, type Json, type NativeItem, type UiInput } from "orlop";

export class MyFeaturePlugin extends Feature {
  name = "my_feature";
  version = "1.0.0";
  priority = 100;

  getConfigSchema() {
    return {
      enabled: { type: "boolean", default: true },
      max_items: { type: "integer", default: 100 },
    };
  }

  getUiElements({ config }: UiInput) {
    if (!this.#isEnabled(config)) return [];
    return [{
      ui_type: "session_action",
      id: "summarize_range",
      label: "Summarize range",
      icon: "compress",
      order: 45,
      action_id: "summarize_range",
      dialog: {
        kind: "form",
        title: "Summarize range",
        inputs: [{ name: "start", type: "integer", label: "Start" }, { name: "end", type: "integer", label: "End" }],
      },
    }];
  }

  init({ config, state }: InitInput) {
    return { ...state, config };
  }

  getTags() {
    return ["my_feature_capable"];
  }

  requiredTags() {
    return [];
  }

  finalize({ final_messages, native_messages, state }: FinalizeInput) {
    return { final_messages, native_messages, state };
  }

  getActions() {
    return [{
      id: "summarize_range",
      label: "Summarize range",
      description: "Summarize a range of messages.",
      inputs: { start: { type: "integer", required: false }, end: { type: "integer", required: false } },
    }];
  }

  executeAction({ action_id, native_messages, params }: ActionInput, call: Call) {
    const failure = (type: string, message: string) => ({ native_messages, error: { type, message } });
    if (action_id !== "summarize_range") return failure("unknown_action", `Unknown action: ${action_id}`);
    if (!call.core) return failure("missing_core", "The context has no core");
    const config = call.context.base_config ?? call.context.config ?? {};
    if (!this.#isEnabled(config)) return failure("disabled", "Feature is not enabled.");
    return {
      native_messages: this.#summarized(native_messages, params.start, params.end),
      session_metadata: { last_summarization: new Date().toISOString() },
    };
  }

  #isEnabled(config: Json) {
    return config.my_feature?.enabled ?? true;
  }

  #summarized(items: NativeItem[], start = 0, end = items.length) {
    const summary = { role: "assistant", content: `(${end - start} messages were summarized)` };
    return [...items.slice(0, start), summary, ...items.slice(end)];
  }
}

// The hooks of every kind of plugin, by their names in the protocol. docs/reference/hooks.md says what they are for.

const COMMON = ["init", "get_tags", "is_enabled", "get_ui_elements"];
const CONVERSIONS = ["to_native_messages", "from_native_messages"];
const ACTIONS = ["get_actions", "execute_action"];

export const HOOKS = {
  provider: [...COMMON, "get_models", ...CONVERSIONS, "initialize_request", "call_api", "stream_api", "finalize", "cancel_request"],
  extension: [...COMMON, "process_chunk", ...CONVERSIONS, "initialize_request", "finalize", ...ACTIONS],
  feature: [
    ...COMMON, ...CONVERSIONS, "initialize_request", "finalize", ...ACTIONS,
    "filter_tools", "attachment_parts", "get_template", "get_completions", "apply_completion",
  ],
  tool: [
    ...COMMON, "get_tool_schemas", "prepare_tools", "execute_tool", "stream_tool",
    "format_tool_result", "to_display_format", "format_tool_call_preview",
  ],
  application: ["init", "get_ui_elements", ...ACTIONS],
  host: [
    "start", "stop", "on_request_start", "intercept_chat_request", "attachment_handler", "context_providers",
    "before_tool_call", "after_tool_call", "on_turn_persisted", "on_request_end",
  ],
};

export const KINDS = Object.keys(HOOKS);
export const STREAMS = new Set(["stream_api", "stream_tool"]);
export const EVERY_HOOK = new Set(Object.values(HOOKS).flat());

/** `initialize_request` as `initializeRequest`. */
export function camel(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

/** `initializeRequest` as `initialize_request`. */
export function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

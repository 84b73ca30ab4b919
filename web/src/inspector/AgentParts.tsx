//! What the agent is made of: its plugins in the order they run, its tools, and what they contribute.

import { plainLine } from "../actions/safe";
import { type JsonMap, isMap } from "../api/types";
import { useApp, usePage } from "../state/page";
import { useLoaded } from "../ui/useLoaded";

export function AgentParts() {
  const page = usePage();
  useApp((state) => state.conversation?.metadata.agent_id);
  const agentId = page.agentId();
  const elements = useApp((state) => state.elements);
  const { value: plugins, problem } = useLoaded(() => (agentId ? page.api.plugins(agentId) : null), [agentId]);
  const { value: tools } = useLoaded(() => (agentId ? page.api.tools(agentId) : null), [agentId]);
  if (problem) return <p role="alert">{problem}</p>;
  const contributed = (plugin: string) => elements.filter((element) => element.plugin === plugin).length;
  return (
    <>
      <h2>{agentId}</h2>
      {plugins &&
        (["providers", "extensions", "features", "tools"] as const).map(
          (kind) =>
            plugins[kind].length > 0 && (
              <section key={kind}>
                <h2>{KINDS[kind]}</h2>
                <ul className="chips">
                  {plugins[kind].map((name) => (
                    <li key={name}>
                      {name}
                      {contributed(name) > 0 && <small className="muted"> {contributed(name)} elements</small>}
                    </li>
                  ))}
                </ul>
              </section>
            ),
        )}
      {tools && tools.length > 0 && (
        <section>
          <h2>Tools the model may call</h2>
          <ul className="tool-list">
            {tools.map((tool, place) => (
              <li key={place}>
                <details>
                  <summary>
                    <strong>{nameOf(tool)}</strong> <span className="muted">{String(tool.plugin ?? "")}</span>
                  </summary>
                  <p>{describe(tool)}</p>
                  <pre tabIndex={0}>{JSON.stringify(tool.schema, null, 2)}</pre>
                </details>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

const KINDS = { providers: "Provider", extensions: "Extensions", features: "Features, in the order they run", tools: "Tool plugins" };

function schemaOf(tool: JsonMap): JsonMap {
  const schema = isMap(tool.schema) ? tool.schema : {};
  return isMap(schema.function) ? schema.function : schema;
}

function nameOf(tool: JsonMap): string {
  return plainLine(String(schemaOf(tool).name ?? "tool"));
}

function describe(tool: JsonMap): string {
  return plainLine(String(schemaOf(tool).description ?? ""));
}

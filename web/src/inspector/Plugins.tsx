//! The plugins of the server: what each is, how it is doing, what it may do, and what went wrong.

import { ChevronRight, CircleAlert, CircleCheck, CircleDashed, CircleOff } from "lucide-react";
import { useMemo, useState } from "react";
import { plainLine } from "../actions/safe";
import type { Plugin } from "../api/types";
import { usePage } from "../state/page";
import { duration, when } from "../ui/format";
import { download } from "../sessions/commands";
import { ExportButton } from "./ExportButton";
import { errorsOf, inOrder, secondsOf } from "./plugins";
import { useLoaded } from "../ui/useLoaded";

export function Plugins() {
  const page = usePage();
  const [asked, setAsked] = useState(0);
  const { value, problem } = useLoaded(() => page.api.allPlugins(), [asked]);
  const plugins = useMemo(() => inOrder(value ?? []), [value]);
  if (problem) return <p role="alert">{problem}</p>;
  if (!value) return <p className="muted">Loading.</p>;
  const most = Math.max(1e-6, ...plugins.map(secondsOf));
  return (
    <>
      <div className="row-between">
        <button type="button" className="link-button" onClick={() => setAsked(asked + 1)}>
          Look again
        </button>
        <ExportButton onExport={() => download("plugins.json", "application/json", JSON.stringify(value, null, 2))} />
      </div>
      <ul className="plugins">
        {plugins.map((plugin) => (
          <li key={plugin.name} data-state={plugin.state}>
            <PluginEntry plugin={plugin} most={most} />
          </li>
        ))}
      </ul>
    </>
  );
}

function PluginEntry({ plugin, most }: { plugin: Plugin; most: number }) {
  const { details } = plugin;
  const errors = errorsOf(plugin);
  const seconds = secondsOf(plugin);
  return (
    <details open={plugin.state === "failed" || undefined}>
      <summary>
        <ChevronRight aria-hidden className="chevron" />
        <StateIcon state={plugin.state} />
        <strong>{plainLine(plugin.name)}</strong>
        <span className="muted">{plugin.kinds.join(", ")}</span>
        {errors > 0 && <span className="bad">{errors === 1 ? "1 error" : `${errors} errors`}</span>}
        <span className="plugin-time">{seconds > 0 ? duration(seconds * 1_000) : ""}</span>
        {seconds > 0 && (
          <svg className="plugin-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden>
            <rect className="track" width="100" height="4" />
            <rect className="bar" width={Math.max(0.5, (seconds / most) * 100)} height="4" />
          </svg>
        )}
      </summary>
      <div className="plugin-body">
        <p className="muted">{[STATES[plugin.state] ?? plugin.state, SOURCES[plugin.source] ?? plugin.source, plugin.package && `package ${plugin.package}`, plugin.version && `version ${plugin.version}`].filter(Boolean).join(" · ")}</p>
        {details?.place && <p className="muted break">{plainLine(details.place)}</p>}
        {details?.problem && <p className="bad">{plainLine(details.problem)}</p>}
        {plugin.grants.length > 0 && (
          <>
            <h2>It may</h2>
            <ul className="grants">
              {plugin.grants.map((grant) => (
                <li key={grant}>{plainLine(grant)}</li>
              ))}
            </ul>
          </>
        )}
        {details && details.errors.length > 0 && (
          <>
            <h2>Last errors</h2>
            <ul className="plugin-errors">
              {details.errors.map((error, place) => (
                <li key={place}>
                  <span className="muted">{`${when(error.at)} · ${error.hook}`}</span>
                  <span className="break">{plainLine(error.message)}</span>
                </li>
              ))}
            </ul>
          </>
        )}
        {details && details.hooks.length > 0 && (
          <table className="numbers">
            <thead>
              <tr>
                <th scope="col">Hook</th>
                <th scope="col">Calls</th>
                <th scope="col">Errors</th>
                <th scope="col">Time</th>
              </tr>
            </thead>
            <tbody>
              {details.hooks.map((hook) => (
                <tr key={hook.hook}>
                  <th scope="row">{hook.hook}</th>
                  <td>{hook.calls}</td>
                  <td>{hook.errors}</td>
                  <td>{duration(hook.seconds * 1_000)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {!details && <p className="muted">Errors and times are told to administrators.</p>}
      </div>
    </details>
  );
}

const STATES: Record<string, string> = { not_started: "not started", running: "running", failed: "failed", disabled: "turned off" };
const SOURCES: Record<string, string> = { built_in: "built in", package: "from a package", mcp_server: "from an MCP server" };

function StateIcon({ state }: { state: string }) {
  switch (state) {
    case "failed":
      return <CircleAlert aria-label="failed" role="img" />;
    case "disabled":
      return <CircleOff aria-label="turned off" role="img" />;
    case "not_started":
      return <CircleDashed aria-label="not started" role="img" />;
    default:
      return <CircleCheck aria-label="running" role="img" />;
  }
}

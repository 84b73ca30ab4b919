//! Why an action or a tool of a plugin ran or did not: from the trace of a request, and from how the plugin
//! stands in the present configuration.

mod tools;

pub use tools::ToolWhy;

use crate::LeftOut;
use orlop_core::hooks::{HOOKS, Kind};
use orlop_core::types::nearest::nearest;
use orlop_core::{
    ActionDefinition, ActivePlugins, Config, Error, Manifest, Map, Result, Value, lifecycle,
};
use serde::Serialize;

/// What is known.
pub struct Evidence<'a> {
    /// The plugins there are, with their kinds.
    pub manifests: Vec<(&'static str, Manifest)>,
    /// Packages and plugins of packages that are not in use, and why.
    pub left_out: Vec<LeftOut>,
    /// The agent, and its settings.
    pub agent: &'a str,
    /// Its settings.
    pub config: &'a Config,
    /// The names of `hosts.plugins`, if it is set.
    pub hosts: Option<Vec<String>>,
    /// The plugins that take part for this agent.
    pub active: ActivePlugins,
    /// The tags in force.
    pub tags: Vec<String>,
    /// All actions that are offered.
    pub actions: Vec<ActionDefinition>,
    /// All tools that are offered: the plugin, and the tool.
    pub tools: Vec<(String, String)>,
    /// A request, and its trace.
    pub request: Option<(String, Vec<Map>)>,
}

/// Why a plugin did what it did.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The plugin.
    pub plugin: String,
    /// The agent.
    pub agent: String,
    /// The request.
    pub request: Option<String>,
    /// How it stands, once for each of its kinds.
    pub standing: Vec<Standing>,
    /// Its actions.
    pub actions: Vec<ActionWhy>,
    /// Its tools: those that ran in the request, or the one that was asked about.
    pub tools: Vec<ToolWhy>,
    /// The hooks that ran in the request: how often, and what they took together.
    pub hooks: Vec<HookRan>,
    /// What it was refused in the request because it was not granted.
    pub refused: Vec<String>,
}

/// How a plugin stands in the configuration.
#[derive(Debug, Clone, Serialize)]
pub struct Standing {
    /// What it is.
    pub kind: String,
    /// Whether it takes part.
    pub active: bool,
    /// Why, or why not.
    pub why: String,
}

/// Why an action ran or did not.
#[derive(Debug, Clone, Serialize)]
pub struct ActionWhy {
    /// The action.
    pub action: String,
    /// The lifecycles that trigger it.
    pub runs_at: Vec<String>,
    /// `ran`, `failed`, `timed_out`, `refused`, `did_not_run`, or `would_run` where no request was
    /// looked at.
    pub verdict: &'static str,
    /// Why.
    pub why: Vec<String>,
}

/// A hook in a request.
#[derive(Debug, Clone, Serialize)]
pub struct HookRan {
    /// The hook.
    pub hook: String,
    /// How often it ran.
    pub times: usize,
    /// How often it failed.
    pub failed: usize,
    /// What it took, in microseconds.
    pub took_us: u64,
    /// How it failed last, or why it did not run.
    pub error: Option<String>,
}

/// Explains a plugin, or one of its actions, tools or hooks.
pub fn explain(plugin: &str, about: Option<&str>, known: &Evidence<'_>) -> Result<Explanation> {
    let standing = known.standing(plugin);
    if standing.is_empty() {
        let names = known.manifests.iter().map(|(_, manifest)| manifest.name.as_str());
        let hint = nearest(plugin, names)
            .map_or_else(String::new, |name| format!("; did you mean \"{name}\"?"));
        return Err(Error::not_found(format!("there is no plugin \"{plugin}\"{hint}")));
    }
    let offered: Vec<&str> = known.offered_by(plugin).map(|held| held.id.as_str()).collect();
    let why = |action: &str| known.why(plugin, action, &standing);
    let why_tool = |tool: &str| known.why_tool(plugin, tool, &standing);
    let mut hooks = known.hooks_of(plugin);
    let (mut actions, mut tools) = (Vec::new(), Vec::new());
    match about {
        None => {
            actions.extend(offered.iter().map(|id| why(id)));
            tools.extend(known.tools_that_ran(plugin).iter().map(|tool| why_tool(tool)));
        }
        Some(name) if offered.contains(&name) => actions.push(why(name)),
        Some(hook) if HOOKS.iter().any(|row| row.name == hook) => {
            hooks.retain(|ran| ran.hook == hook);
            if hooks.is_empty() {
                hooks.push(known.never_ran(plugin, hook));
            }
        }
        Some(name) if known.is_tool_of(plugin, name) => tools.push(why_tool(name)),
        Some(name) => actions.push(why(name)),
    }
    Ok(Explanation {
        plugin: plugin.to_owned(),
        agent: known.agent.to_owned(),
        request: known.request.as_ref().map(|(id, _)| id.clone()),
        standing,
        actions,
        tools,
        hooks,
        refused: known.refused(plugin),
    })
}

impl Evidence<'_> {
    fn trace(&self) -> &[Map] {
        self.request.as_ref().map(|(_, trace)| trace.as_slice()).unwrap_or_default()
    }

    /// The actions that a plugin offers.
    fn offered_by(&self, plugin: &str) -> impl Iterator<Item = &ActionDefinition> {
        self.actions.iter().filter(move |held| held.plugin.as_deref() == Some(plugin))
    }

    /// Every entry of a plugin, and of the package of that name if that is not in use.
    fn standing(&self, plugin: &str) -> Vec<Standing> {
        let left_out = self.left_out.iter().filter(|left| left.name == plugin).map(|left| {
            Standing { kind: "package".to_owned(), active: false, why: left.reason.clone() }
        });
        let held = self.manifests.iter().filter(|(_, manifest)| manifest.name == plugin);
        let mut all: Vec<Standing> = left_out.collect();
        for (kind, manifest) in held {
            let judged = self.judge(kind, manifest);
            let (active, why) = match judged {
                Ok(why) => (true, why),
                Err(why) => (false, why),
            };
            // An extension stands beside several providers.
            if all.iter().all(|held| held.kind != *kind) {
                all.push(Standing { kind: (*kind).to_owned(), active, why });
            }
        }
        all
    }

    /// Why a plugin takes part; why not as an error.
    fn judge(&self, kind: &str, manifest: &Manifest) -> std::result::Result<String, String> {
        let (name, agent) = (&manifest.name, self.agent);
        let on = |names: &[String]| names.contains(name);
        let active = match kind {
            "provider" if on(&self.active.providers) => true,
            "provider" => {
                let used = self.active.providers.join(", ");
                return Err(format!("agent \"{agent}\" uses the provider {used}"));
            }
            "extension" => on(&self.active.extensions),
            "feature" => on(&self.active.features),
            "tool" => on(&self.active.tools),
            "host" => {
                return match &self.hosts {
                    Some(hosts) if !hosts.contains(name) => {
                        Err("hosts.plugins of the configuration does not name it".to_owned())
                    }
                    _ => Ok("it stands around every request".to_owned()),
                };
            }
            _ => return Ok("it takes part in every session".to_owned()),
        };
        if active {
            return Ok(format!("it takes part for agent \"{agent}\""));
        }
        let section = self.config.get(name).and_then(|section| section.get("enabled"));
        if section.and_then(Value::as_bool) == Some(false) {
            return Err(format!("{name}.enabled = false switches it off for agent \"{agent}\""));
        }
        let tools = self.config.get("tools").and_then(Value::as_array);
        if let (Some(tools), "tool") = (tools, kind)
            && !tools.iter().any(|tool| tool.as_str() == Some(name))
        {
            return Err(format!("agents.{agent}.tools does not name it"));
        }
        let has = |tag: &&String| self.tags.contains(*tag);
        let missing: Vec<_> = manifest.required_tags.iter().filter(|tag| !has(tag)).collect();
        if let [first, ..] = missing.as_slice() {
            return Err(format!(
                "it requires the tag \"{first}\", which nothing gives here; tags in force: {}",
                in_words(&self.tags)
            ));
        }
        if let Some(tag) = manifest.forbidden_tags.iter().find(has) {
            return Err(format!("it does not go with the tag \"{tag}\", which is in force"));
        }
        if kind == "extension" && !self.active.providers.is_empty() {
            let used = self.active.providers.join(", ");
            return Err(format!(
                "it stands beside another provider than {used}, or its is_enabled said no"
            ));
        }
        Err("its is_enabled said no".to_owned())
    }

    fn why(&self, plugin: &str, action: &str, standing: &[Standing]) -> ActionWhy {
        let definition = self.offered_by(plugin).find(|held| held.id == action);
        let runs_at: Vec<String> = definition
            .map(|definition| definition.lifecycles().into_iter().map(str::to_owned).collect())
            .unwrap_or_default();
        let told = |verdict, why| ActionWhy {
            action: action.to_owned(),
            runs_at: runs_at.clone(),
            verdict,
            why,
        };
        let ran: Vec<&Map> = self
            .trace()
            .iter()
            .filter(|entry| is(entry, "plugin", plugin) && is(entry, "action", action))
            .collect();
        if let Some(last) = ran.last() {
            let verdict = match text(last, "outcome") {
                "ok" => "ran",
                _ if last.get("timed_out") == Some(&Value::Bool(true)) => "timed_out",
                _ => "failed",
            };
            let each = ran.iter().map(|entry| in_one_line(&self.occasion(entry), entry));
            return told(verdict, each.collect());
        }
        let refusals = self.refusals_of(plugin, action);
        if !refusals.is_empty() {
            return told("refused", refusals);
        }
        if standing.iter().all(|standing| !standing.active) {
            let why = standing.iter().map(|standing| standing.why.clone()).collect();
            return told("did_not_run", why);
        }
        if let Some(definition) = definition {
            return self.not_run(definition, plugin, told);
        }
        let mut why = self.failures_of(plugin, "get_actions");
        if why.is_empty() {
            let names: Vec<String> = self.offered_by(plugin).map(|held| held.id.clone()).collect();
            let tools = self.tools_in_words(plugin);
            let tools = tools.map_or_else(String::new, |tools| format!("; its tools are: {tools}"));
            let hint = nearest(action, names.iter().map(String::as_str))
                .map_or_else(String::new, |name| format!("; did you mean \"{name}\"?"));
            why.push(format!(
                "the plugin offers no action \"{action}\"; it offers: {}{tools}{hint}",
                in_words(&names)
            ));
        }
        told("did_not_run", why)
    }

    /// Why an action that is offered did not run.
    fn not_run(
        &self,
        definition: &ActionDefinition,
        plugin: &str,
        told: impl Fn(&'static str, Vec<String>) -> ActionWhy,
    ) -> ActionWhy {
        let id = &definition.id;
        let lifecycles = definition.lifecycles();
        if lifecycles.is_empty() {
            let why = match &definition.trigger {
                Some(trigger) => format!(
                    "its trigger {trigger} is neither the name of a lifecycle nor a list of names"
                ),
                None => {
                    // What was run outside of requests is in no trace.
                    let here = match self.request {
                        Some(_) => "; in that request nobody ran it",
                        None => "",
                    };
                    format!(
                        "it has no trigger: it runs by hand only, `orlop action run {plugin} {id}`{here}"
                    )
                }
            };
            return told("did_not_run", vec![why]);
        }
        let mut why = self.failures_of(plugin, "get_actions");
        let mut would_run = false;
        for name in lifecycles {
            let Some((_, meaning)) = lifecycle::STANDARD.iter().find(|(held, _)| *held == name)
            else {
                if self.happened(name) {
                    why.extend(self.stopped(name));
                    continue;
                }
                let known = lifecycle::STANDARD.iter().map(|(held, _)| *held);
                let hint = nearest(name, known)
                    .map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
                why.push(format!(
                    "its trigger \"{name}\" is no lifecycle that Orlop runs, and nobody ran it{hint}"
                ));
                continue;
            };
            if self.request.is_none() {
                would_run = true;
                why.push(format!("it runs at {name}: {}", meaning.trim()));
            } else if self.happened(name) {
                why.extend(self.stopped(name));
            } else {
                why.push(format!("{name} did not come in this request: {}", meaning.trim()));
            }
        }
        told(if would_run { "would_run" } else { "did_not_run" }, why)
    }

    /// Why an action did not run at a lifecycle that happened.
    fn stopped(&self, name: &str) -> Vec<String> {
        let failed = self.trace().iter().find(|entry| {
            is(entry, "lifecycle", name)
                && entry.contains_key("action")
                && is(entry, "outcome", "error")
        });
        vec![match failed {
            Some(entry) => format!(
                "{name} was stopped before its turn: {} {} failed ({})",
                text(entry, "plugin"),
                text(entry, "action"),
                text(entry, "change")
            ),
            None => format!(
                "{name} came, and the plugin was off then or had no such action for it; the plugin or the configuration has changed since"
            ),
        }]
    }

    fn happened(&self, name: &str) -> bool {
        self.trace().iter().any(|entry| {
            is(entry, "lifecycle", name)
                || (is(entry, "kind", "lifecycle") && is(entry, "detail", name))
        })
    }

    fn failures_of(&self, plugin: &str, hook: &str) -> Vec<String> {
        let failed = self.trace().iter().filter(|entry| {
            is(entry, "plugin", plugin) && is(entry, "hook", hook) && is(entry, "outcome", "error")
        });
        failed
            .map(|entry| format!("its {hook} failed: {}", text(entry, "change")))
            .take(1)
            .collect()
    }

    fn hooks_of(&self, plugin: &str) -> Vec<HookRan> {
        let mut hooks: Vec<HookRan> = Vec::new();
        for entry in self.trace().iter().filter(|entry| is(entry, "plugin", plugin)) {
            let hook = text(entry, "hook").to_owned();
            let place = hooks.iter().position(|held| held.hook == hook).unwrap_or_else(|| {
                hooks.push(HookRan { hook, times: 0, failed: 0, took_us: 0, error: None });
                hooks.len() - 1
            });
            let held = &mut hooks[place];
            held.times +=
                entry.get("calls").and_then(Value::as_u64).map_or(1, |calls| calls as usize);
            held.took_us += entry.get("duration_us").and_then(Value::as_u64).unwrap_or_default();
            if is(entry, "outcome", "error") {
                held.failed += 1;
                held.error = Some(text(entry, "change").to_owned());
            }
        }
        hooks
    }

    /// When or by whom an action was run. One that a model calls runs within the tool that it is.
    fn occasion(&self, ran: &Map) -> String {
        let began = span(ran);
        let called = |entry: &Map| {
            is(entry, "plugin", "actions")
                && is(entry, "hook", "execute_tool")
                && span(entry).contains(began.start())
        };
        match text(ran, "lifecycle") {
            "" if self.trace().iter().any(called) => "called by the model".to_owned(),
            "" => "by hand".to_owned(),
            name => format!("at {name}"),
        }
    }

    fn never_ran(&self, plugin: &str, hook: &str) -> HookRan {
        let of_kind = |held: Kind, kind: &str| match held {
            Kind::Any => !matches!(kind, "application" | "host"),
            held => held.as_str() == kind,
        };
        let mut held = self.manifests.iter().filter(|(_, manifest)| manifest.name == plugin);
        let has = held.any(|(kind, manifest)| {
            let mut rows = HOOKS.iter().filter(|row| row.name == hook && of_kind(row.kind, kind));
            rows.any(|row| manifest.hooks.contains(row.hook))
        });
        let why = match (has, &self.request) {
            (false, _) => "it has no such hook",
            (true, Some(_)) => "nothing asked for it in this request",
            (true, None) => "there has been no request yet",
        };
        let (hook, error) = (hook.to_owned(), Some(why.to_owned()));
        HookRan { hook, times: 0, failed: 0, took_us: 0, error }
    }

    /// Why an action was not run by hand, once for each reason.
    fn refusals_of(&self, plugin: &str, action: &str) -> Vec<String> {
        let refused = self.trace().iter().filter(|entry| is(entry, "kind", "action_refused"));
        let detail = refused.filter_map(|entry| entry.get("detail")?.as_object());
        let own = detail.filter(|it| is(it, "plugin", plugin) && is(it, "action", action));
        let mut reasons: Vec<String> =
            own.map(|detail| format!("by hand: {}", text(detail, "why"))).collect();
        reasons.dedup();
        reasons
    }

    fn refused(&self, plugin: &str) -> Vec<String> {
        let refused = self.trace().iter().filter(|entry| is(entry, "kind", "refused"));
        let detail = refused.filter_map(|entry| entry.get("detail")?.as_object());
        let own = detail.filter(|detail| is(detail, "plugin", plugin));
        own.map(|detail| text(detail, "operation").to_owned()).collect()
    }
}

fn text<'a>(entry: &'a Map, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is(entry: &Map, key: &str, value: &str) -> bool {
    entry.get(key).is_some_and(|held| held == value)
}

/// From when to when something ran.
fn span(entry: &Map) -> std::ops::RangeInclusive<u64> {
    let number = |key: &str| entry.get(key).and_then(Value::as_u64).unwrap_or_default();
    let start = number("start_us");
    start..=start + number("duration_us")
}

/// How long something took.
fn millis(entry: &Map) -> String {
    let micros = entry.get("duration_us").and_then(Value::as_u64).unwrap_or_default();
    format!("{}.{} ms", micros / 1000, micros % 1000 / 100)
}

fn in_words(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// One run of an action.
fn in_one_line(occasion: &str, entry: &Map) -> String {
    let took = millis(entry);
    let change = entry.get("change").unwrap_or(&Value::Null);
    let came = match (text(entry, "outcome"), change) {
        ("ok", Value::Null) => "changed nothing".to_owned(),
        ("ok", change) if change.get("error").is_some_and(|error| !error.is_null()) => {
            format!("reported an error: {}", change["error"])
        }
        ("ok", change) => format!("gave {change}"),
        (_, Value::String(error)) => format!("failed: {error}"),
        (_, error) => format!("failed: {error}"),
    };
    format!("{occasion}, {took}: {came}")
}

//! Why a tool of a plugin ran or did not.

use super::{Evidence, Standing, in_words, is, millis, span, text};
use orlop_core::{Map, Value};
use serde::Serialize;

/// Why a tool ran or did not.
#[derive(Debug, Clone, Serialize)]
pub struct ToolWhy {
    /// The tool.
    pub tool: String,
    /// `ran`, `failed` or `did_not_run`.
    pub verdict: &'static str,
    /// Why.
    pub why: Vec<String>,
}

impl Evidence<'_> {
    /// The tools of a plugin that ran in the request, once each.
    pub(super) fn tools_that_ran(&self, plugin: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for call in self.trace().iter().filter(|entry| is(entry, "kind", "tool_call")) {
            let name = name_of(call);
            if !names.iter().any(|held| held == name) && !self.calls_of(plugin, name).is_empty() {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Whether a plugin has a tool, now or in the request.
    pub(super) fn is_tool_of(&self, plugin: &str, tool: &str) -> bool {
        let offered = |held: &(String, String)| held.0 == plugin && held.1 == tool;
        self.tools.iter().any(offered) || !self.calls_of(plugin, tool).is_empty()
    }

    /// The names of the tools that a plugin offers, in words.
    pub(super) fn tools_in_words(&self, plugin: &str) -> Option<String> {
        let own = self.tools.iter().filter(|(holder, _)| holder == plugin);
        let names: Vec<String> = own.map(|(_, tool)| tool.clone()).collect();
        (!names.is_empty()).then(|| in_words(&names))
    }

    /// Why a tool ran or did not.
    pub(super) fn why_tool(&self, plugin: &str, tool: &str, standing: &[Standing]) -> ToolWhy {
        let calls = self.calls_of(plugin, tool);
        let told = |verdict, why| ToolWhy { tool: tool.to_owned(), verdict, why };
        if let Some((last, _)) = calls.last() {
            let verdict = if is(last, "outcome", "ok") { "ran" } else { "failed" };
            return told(verdict, calls.iter().map(|(call, ran)| in_one_line(call, ran)).collect());
        }
        if standing.iter().all(|standing| !standing.active) {
            let why = standing.iter().map(|standing| standing.why.clone()).collect();
            return told("did_not_run", why);
        }
        let why = match self.request {
            Some(_) => "no call of it ran: the model made none, or what it made was refused",
            None => "there has been no request yet",
        };
        told("did_not_run", vec![why.to_owned()])
    }

    /// The calls of a tool that a plugin ran, each with what is known of its hook. Where no plugin
    /// offers the tool any more, it was the one that worked meanwhile.
    fn calls_of(&self, plugin: &str, tool: &str) -> Vec<(&Map, &Map)> {
        let owner = self.tools.iter().find(|(_, held)| held == tool).map(|(holder, _)| holder);
        if owner.is_some_and(|owner| owner != plugin) {
            return Vec::new();
        }
        let trace = self.trace();
        let calls =
            trace.iter().filter(|entry| is(entry, "kind", "tool_call") && name_of(entry) == tool);
        let ran_in = |call: &Map| {
            trace.iter().find(|entry| {
                is(entry, "plugin", plugin)
                    && matches!(text(entry, "hook"), "execute_tool" | "stream_tool")
                    && span(call).contains(span(entry).start())
            })
        };
        calls.filter_map(|call| Some((call, ran_in(call)?))).collect()
    }
}

fn name_of(call: &Map) -> &str {
    let detail = call.get("detail").and_then(Value::as_object);
    detail.map_or("", |detail| text(detail, "tool"))
}

/// One call.
fn in_one_line(call: &Map, ran: &Map) -> String {
    let took = millis(call);
    match (is(call, "outcome", "ok"), is(ran, "outcome", "ok")) {
        (true, _) => format!("called by the model, {took}"),
        (false, true) => format!("called by the model, {took}: it reported an error"),
        (false, false) => format!("called by the model, {took}: failed: {}", text(ran, "change")),
    }
}

//! The order of a decision: what denies, what asks, what allows, and then the mode.

use super::call::ToolCall;
use super::commands::CommandLine;
use super::places::{Place, Places, is_harmless_device, power_of};
use super::rule::{Access, Rule, host_of, is_plain_url};
use super::settings::{Mode, Policy};
use std::path::Path;

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    Allow,
    /// A person decides; the rules would allow it from then on.
    Ask {
        reason: String,
        offers: Vec<String>,
    },
    /// The model reads why.
    Deny(String),
}

impl Verdict {
    pub(crate) fn ask(reason: impl Into<String>) -> Self {
        Self::Ask { reason: reason.into(), offers: Vec::new() }
    }
}

/// A policy and the folders it is applied to.
pub(crate) struct Judge<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) places: Places<'a>,
}

impl Judge<'_> {
    /// Decides on a call.
    pub(crate) fn judge(&self, call: &ToolCall) -> Verdict {
        let refused = |rules: &[Rule]| {
            rules.iter().find(|rule| self.refuses(rule, call)).map(|rule| rule.text.clone())
        };
        if let Some(rule) = refused(&self.policy.deny) {
            return Verdict::Deny(format!("the rule {rule} denies it{}", self.instead()));
        }
        let asks = refused(&self.policy.ask).map(|rule| format!("the rule {rule} asks about it"));
        if call.command.is_some() {
            return CommandLine::new(self, call).judge(asks);
        }
        if let Some(reason) = asks {
            return Verdict::ask(reason);
        }
        match self.doubt(call) {
            None => Verdict::Allow,
            Some(doubt) if self.policy.mode == Mode::ReadOnly => {
                Verdict::Deny(format!("{doubt}{}", self.instead()))
            }
            Some(doubt) => Verdict::Ask { reason: doubt, offers: self.offers(call) },
        }
    }

    /// What the model may do in place of what was denied.
    pub(crate) fn instead(&self) -> &'static str {
        match self.policy.mode {
            Mode::ReadOnly => {
                "; the mode is read_only, in which files of the workspace can be read and searched, and nothing else"
            }
            _ => "; do it in another way, or tell the user what you would need",
        }
    }

    /// Whether a rule that refuses covers a call, as far as its words need not be looked into.
    fn refuses(&self, rule: &Rule, call: &ToolCall) -> bool {
        // What may not be read may not be changed either: the tools that edit show what is there.
        let edits = call.access == Some(Access::Edit);
        let is_about = rule.is_about(&call.name, call.access, true)
            || (edits && rule.is_about_paths(Access::Read));
        if !is_about {
            return false;
        }
        if rule.covers_all() {
            return true;
        }
        if call.command.is_some() {
            return false;
        }
        let root = self.places.workspace.root();
        match (&call.paths, &call.url) {
            (Some(paths), _) => paths.iter().any(|path| {
                let place = self.places.follow(root, path, false);
                let place = place.unwrap_or_else(|_| as_written(root, path));
                rule.covers_path(&place, &self.places, true)
            }),
            (None, Some(url)) => rule.covers_url(url, true),
            (None, None) => call.texts.iter().any(|text| rule.covers_text(text)),
        }
    }

    /// Why a call needs a decision; none if rules or the mode allow it.
    fn doubt(&self, call: &ToolCall) -> Option<String> {
        let rules: Vec<&Rule> = self
            .policy
            .allow
            .iter()
            .filter(|rule| rule.is_about(&call.name, call.access, false))
            .collect();
        let name = &call.name;
        if self.policy.mode == Mode::All {
            return None;
        }
        let is_covered = rules.iter().any(|rule| rule.covers_all());
        // A rule for all calls does not reach files that give power; they have to be named.
        if is_covered && call.access != Some(Access::Edit) {
            return None;
        }
        if let Some(unclear) = &call.unclear {
            return Some(format!("{name}: {unclear}"));
        }
        match call.access {
            Some(Access::None) => None,
            Some(access @ (Access::Read | Access::Edit)) => {
                let Some(paths) = &call.paths else {
                    return match (access, is_covered) {
                        (Access::Read, _) | (_, true) => None,
                        _ => {
                            Some(format!("{name} changes something, and does not say which files"))
                        }
                    };
                };
                if paths.is_empty() && access == Access::Edit && !is_covered {
                    return Some(format!("{name} does not say which file it changes"));
                }
                paths.iter().find_map(|path| self.path_doubt(name, path, access, &rules))
            }
            Some(Access::Network) => {
                let url = call.url.as_deref().unwrap_or_default();
                match rules.iter().any(|rule| rule.covers_url(url, false)) {
                    true => None,
                    false if url.is_empty() => Some(format!("{name} reaches other machines")),
                    false => Some(format!("{name} wants to reach {}", host_of(url))),
                }
            }
            Some(Access::Run) => Some(format!("{name} runs programs, and does not say which")),
            None => Some(format!("it is not known what {name} does")),
        }
    }

    fn path_doubt(
        &self,
        name: &str,
        path: &str,
        access: Access,
        rules: &[&Rule],
    ) -> Option<String> {
        let place = match self.places.follow(self.places.workspace.root(), path, false) {
            Ok(place) => place,
            Err(why) => return Some(format!("{name}: {why}")),
        };
        self.place_doubt(&place, access, rules).map(|doubt| format!("{name}: {doubt}"))
    }

    /// Why a place needs a decision, given the rules that could allow it.
    pub(crate) fn place_doubt(
        &self,
        place: &Place,
        access: Access,
        rules: &[&Rule],
    ) -> Option<String> {
        let power = match access {
            Access::Edit => power_of(self.places.workspace, place),
            _ => None,
        };
        let covers = |rule: &&Rule| {
            rule.covers_path(place, &self.places, false)
                && power.as_ref().is_none_or(|part| rule.names(part))
        };
        if is_harmless_device(&place.lexical.to_string_lossy()) || rules.iter().any(covers) {
            return None;
        }
        let shown = self.places.workspace.display(&place.real);
        if !place.inside {
            return Some(format!("{shown} is outside of the workspace"));
        }
        match access {
            Access::Edit => match power {
                Some(_) => Some(format!("{shown} has a say in what programs or agents do")),
                None if self.policy.mode == Mode::AcceptEdits => None,
                None => Some(format!("it changes {shown}")),
            },
            _ => None,
        }
    }

    /// Rules that would cover exactly what is asked about.
    fn offers(&self, call: &ToolCall) -> Vec<String> {
        let is_plain = |text: &str| {
            !text.is_empty() && !text.chars().any(|c| c.is_control() || "*?[]()".contains(c))
        };
        if call.unclear.is_some() || !is_plain(&call.name) {
            return Vec::new();
        }
        let name = &call.name;
        let offers = match (&call.paths, &call.url) {
            (Some(paths), _) => {
                let root = self.places.workspace.root();
                let mut offers = Vec::new();
                for path in paths {
                    let Ok(place) = self.places.follow(root, path, false) else {
                        return Vec::new();
                    };
                    let shown = self.places.workspace.display(&place.real);
                    let gives_power = power_of(self.places.workspace, &place).is_some();
                    if !is_plain(&shown) || (gives_power && call.access == Some(Access::Edit)) {
                        return Vec::new();
                    }
                    // A name alone would stand for files of that name everywhere.
                    let shown = if shown.contains('/') { shown } else { format!("./{shown}") };
                    offers.push(format!("{name}({shown})"));
                }
                offers
            }
            (None, Some(url)) if is_plain_url(url) => {
                vec![format!("{name}(domain:{})", host_of(url))]
            }
            (None, Some(_)) => Vec::new(),
            (None, None) => vec![name.clone()],
        };
        if offers.len() > 5 { Vec::new() } else { offers }
    }
}

/// A place that cannot be followed, for rules that deny.
fn as_written(root: &Path, path: &str) -> Place {
    let lexical = super::places::normal(&root.join(path.replace('\0', "")));
    Place { real: lexical.clone(), lexical, inside: false }
}

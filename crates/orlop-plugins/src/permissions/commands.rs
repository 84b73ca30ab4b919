//! Decisions on command lines: every command in them has to be allowed, whatever runs it.

use super::call::ToolCall;
use super::command::effect::effect;
use super::command::parse::parse;
use super::command::runs::{Inner, Itself, base_name, runs};
use super::command::script::{Assignment, Script, Simple, Word};
use super::command::variables::is_harmless;
use super::judge::{Judge, Verdict};
use super::offers;
use super::rule::{Access, Covers, Rule};
use super::settings::Mode;
use std::path::PathBuf;

/// How deep commands inside of commands are looked into.
const MAX_DEPTH: usize = 8;
/// How many folders a line may work in.
const MAX_FOLDERS: usize = 8;

/// A part of the line that nothing allows.
struct Blocked {
    reason: String,
    /// The rule that would allow it.
    offer: Option<String>,
}

/// One command line under judgement.
pub(super) struct CommandLine<'a> {
    judge: &'a Judge<'a>,
    call: &'a ToolCall,
    /// Folders that relative paths may be taken from, at the point that was reached.
    folders: Vec<PathBuf>,
    has_moved: bool,
    repeats: bool,
    /// How many changes of the folder were followed.
    followed: usize,
}

impl<'a> CommandLine<'a> {
    pub(super) fn new(judge: &'a Judge<'a>, call: &'a ToolCall) -> Self {
        let root = judge.places.workspace.root().to_owned();
        Self { judge, call, folders: vec![root], has_moved: false, repeats: false, followed: 0 }
    }

    /// Decides; `asks` is the reason of a rule that asks about every call of the tool.
    pub(super) fn judge(mut self, asks: Option<String>) -> Verdict {
        let command = self.call.command.as_deref().unwrap_or_default();
        let script = parse(command, self.judge.places.home, 0);
        if let Some(folder) = self.call.folder.as_deref().filter(|folder| !folder.is_empty()) {
            if let Err(why) = self.go(folder, false) {
                return self.undecided(&script, asks, vec![Blocked { reason: why, offer: None }]);
            }
            // It begins there, and never was in the working folder.
            if self.has_moved {
                self.folders.remove(0);
            }
        }
        let mut blocked = Vec::new();
        match (&self.call.unclear, script.unclear) {
            (Some(why), _) => blocked.push(Blocked { reason: why.clone(), offer: None }),
            (None, Some(why)) => blocked.push(Blocked { reason: why.to_owned(), offer: None }),
            (None, None) => {}
        }
        self.repeats = script.repeats;
        for simple in &script.commands {
            if let Err(part) = self.allowed(simple, 0) {
                blocked.push(part);
            }
        }
        self.undecided(&script, asks, blocked)
    }

    /// The decision on a line that no rule denies for sure.
    fn undecided(&self, script: &Script, asks: Option<String>, blocked: Vec<Blocked>) -> Verdict {
        let policy = self.judge.policy;
        let all = flat(script, self.judge.places.home, 0);
        match self.refused(&policy.deny, script, &all) {
            (Covers::Yes, Some(rule)) => {
                let instead = self.judge.instead();
                return Verdict::Deny(format!("the rule {rule} denies a part of it{instead}"));
            }
            (Covers::Maybe, Some(rule)) => {
                return Verdict::ask(format!(
                    "it cannot be told whether the rule {rule} denies it"
                ));
            }
            _ => {}
        }
        let asks = asks.or_else(|| match self.refused(&policy.ask, script, &all) {
            (Covers::No, _) => None,
            (_, rule) => rule.map(|rule| format!("the rule {rule} asks about it")),
        });
        if let Some(reason) = asks {
            return Verdict::ask(reason);
        }
        let is_covered = self.allowing().iter().any(|rule| rule.covers_all());
        if blocked.is_empty() || policy.mode == Mode::All || is_covered {
            return Verdict::Allow;
        }
        let reason =
            blocked.iter().take(3).map(|part| &*part.reason).collect::<Vec<_>>().join("; ");
        if policy.mode == Mode::ReadOnly {
            return Verdict::Deny(format!("{reason}{}", self.judge.instead()));
        }
        let offers: Option<Vec<String>> = blocked.into_iter().map(|part| part.offer).collect();
        let mut offers = offers.filter(|offers| offers.len() <= 5).unwrap_or_default();
        offers.sort();
        offers.dedup();
        Verdict::Ask { reason, offers }
    }

    fn allowing(&self) -> Vec<&'a Rule> {
        let (name, access) = (&self.call.name, self.call.access);
        self.judge.policy.allow.iter().filter(|rule| rule.is_about(name, access, false)).collect()
    }

    /// Whether a simple command may run, with everything it runs.
    fn allowed(&mut self, simple: &Simple, depth: usize) -> Result<(), Blocked> {
        let block = |reason: String| Blocked { reason, offer: None };
        for redirect in &simple.redirects {
            let access = if redirect.writes { Access::Edit } else { Access::Read };
            self.path_allowed(&redirect.target, access)
                .map_err(|why| block(format!("a redirection: {why}")))?;
        }
        let is_risky = |set: &&Assignment| {
            !set.value.fixed().is_some_and(|value| is_harmless(&set.name, value))
        };
        let risky: Vec<&Assignment> = simple.assignments.iter().filter(is_risky).collect();
        if simple.words.is_empty() {
            return match simple.assignments.first() {
                None => Ok(()),
                Some(set) => Err(block(format!("it sets the variable {}", set.name))),
            };
        }
        let runs = runs(&simple.words);
        let assigned = risky.iter().map(|set| set.as_word());
        let whole: Vec<Word> = assigned.chain(simple.words.iter().cloned()).collect();
        let shift = whole.len() - simple.words.len();
        let code_at = runs.code_at.map(|at| at + shift);
        if self.allowing().iter().any(|rule| rule.allows_command(&whole, code_at)) {
            return Ok(());
        }
        let shown = short(&simple.shown());
        if let Some(Assignment { name, .. }) = risky.first() {
            return Err(block(format!(
                "`{shown}`: it sets {name}, which may change what programs do"
            )));
        }
        if depth >= MAX_DEPTH {
            return Err(block("it is nested too deeply".to_owned()));
        }
        let offer = || offers::for_command(&self.call.name, &whole, &runs);
        if let Itself::Opaque(why) = &runs.itself {
            return Err(Blocked { reason: format!("`{shown}`: {why}"), offer: offer() });
        }
        for inner in &runs.inner {
            self.inner_allowed(inner, depth + 1)?;
        }
        if runs.itself == Itself::Through {
            return Ok(());
        }
        let effect = effect(&simple.words)
            .map_err(|why| Blocked { reason: format!("`{shown}`: {why}"), offer: offer() })?;
        if effect.needs_root && self.has_moved {
            let why =
                "in another folder than the working folder, git may run what that folder says";
            return Err(block(format!("`{shown}`: {why}")));
        }
        let told = |why: String| block(format!("`{shown}`: {why}"));
        for word in &effect.reads {
            self.path_allowed(word, Access::Read).map_err(told)?;
        }
        for word in &effect.writes {
            self.path_allowed(word, Access::Edit).map_err(told)?;
        }
        match &effect.goes_to {
            Some(folder) => {
                self.go(&folder.text, folder.tilde).map_err(told)?;
                self.followed += 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn inner_allowed(&mut self, inner: &Inner, depth: usize) -> Result<(), Blocked> {
        match inner {
            Inner::Words(words) => self.allowed(&Simple::of(words.clone()), depth),
            Inner::Code(code) => {
                let script = parse(code, self.judge.places.home, depth);
                if let Some(why) = script.unclear {
                    return Err(Blocked { reason: why.to_owned(), offer: None });
                }
                self.repeats |= script.repeats;
                script.commands.iter().try_for_each(|simple| self.allowed(simple, depth))
            }
        }
    }

    /// Whether a word may be read from or written to as a path, from wherever the line may be.
    fn path_allowed(&self, word: &Word, access: Access) -> Result<(), String> {
        if word.pipe {
            return Ok(());
        }
        if !word.known || (word.glob && access == Access::Edit) {
            return Err("it is only known when it runs which file it is about".to_owned());
        }
        let rules: Vec<&Rule> =
            self.judge.policy.allow.iter().filter(|rule| rule.is_about_paths(access)).collect();
        for folder in &self.folders {
            let places = match word.glob {
                true => self.judge.places.expand(folder, &word.text, word.tilde)?,
                false => vec![self.judge.places.follow(folder, &word.text, word.tilde)?],
            };
            let doubt =
                places.iter().find_map(|place| self.judge.place_doubt(place, access, &rules));
            if let Some(doubt) = doubt {
                return Err(doubt);
            }
        }
        Ok(())
    }

    /// Goes to a folder. Where control flow is not followed, the line may still be in any folder
    /// it has been in.
    fn go(&mut self, folder: &str, tilde: bool) -> Result<(), String> {
        if self.repeats {
            return Err("it may change the folder more than once".to_owned());
        }
        // After a link, `..` leads elsewhere for the shell than for the system.
        if self.has_moved && folder.split('/').any(|step| step == "..") {
            return Err("it goes upwards from a folder it went to".to_owned());
        }
        let workspace = self.judge.places.workspace;
        let mut reached = Vec::new();
        for from in &self.folders {
            let place = self.judge.places.follow(from, folder, tilde)?;
            if !place.inside || !workspace.contains(&place.lexical) {
                return Err(format!("{} is outside of the workspace", place.lexical.display()));
            }
            reached.extend([place.real, place.lexical]);
        }
        for place in reached {
            if !self.folders.contains(&place) {
                self.folders.push(place);
                self.has_moved = true;
            }
        }
        match self.folders.len() > MAX_FOLDERS {
            true => Err("it works in too many folders".to_owned()),
            false => Ok(()),
        }
    }

    /// The strongest that these rules say of a line, and the rule that says it.
    /// `all` is the line with the commands inside of its commands.
    fn refused(&self, rules: &[Rule], script: &Script, all: &[Simple]) -> (Covers, Option<String>) {
        let (name, access) = (&self.call.name, self.call.access);
        let mut strongest = (Covers::No, None);
        for rule in rules {
            let covers = if rule.is_about(name, access, true) && !rule.covers_all() {
                script_refused(rule, script, 0)
            } else if rule.is_about_paths(Access::Read) || rule.is_about_paths(Access::Edit) {
                self.paths_refused(rule, script, all)
            } else {
                continue;
            };
            if covers > strongest.0 {
                strongest = (covers, Some(rule.text.clone()));
            }
        }
        strongest
    }

    /// Whether any word of the line leads to a place that a rule refuses.
    fn paths_refused(&self, rule: &Rule, script: &Script, all: &[Simple]) -> Covers {
        let goes = |simple: &&Simple| {
            let program = simple.words.first().map(|word| base_name(&word.text));
            matches!(program, Some("cd" | "chdir" | "pushd" | "popd"))
        };
        // From a folder that is not known, nobody knows where relative paths lead.
        let is_lost = all.iter().filter(goes).count() > self.followed;
        let mut strongest = match script.unclear.is_some() || is_lost {
            true => Covers::Maybe,
            false => Covers::No,
        };
        for simple in all {
            for word in touched(simple, rule.is_about_paths(Access::Edit)) {
                strongest = strongest.max(self.word_refused(rule, &word));
            }
        }
        strongest
    }

    fn word_refused(&self, rule: &Rule, word: &Word) -> Covers {
        if word.pipe {
            return Covers::No;
        }
        if !word.known {
            return Covers::Maybe;
        }
        let after = word.text.split_once('=').map(|(_, value)| value);
        let behind = word.text.get(2..).filter(|_| word.text.starts_with('-'));
        let places = &self.judge.places;
        for text in
            [Some(&*word.text), after, behind].into_iter().flatten().filter(|it| !it.is_empty())
        {
            let tilde = text.starts_with('~');
            for folder in &self.folders {
                let found = match word.glob {
                    true => places.expand(folder, text, tilde),
                    false => places.follow(folder, text, tilde).map(|place| vec![place]),
                };
                match found {
                    Ok(found) if found.iter().any(|it| rule.covers_path(it, places, true)) => {
                        return Covers::Yes;
                    }
                    Err(_) if word.glob => return Covers::Maybe,
                    _ => {}
                }
            }
        }
        Covers::No
    }
}

/// The words of a command that may be files it reads, or only those that it may change. What is
/// not known to be harmless may change everything it names.
fn touched(simple: &Simple, only_changed: bool) -> Vec<Word> {
    let redirects = simple.redirects.iter().filter(|redirect| redirect.writes || !only_changed);
    let mut touched: Vec<Word> = redirects.map(|redirect| redirect.target.clone()).collect();
    match only_changed {
        true if runs(&simple.words).itself == Itself::Through => {}
        true => match effect(&simple.words) {
            Ok(effect) => touched.extend(effect.writes),
            Err(_) => touched.extend(simple.words.iter().cloned()),
        },
        false => {
            touched.extend(simple.words.iter().cloned());
            touched.extend(simple.assignments.iter().map(|set| set.value.clone()));
        }
    }
    touched
}

/// The commands of a script and those inside of them.
fn flat(script: &Script, home: Option<&str>, depth: usize) -> Vec<Simple> {
    let mut all = Vec::new();
    for simple in &script.commands {
        all.push(simple.clone());
        if depth >= MAX_DEPTH {
            continue;
        }
        for inner in runs(&simple.words).inner {
            let script = match inner {
                Inner::Words(words) => {
                    Script { commands: vec![Simple::of(words)], ..Script::default() }
                }
                Inner::Code(code) => parse(&code, home, depth + 1),
            };
            all.extend(flat(&script, home, depth + 1));
        }
    }
    all
}

/// What a rule that refuses says of all commands of a script.
fn script_refused(rule: &Rule, script: &Script, depth: usize) -> Covers {
    let mut strongest = match script.unclear {
        Some(_) => Covers::Maybe,
        None => Covers::No,
    };
    for simple in &script.commands {
        strongest = strongest.max(words_refused(rule, &simple.words, depth));
        if !simple.assignments.is_empty() {
            let assigned = simple.assignments.iter().map(Assignment::as_word);
            let whole: Vec<Word> = assigned.chain(simple.words.iter().cloned()).collect();
            strongest = strongest.max(rule.refuses_command(&whole));
        }
    }
    strongest
}

fn words_refused(rule: &Rule, words: &[Word], depth: usize) -> Covers {
    let mut strongest = rule.refuses_command(words);
    if depth >= MAX_DEPTH {
        return strongest.max(Covers::Maybe);
    }
    for inner in runs(words).inner {
        let covers = match inner {
            Inner::Words(words) => words_refused(rule, &words, depth + 1),
            Inner::Code(code) => script_refused(rule, &parse(&code, None, depth + 1), depth + 1),
        };
        strongest = strongest.max(covers);
    }
    // Programs that run others are many: a word that may be such a program leaves a doubt.
    let program = rule.program().unwrap_or_default().to_lowercase();
    let is_doubtful = |word: &Word| {
        let text = word.text.to_lowercase();
        if super::glob::matches(&program, base_name(&text)) {
            return true;
        }
        text.contains(char::is_whitespace)
            && script_refused(rule, &parse(&word.text, None, depth + 1), depth + 1) == Covers::Yes
    };
    if strongest == Covers::No && words.iter().skip(1).take(64).any(is_doubtful) {
        strongest = Covers::Maybe;
    }
    strongest
}

/// A command as it is quoted in a reason.
pub(super) fn short(text: &str) -> String {
    let line = text.replace(['\n', '\t'], " ");
    match line.char_indices().nth(120) {
        Some((at, _)) => format!("{}\u{2026}", &line[..at]),
        None => line,
    }
}

//! The commands that no plugin brings: help, sessions, agents, models, settings, tools, titles, traces.

use super::catalogue::{Catalogue, Command, Run};
use super::reply::{Reply, table};
use super::stored;
use super::typed::words;
use crate::place::Place;
use orlop_app::config::{Origin, without_secrets};
use orlop_app::ui::plain_line;
use orlop_core::types::nearest::hint;
use orlop_core::{Error, Map, Result, Session, Value};
use serde_json::json;

/// How much of a long list is shown.
const MAX_LINES: usize = 60;
/// How wide a line of a list is, and how much of it a description gets at least, in characters.
const WIDTH: usize = 100;
const LEAST: usize = 30;
/// How long a title may be, in characters.
const MAX_TITLE: usize = 200;

/// A command of our own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Own {
    Help,
    New,
    Fork,
    Agent,
    Model,
    Tools,
    Title,
    Trace,
    Archive,
    Config,
    Copy,
    Export,
    Pin,
    Resume,
}

/// All of them.
pub(super) fn commands() -> Vec<Command> {
    vec![
        Command::own("help", "[COMMAND]", "Shows the commands there are", Own::Help),
        Command::own(
            "agent",
            "[NAME]",
            "Shows the agents, or gives the session another",
            Own::Agent,
        ),
        Command::own(
            "archive",
            "",
            "Puts the session away, or gets it back; it stays stored",
            Own::Archive,
        ),
        Command::own("clear", "", "Begins anew; the session so far stays stored", Own::New),
        Command::own(
            "config",
            "[KEY]",
            "Shows the settings in force and where they come from",
            Own::Config,
        ),
        Command::own(
            "copy",
            "[NUMBER|code|all]",
            "Copies the last answer, an earlier one, its code, or everything",
            Own::Copy,
        ),
        Command::own("export", "[markdown|json]", "Gives the conversation as a file", Own::Export),
        Command::own(
            "fork",
            "[INDEX]",
            "Goes on in a copy, up to a message or all of it",
            Own::Fork,
        ),
        Command::own(
            "model",
            "[NAME]",
            "Shows the models, or has the session use another",
            Own::Model,
        ),
        Command::own("new", "", "Begins another session", Own::New),
        Command::own("pin", "", "Has lists begin with the session, or no longer", Own::Pin),
        Command::own("rename", "[TEXT]", "The same as /title", Own::Title),
        Command::own(
            "resume",
            "[ID|TITLE]",
            "Shows the last sessions, or goes on with one",
            Own::Resume,
        ),
        Command::own("title", "[TEXT]", "Shows the title of the session, or sets it", Own::Title),
        Command::own("tools", "", "Shows the tools the agent has", Own::Tools),
        Command::own(
            "trace",
            "[REQUEST]",
            "Shows what plugins did in the last request",
            Own::Trace,
        ),
    ]
}

impl Own {
    pub(super) async fn run(self, place: &mut Place, all: &Catalogue, rest: &str) -> Result<Reply> {
        match self {
            Self::Help => help(all, rest),
            Self::New => new(place).await,
            Self::Fork => fork(place, rest).await,
            Self::Agent => agent(place, rest).await,
            Self::Model => model(place, rest).await,
            Self::Tools => tools(place).await,
            Self::Title => title(place, rest).await,
            Self::Trace => trace(place, rest).await,
            Self::Archive => stored::archive(place).await,
            Self::Config => config(place, rest),
            Self::Copy => stored::copy(place, rest),
            Self::Export => stored::export(place, rest).await,
            Self::Pin => stored::pin(place).await,
            Self::Resume => stored::resume(place, rest).await,
        }
    }
}

fn help(all: &Catalogue, rest: &str) -> Result<Reply> {
    if !rest.is_empty() {
        let name = rest.trim_start_matches('/');
        let command = all.find(name).ok_or_else(|| super::unknown(all, name))?;
        let of = match command.source.as_str() {
            "orlop" => String::new(),
            source => format!(" ({source})"),
        };
        return Ok(Reply::text(format!("`{}`{of}: {}", command.usage(), command.description)));
    }
    let line = |command: &Command| format!("- `{}`: {}", command.usage(), command.description);
    let part = |title: &str, wanted: &dyn Fn(&Command) -> bool| {
        let lines: Vec<String> = all.commands.iter().filter(|it| wanted(it)).map(line).collect();
        (!lines.is_empty()).then(|| format!("{title}\n{}", lines.join("\n")))
    };
    let parts = [
        part("Commands:", &|it| matches!(it.run, Run::Own(_) | Run::Short { .. })),
        part("Actions of plugins:", &|it| matches!(it.run, Run::Action(_)) && !all.has_short(it)),
        part("Of MCP servers and other plugins:", &|it| it.is_elsewhere()),
        part("From files:", &|it| matches!(it.run, Run::File(_))),
        (!all.problems.is_empty()).then(|| format!("Not used:\n- {}", all.problems.join("\n- "))),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    Ok(Reply::text(text).with("commands", json!(all.commands)))
}

async fn new(place: &Place) -> Result<Reply> {
    let session = place.make(None, &place.agent_id).await?;
    Ok(Reply::text(format!("A new session has begun: {}", session.id())).created(session.id()))
}

async fn fork(place: &Place, rest: &str) -> Result<Reply> {
    let id = stored_id(place)?;
    let upto = match rest {
        "" => None,
        number => Some(number.parse::<i64>().map_err(|_| {
            Error::bad_argument(format!(
                "\"{}\" is no number of a message; write for instance /fork 4, or /fork -3",
                plain_line(number)
            ))
        })?),
    };
    let fork = place.app.fork_session(id, upto, None).await?.session;
    let text = format!(
        "The session goes on as {}, with {} of its messages",
        fork.id(),
        fork.messages().len()
    );
    Ok(Reply::text(text).created(fork.id()))
}

async fn agent(place: &mut Place, rest: &str) -> Result<Reply> {
    let agents: Vec<String> = place.app.config().agents().into_iter().map(str::to_owned).collect();
    if rest.is_empty() {
        let lines = agents.iter().map(|id| {
            let config = place.app.agent(id).map(|(_, config)| config);
            let about = match &config {
                Ok(config) => {
                    let text = |key| config.text(key).unwrap_or("-").to_owned();
                    format!("{}, {}", text("provider"), text("model"))
                }
                Err(error) => format!("cannot be used: {}", error.message()),
            };
            format!("- `{id}`{}: {about}", if *id == place.agent_id { " (in use)" } else { "" })
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        return Ok(Reply::text(text).with("agents", json!(agents)));
    }
    if !agents.iter().any(|id| id == rest) {
        let known = hint(rest, agents.iter().map(String::as_str));
        return Err(Error::not_found(format!(
            "there is no agent \"{}\"; {known}",
            plain_line(rest)
        )));
    }
    // An agent that cannot be used is not switched to.
    place.app.agent(rest)?;
    match place.stored_id() {
        Some(id) => drop(place.app.switch_agent(id, rest).await?),
        None => {
            rest.clone_into(&mut place.agent_id);
            place.begin().await?;
        }
    }
    Ok(Reply::text(format!("The agent is now {rest}")).updated(&place.session_id))
}

async fn model(place: &mut Place, rest: &str) -> Result<Reply> {
    let (core, config) = place.agent()?;
    let current = config.text("model").unwrap_or("none").to_owned();
    let offered = core.fetch_models(&config).await;
    let names: Vec<String> = match &offered {
        Ok(models) => models
            .iter()
            .filter_map(|model| model.get("id").and_then(Value::as_str).map(str::to_owned))
            .collect(),
        Err(_) => Vec::new(),
    };
    if rest.is_empty() {
        let mut text = format!("The model is {current}.");
        match &offered {
            Err(error) => text.push_str(&format!(" Others could not be listed: {error}")),
            Ok(_) if names.is_empty() => text.push_str(" The server lists no others."),
            Ok(_) => {
                let shown = names.iter().take(MAX_LINES).map(|name| format!("- `{name}`"));
                text.push_str(" Offered are:\n");
                text.push_str(&shown.collect::<Vec<_>>().join("\n"));
                if names.len() > MAX_LINES {
                    text.push_str(&format!("\n- and {} more", names.len() - MAX_LINES));
                }
            }
        }
        return Ok(Reply::text(text).with("model", current.into()).with("models", json!(names)));
    }
    let (value, told) = match rest {
        "default" => (Value::Null, "The session uses the model of its agent again".to_owned()),
        name if names.is_empty() || names.iter().any(|held| held == name) => {
            (name.into(), format!("The model of this session is now {name}"))
        }
        name => {
            // Servers do not list all they have, so this is no error.
            let known = names.iter().map(String::as_str);
            let near = orlop_core::types::nearest::nearest(name, known);
            let near = near.map(|near| format!(" Did you mean {near}?")).unwrap_or_default();
            let told = format!(
                "The model of this session is now {}, which the server does not list.{near}",
                plain_line(name)
            );
            (name.into(), told)
        }
    };
    place.begin().await?;
    let overrides = Map::from_iter([("model".to_owned(), value)]);
    let patch = Map::from_iter([("overrides".to_owned(), Value::Object(overrides))]);
    place.app.patch_session(&place.session_id, patch).await?;
    Ok(Reply::text(told).updated(&place.session_id))
}

/// The settings of the agent, those of the session above them. Secrets are masked.
fn config(place: &Place, rest: &str) -> Result<Reply> {
    let shown = place.app.config().show(&place.app.plugins().schema());
    let prefix = format!("agents.{}.", place.agent_id);
    let own = place.session.as_ref().and_then(Session::overrides).cloned().unwrap_or_default();
    let mut own = Value::Object(own);
    without_secrets(&mut own);
    let own = own.as_object().into_iter().flatten();
    let mut values: Vec<(String, Value, String)> =
        own.map(|(key, value)| (key.clone(), value.clone(), "this session".to_owned())).collect();
    for value in shown.values {
        let Some(key) = value.key.strip_prefix(&prefix) else { continue };
        let is_set = !matches!(value.origin, Origin::Default);
        let is_told = values.iter().any(|(held, ..)| held == key);
        if !is_told && (is_set || !rest.is_empty()) {
            values.push((key.to_owned(), value.value, value.origin.to_string()));
        }
    }
    values
        .retain(|(key, ..)| rest.is_empty() || key == rest || key.starts_with(&format!("{rest}.")));
    if values.is_empty() && !rest.is_empty() {
        return Err(Error::not_found(format!(
            "no setting \"{}\" is in force here; /config shows those that are",
            plain_line(rest)
        )));
    }
    let line = |(key, value, origin): &(String, Value, String)| {
        plain_line(&format!("- `{key}` = {value} ({origin})"))
    };
    let text = values.iter().map(line).collect::<Vec<_>>().join("\n");
    let told = |(key, value, origin): &(String, Value, String)| json!({ "key": key, "value": value, "from": origin });
    let told: Vec<Value> = values.iter().map(told).collect();
    Ok(Reply::text(text).with("settings", told.into()))
}

async fn tools(place: &Place) -> Result<Reply> {
    let (core, config) = place.agent()?;
    let held = core.available_tools(&config).await?;
    let mut tools: Vec<_> = held.iter().collect();
    tools.sort_by(|a, b| (&a.plugin, a.name()).cmp(&(&b.plugin, b.name())));
    let lines = tools.iter().map(|tool| {
        let name = tool.name().unwrap_or_default();
        let about = tool.schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let about = about.lines().next().unwrap_or_default();
        let head = format!("- `{}` ({}): ", plain_line(name), tool.plugin);
        let room = WIDTH.saturating_sub(head.chars().count()).max(LEAST);
        head + &cut_at_word(&plain_line(about), room)
    });
    let text = match tools.is_empty() {
        true => "This agent has no tools".to_owned(),
        false => lines.collect::<Vec<_>>().join("\n"),
    };
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool.name()).collect();
    Ok(Reply::text(text).with("tools", json!(names)))
}

/// The words of a text that fit, and three dots if some do not.
fn cut_at_word(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let end = text.char_indices().nth(most.saturating_sub(3)).map_or(text.len(), |(at, _)| at);
    let kept = &text[..end];
    // A word that ends just there is whole; one that is longer than the line is cut all the same.
    let is_whole = text[end..].starts_with(char::is_whitespace);
    let kept = match kept.rfind(char::is_whitespace) {
        Some(space) if !is_whole => &kept[..space],
        _ => kept,
    };
    format!("{}...", kept.trim_end_matches(|c: char| c.is_whitespace() || ",;:".contains(c)))
}

async fn title(place: &mut Place, rest: &str) -> Result<Reply> {
    if rest.is_empty() {
        let id = stored_id(place)?;
        let head = place.app.store().head(place.app.scope(), id).await?;
        let title = head.and_then(|head| head.title);
        return Ok(Reply::text(title.unwrap_or_else(|| "This session has no title".to_owned())));
    }
    let title = match words(rest).as_slice() {
        [one] => one.text(),
        _ => rest.to_owned(),
    };
    let title: String = plain_line(&title).chars().take(MAX_TITLE).collect();
    if title.is_empty() {
        return Err(Error::bad_argument("the title is empty; write one behind /title"));
    }
    place.begin().await?;
    let patch = Map::from_iter([("title".to_owned(), title.clone().into())]);
    place.app.patch_session(&place.session_id, patch).await?;
    Ok(Reply::text(format!("The title is now \"{title}\"")).updated(&place.session_id))
}

async fn trace(place: &Place, rest: &str) -> Result<Reply> {
    let request = match rest {
        "" => {
            let id = stored_id(place)?;
            let turns = place.app.store().turns(place.app.scope(), Some(id), 1).await?;
            let last = turns.into_iter().next();
            last.map(|turn| turn.request).ok_or_else(|| {
                Error::not_found("there has been no request in this session yet; write a message")
            })?
        }
        given => given.to_owned(),
    };
    let entries = place.app.trace(&request).await?;
    let text_of = |entry: &Map, key: &str| match entry.get(key) {
        Some(Value::String(text)) => plain_line(text),
        _ => String::new(),
    };
    let millis = |entry: &Map, key: &str| {
        let micros = entry.get(key).and_then(Value::as_u64).unwrap_or_default();
        format!("{}.{:03}", micros / 1000, micros % 1000)
    };
    // What took longest says most; all of it is in `orlop trace`.
    let mut shown: Vec<&Map> = entries.iter().collect();
    let took = |entry: &&Map| entry.get("duration_us").and_then(Value::as_u64);
    shown.sort_by_key(|entry| std::cmp::Reverse(took(entry)));
    shown.truncate(MAX_LINES);
    shown.sort_by_key(|entry| entry.get("start_us").and_then(Value::as_u64));
    let rows: Vec<[String; 4]> = shown
        .into_iter()
        .map(|entry| {
            let what = text_of(entry, "hook");
            let what = if what.is_empty() { text_of(entry, "kind") } else { what };
            [
                millis(entry, "duration_us"),
                text_of(entry, "plugin"),
                what,
                text_of(entry, "outcome"),
            ]
        })
        .collect();
    let rest = entries.len() - rows.len();
    let mut text = format!(
        "Request {request}:\n```\n{}```",
        table(["TOOK MS", "PLUGIN", "WHAT", "OUTCOME"], &rows)
    );
    if rest > 0 {
        text.push_str(&format!(
            "\n{rest} that took less are left out; `orlop trace {request}` has all"
        ));
    }
    Ok(Reply::text(text).with("request_id", request.into()))
}

/// The id of the session; one that is not stored has nothing to work on.
pub(super) fn stored_id(place: &Place) -> Result<&str> {
    place
        .stored_id()
        .ok_or_else(|| Error::not_found("this session has not begun yet; write a message first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_words() {
        for (text, most, cut) in [
            ("reads a file", 12, "reads a file"),
            ("reads a file, or a part", 16, "reads a file..."),
            ("reads a file, or a part", 13, "reads a..."),
            ("reads a file", 10, "reads a..."),
            ("unbreakable", 8, "unbre..."),
            ("\u{e9}t\u{e9} \u{e9}t\u{e9} \u{e9}t\u{e9}", 10, "\u{e9}t\u{e9} \u{e9}t\u{e9}..."),
        ] {
            assert_eq!(cut_at_word(text, most), cut, "{text} {most}");
        }
    }
}

//! The host plugin `slash_commands`: a message that begins with `/` and a known word is a command,
//! and no model hears of it. Every action that people can run is one; Markdown files make others.

mod catalogue;
mod files;
mod own;
mod reply;
mod stored;
mod typed;

pub use catalogue::Command;

use crate::place::Place;
use catalogue::{Catalogue, Run, needs_session};
use orlop_app::Application;
use orlop_app::ui::plain_line;
use orlop_core::hooks::{
    ApplicationActionInput, ApplicationActionsInput, Hook, HookSet, InterceptInput, Interception,
    Rewrite,
};
use orlop_core::{
    ActionCall, ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Error,
    HostPlugin, Manifest, Map, Result, Value,
};
use reply::Reply;
use serde_json::json;
use typed::Typed;

const NAME: &str = "slash_commands";

/// Runs commands. As an application plugin it offers the action `list_commands`, with which
/// surfaces complete what is typed.
pub struct SlashCommands;

impl SlashCommands {
    /// Whether an application runs commands.
    pub fn is_used(app: &Application) -> bool {
        let plugins = app.plugins().manifests();
        let is_there = plugins.iter().any(|(kind, it)| *kind == "host" && it.name == NAME);
        let chosen = app.config().host_plugins().unwrap_or_default();
        is_there && (chosen.is_empty() || chosen.iter().any(|name| name == NAME))
    }

    /// The commands that can be typed in a session of an agent, whether or not it is stored.
    pub async fn list(
        app: &Application,
        session_id: Option<&str>,
        agent_id: &str,
    ) -> Result<Vec<Command>> {
        let place = Place::of(app.clone(), session_id.unwrap_or("new"), agent_id).await?;
        Ok(Catalogue::of(&place).await?.commands)
    }
}

impl HostPlugin for SlashCommands {
    fn manifest(&self) -> Manifest {
        // What was meant as a command must not reach a model because something failed.
        Manifest::host(NAME, "1.0.0").critical().only(HookSet::of(&[Hook::InterceptChatRequest]))
    }

    fn intercept_chat_request<'a>(
        &'a self,
        input: &'a InterceptInput,
        cx: &'a Context,
    ) -> Answer<'a, Option<Interception>> {
        match Typed::read(&input.text) {
            Some(typed) => Answer::later(intercept(typed, input, cx)),
            None => Answer::ok(None),
        }
    }
}

async fn intercept(
    typed: Typed<'_>,
    input: &InterceptInput,
    cx: &Context,
) -> Result<Option<Interception>> {
    let app = Application::of(cx)?;
    let mut place = Place::of(app, &input.request.session_id, &input.request.agent_id).await?;
    let all = Catalogue::of(&place).await?;
    let Some(command) = all.find(typed.name) else {
        // People paste paths, and ask about them.
        let is_path = std::path::Path::new("/").join(typed.name).exists();
        let reply = Reply::of_error(&unknown(&all, typed.name)).to_command(typed.name);
        return Ok((!is_path).then(|| reply.into()));
    };
    let ran = match &command.run {
        Run::File(file) => {
            let mut rewrite = Rewrite::text(file.message(typed.rest));
            rewrite.metadata.insert("command".to_owned(), input.text.clone().into());
            if let Some(model) = &file.model {
                rewrite.overrides.insert("model".to_owned(), model.clone().into());
            }
            return Ok(Some(rewrite.into()));
        }
        Run::Elsewhere => return Ok(None),
        Run::Own(own) => own.run(&mut place, &all, typed.rest).await,
        Run::Action(action) => run(&mut place, action, typed.rest, None, false).await,
        Run::Short { given: Some((action, main)), begins, .. } if !typed.rest.is_empty() => {
            run(&mut place, action, typed.rest, Some(main), *begins).await
        }
        Run::Short { bare, .. } => run(&mut place, bare, typed.rest, None, false).await,
    };
    // A failure is an answer, too.
    let reply = ran.unwrap_or_else(|error| Reply::of_error(&error));
    Ok(Some(reply.to_command(&command.name).into()))
}

/// Runs an action with what was typed as its inputs.
async fn run(
    place: &mut Place,
    action: &ActionDefinition,
    rest: &str,
    main: Option<&str>,
    begins: bool,
) -> Result<Reply> {
    let params = typed::params(action, rest, main)?;
    if needs_session(action) && !params.contains_key("session_id") {
        match begins {
            true => place.begin().await?,
            false => drop(own::stored_id(place)?),
        }
    }
    let plugin = action.plugin.clone().unwrap_or_default();
    let call = ActionCall { plugin, action: action.id.clone(), params };
    Ok(Reply::of_action(place.app.execute_action(call, place.stored_id()).await?))
}

fn unknown(all: &Catalogue, name: &str) -> Error {
    let name = plain_line(name);
    let near = all.nearest(&name).map(|near| format!(" did you mean /{near}?")).unwrap_or_default();
    Error::not_found(format!(
        "there is no command /{name};{near} /help shows those there are, and a space in front sends the text to the model"
    ))
}

impl ApplicationPlugin for SlashCommands {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, "1.0.0")
            .acting_at(&[])
            .only(HookSet::of(&[Hook::ApplicationGetActions, Hook::ApplicationExecuteAction]))
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let list = ActionDefinition::new("list_commands", "Show commands")
            .describing("Gives the commands that can be typed, with what may follow them.")
            .input("session_id", "string", false)
            .input("agent_id", "string", false);
        Answer::ok(vec![list])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let app = Application::of(cx)?;
            let text = |key: &str| input.params.get(key).and_then(Value::as_str);
            let agent = match text("agent_id") {
                Some(agent) => agent.to_owned(),
                None => app.config().default_agent()?,
            };
            let commands = Self::list(&app, text("session_id"), &agent).await?;
            let lines = commands.iter().map(|it| format!("- `{}`: {}", it.usage(), it.description));
            let body = lines.collect::<Vec<_>>().join("\n");
            let public = Map::from_iter([
                ("commands".to_owned(), json!(commands)),
                ("display".to_owned(), json!({ "format": "markdown", "body": body })),
            ]);
            Ok(ActionResult { public, ..ActionResult::default() })
        })
    }
}

//! What the chat asks of the application, carried out through the host.

use super::{Options, describe, listing, operating};
use crate::editor::{Draft, Sent};
use crate::model::{Ask, Conversation, Input, Run, Told, What};
use orlop_app::assets::Upload;
use orlop_app::ui::{Outcome, Sources, plain_text};
use orlop_app::{Application, ChatRequest, Host};
use orlop_core::types::ActionOwner;
use orlop_core::{ActionCall, CallContext, Error, ErrorClass, Map, Result, Value};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The application, asked in the name of the chat.
#[derive(Clone)]
pub(super) struct Asking {
    host: Host,
    pub(super) app: Application,
    pub(super) folder: Arc<str>,
    pub(super) home: Option<Arc<str>>,
    /// What was known of the session when it was asked.
    current: Arc<Conversation>,
    plain: bool,
}

/// What hooks are told by the terminal: the key `terminal`.
fn context(plain: bool) -> CallContext {
    let (columns, rows) = super::terminal::size();
    let about = json!({ "plain": plain, "columns": columns, "rows": rows });
    CallContext::new("terminal").owning("terminal", about)
}

impl Asking {
    pub(super) fn new(host: Host, options: &Options) -> Self {
        Self::on(host, options, false)
    }

    /// The same, line by line.
    pub(super) fn plain(host: Host, options: &Options) -> Self {
        Self::on(host, options, true)
    }

    fn on(host: Host, options: &Options, plain: bool) -> Self {
        let app = host.app().called_with(context(plain));
        let (folder, home) = (options.folder.as_str().into(), options.home.as_deref());
        Self { host, app, folder, home: home.map(Into::into), current: Arc::default(), plain }
    }

    /// The same, asked when this was known of the session.
    pub(super) fn about(&self, conversation: Conversation) -> Self {
        Self { current: Arc::new(conversation), ..self.clone() }
    }

    pub(super) fn current(&self) -> &Conversation {
        &self.current
    }

    /// Carries something out, and tells what comes of it.
    pub(super) async fn carry_out(&self, ask: Ask, say: &(dyn Fn(Input) + Sync)) {
        let tell = |told: Told| say(Input::Told(Box::new(told)));
        match ask {
            Ask::Send { number, draft } => {
                if let Err(error) = self.send(number, &draft, say).await {
                    let error = plain_text(error.message());
                    tell(Told::NotSent { number, draft, error });
                }
            }
            Ask::Cancel(request) => {
                let _ = self.app.cancel_request(&request, "the user stopped it").await;
            }
            Ask::Decide(asked, decision) => {
                let decided = self.app.decide(&asked.request, &asked.call, decision).await;
                let problem = decided.err().map(|error| plain_text(error.message()));
                tell(Told::Decided { asked, problem });
            }
            Ask::Complete(text) => {
                let (agent, session) = self.at();
                let found = self.app.completions(&agent, session.as_deref(), &text).await;
                tell(Told::Completions { text, items: found.unwrap_or_default() });
            }
            Ask::Apply { text, inserted, completion } => {
                let (agent, session) = self.at();
                let session = session.as_deref();
                let applied = self.app.apply_completion(&agent, session, &text, completion).await;
                match applied {
                    Ok(snippet) => tell(Told::Applied { text, inserted, snippet }),
                    Err(error) => tell(failed(&error)),
                }
            }
            Ask::List(pick, words) => match listing::items(self, &pick, &words).await {
                Ok(items) => tell(Told::Listed { pick, items }),
                Err(error) => {
                    tell(Told::Listed { pick, items: Vec::new() });
                    tell(failed(&error));
                }
            },
            Ask::Preview(session) => {
                let lines = listing::preview(self, &session).await.unwrap_or_default();
                tell(Told::Preview { session, lines });
            }
            Ask::Do(operation) => {
                for told in operating::operate(self, operation).await {
                    tell(told);
                }
            }
            Ask::Run(run) => {
                let outcome = Box::new(Outcome::of(self.run(&run).await));
                tell(Told::Acted { run, outcome });
            }
            Ask::Inspect { paths, text } => {
                let mut files = Vec::with_capacity(paths.len());
                for path in &paths {
                    let path = self.path(path);
                    if tokio::fs::metadata(&path).await.is_ok_and(|it| it.is_file()) {
                        files.push(path.display().to_string());
                    }
                }
                // One that is none makes all of it a text.
                files.truncate(if files.len() == paths.len() { paths.len() } else { 0 });
                tell(Told::Pasted { text, files });
            }
        }
    }

    /// The agent and the session, if it is stored.
    fn at(&self) -> (String, Option<String>) {
        let current = self.current();
        (current.agent.clone(), current.session.clone())
    }

    /// A path as people write it.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => Path::new(&**home).join(rest),
            _ => Path::new(&*self.folder).join(path),
        }
    }

    async fn send(&self, number: u64, draft: &Draft, say: &(dyn Fn(Input) + Sync)) -> Result<()> {
        let tell = |told: Told| say(Input::Told(Box::new(told)));
        let conversation = self.current();
        let mut attachments = Vec::with_capacity(draft.files.len());
        for file in &draft.files {
            attachments.push(self.attach(Path::new(file)).await?);
        }
        let session = match &draft.instead_of {
            Some(sent) => self.fork_before(sent).await?,
            None => conversation.session.clone(),
        };
        let mut metadata = Map::from_iter([("working_dir".to_owned(), (*self.folder).into())]);
        if !conversation.overrides.is_empty() {
            metadata.insert("overrides".to_owned(), conversation.overrides.clone().into());
        }
        let request = ChatRequest {
            session_id: session,
            agent_id: Some(conversation.agent.clone()).filter(|agent| !agent.is_empty()),
            metadata,
            content: draft.text.clone().into(),
            attachments,
            stream: true,
            context: context(self.plain),
            ..ChatRequest::default()
        };
        let mut chat = self.host.chat(request).await?;
        let was_handled = chat.handled.is_some();
        let (request_id, session_id) = (chat.request_id.clone(), chat.session_id.clone());
        tell(Told::Started { number, request_id, session_id: session_id.clone() });
        let known = async || {
            if let Ok(known) = describe::after(self, &session_id, was_handled).await {
                let of = Some(session_id.clone());
                tell(Told::Known { of, conversation: Box::new(known) });
            }
        };
        while let Some(event) = chat.next().await {
            if event.kind.ends_request() {
                known().await;
            }
            say(Input::Event(event));
        }
        chat.ended().await;
        // A title may come a little later.
        known().await;
        Ok(())
    }

    /// A copy of a session that ends before a message; nothing if it begins with that one. What was
    /// said from there on stays in the session it was said in.
    async fn fork_before(&self, sent: &Sent) -> Result<Option<String>> {
        let last = sent.index.checked_sub(1).and_then(|last| i64::try_from(last).ok());
        let Some(last) = last else { return Ok(None) };
        self.app.fork_stored(&sent.session, Some(last), None).await.map(Some)
    }

    async fn attach(&self, path: &Path) -> Result<String> {
        let bytes = tokio::fs::read(path).await.map_err(|error| {
            let path = path.display();
            Error::bad_argument(format!("{path} cannot be attached: {error}; name another file"))
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(self.app.put_asset(None, Upload::new(name, None), bytes).await?.id)
    }

    async fn run(&self, run: &Run) -> Result<Map> {
        let session = run.session.as_deref();
        match &run.what {
            What::Action { plugin, action, params } => {
                let call = action_call(plugin, action, params.clone());
                self.app.execute_action(call, session).await
            }
            What::Element(element, answers) => {
                let stored = match session {
                    Some(id) => Some(self.app.stored_session(id).await?),
                    None => None,
                };
                let message = run.message.and_then(|index| {
                    let message = stored.as_ref()?.messages().get(index)?.to_json();
                    let mut message = message.as_object()?.clone();
                    message.insert("index".to_owned(), index.into());
                    Some(message)
                });
                let json = stored.as_ref().map(orlop_core::Session::to_json);
                let sources = Sources {
                    session: json.as_ref().and_then(Value::as_object),
                    message: message.as_ref(),
                    dialog: Some(answers),
                };
                let call =
                    action_call(&element.plugin, &element.action_id, element.params(&sources)?);
                match (element.action_owner, session) {
                    (Some(ActionOwner::Application), _) => {
                        self.app.execute_application_action(call, session).await
                    }
                    (Some(ActionOwner::Feature | ActionOwner::ProviderExtension), Some(id)) => {
                        Ok(self.app.execute_session_action(id, call).await?.result)
                    }
                    (Some(_), None) => Err(Error::new(
                        ErrorClass::BadState,
                        "the action needs a session; say something first",
                    )),
                    (None, _) => self.app.execute_action(call, session).await,
                }
            }
        }
    }
}

pub(super) fn action_call(plugin: &str, action: &str, params: Map) -> ActionCall {
    ActionCall { plugin: plugin.to_owned(), action: action.to_owned(), params }
}

pub(super) fn failed(error: &Error) -> Told {
    Told::Said(crate::model::Tone::Failure, plain_text(error.message()))
}

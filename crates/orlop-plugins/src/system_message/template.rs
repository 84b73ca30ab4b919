//! The configured text as a template: what it may use, and how far it may go.

use jiff::Zoned;
use minijinja::{Environment, UndefinedBehavior, context};
use orlop_app::Application;
use orlop_app::config::RuntimeEnv;
use orlop_core::{Context, Error, Result};

/// How many steps a template may take.
const FUEL: u64 = 100_000;
/// How long the text of a template, and what comes of it, may be, in bytes.
const MAX_TEXT: usize = 256 * 1024;

/// The text with its variables filled in. A text without any mark of a template is left alone.
pub(super) fn render(text: &str, cx: &Context) -> Result<String> {
    if text.len() > MAX_TEXT {
        return Err(too_long());
    }
    if !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
        return Ok(text.to_owned());
    }
    let mut engine = Environment::new();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_fuel(Some(FUEL));
    let mut written = Bounded(Vec::new());
    let template = engine.template_from_str(text).map_err(|error| bad(&error))?;
    match template.render_captured_to(variables(cx), &mut written) {
        Ok(_) => String::from_utf8(written.0)
            .map_err(|_| Error::internal("a template gave text that is not UTF-8")),
        Err(_) if written.0.len() >= MAX_TEXT => Err(too_long()),
        Err(error) => Err(bad(&error)),
    }
}

/// What a template may use. All of it stays the same within a day and an agent, so that the
/// servers' caches of what they read hold.
fn variables(cx: &Context) -> minijinja::Value {
    let env = cx.handle::<RuntimeEnv>("env");
    let app = Application::of(cx).ok();
    let scope = app.as_ref().map(Application::scope);
    let tools = cx.tools().iter().filter_map(|tool| tool.name().map(str::to_owned));
    context! {
        date => Zoned::now().strftime("%Y-%m-%d").to_string(),
        working_folder => env.as_ref().and_then(|env| env.get("WORKING_DIR")).unwrap_or_default(),
        agent => cx.session().and_then(|session| session.agent_id()).unwrap_or_default(),
        provider => cx.provider().unwrap_or_default(),
        model => cx.config().text("model").unwrap_or_default(),
        os => std::env::consts::OS,
        tools => tools.collect::<Vec<String>>(),
        user => scope.map(|scope| scope.user()).unwrap_or_default(),
        tenant => scope.map(|scope| scope.tenant()).unwrap_or_default(),
    }
}

fn bad(error: &minijinja::Error) -> Error {
    let line = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let kind = error.kind();
    Error::bad_argument(format!(
        "the setting system_message is a template with a mistake{line}: {kind}{detail}; braces that are meant as they are stand between {{% raw %}} and {{% endraw %}}"
    ))
}

fn too_long() -> Error {
    Error::bad_argument(format!(
        "the system message is longer than {} KiB; make it shorter",
        MAX_TEXT / 1024
    ))
}

/// Takes so much and no more.
struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = MAX_TEXT - self.0.len();
        if bytes.len() > room {
            self.0.extend_from_slice(&bytes[..room]);
            return Err(std::io::Error::other("too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

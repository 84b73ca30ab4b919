//! What an agent wants to know from the person at the terminal: whether a call may run, or the
//! answer to a question.

use crate::exit::Failure;
use crate::output;
use orlop_app::ui::{Dialog, DialogInput, InputKind, plain_line, plain_text};
use orlop_app::{Application, Decision, Event, EventKind, Remember, RememberOffer};
use orlop_core::{ErrorClass, Map, Value};
use serde_json::json;
use std::io::IsTerminal;

/// The event that asks something: this one, or one that it passes on from another agent.
pub(super) fn in_event(event: &Event) -> Option<Event> {
    let asks = |event: &Event| matches!(event.kind, EventKind::ApprovalRequested { .. });
    match asks(event) {
        true => Some(event.clone()),
        false => event.passed_on().filter(asks),
    }
}

/// Puts the question to the person and passes the decision on. An answer that does not fit is
/// asked for again.
pub(super) async fn put(app: &Application, asked: &Event) -> Result<(), Failure> {
    let EventKind::ApprovalRequested { call_id, name, reason, input, form, remember, .. } =
        &asked.kind
    else {
        return Ok(());
    };
    let request = asked.request_id.as_deref().unwrap_or_default();
    loop {
        let decision = match form {
            _ if !is_attended() => nobody(name, reason, form.is_some()),
            Some(form) => answered(form).await,
            None => decide(name, reason, input, remember).await,
        };
        match app.decide(request, call_id, decision).await {
            Err(error) if form.is_some() && error.class() == ErrorClass::BadArgument => {
                output::tell(&plain_line(error.message()));
            }
            // Another agent may have ended by itself meanwhile; then nobody waits for an answer.
            Err(error) if matches!(error.class(), ErrorClass::NotFound | ErrorClass::Conflict) => {
                output::tell(&plain_line(error.message()));
                return Ok(());
            }
            decided => return Ok(decided?),
        }
    }
}

/// Whether a person can be asked.
pub(super) fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Where nobody is, says no and tells so.
fn nobody(name: &str, reason: &str, is_question: bool) -> Decision {
    let (name, reason) = (plain_line(name), plain_line(reason));
    let (told, model) = match is_question {
        true => (
            format!("orlop: {name} was not answered, because nobody can be asked"),
            "nobody is there to answer; decide yourself what can be decided, and say at the end what you assumed",
        ),
        false => (
            format!(
                "orlop: {name} was not run, because nobody can be asked ({reason}); --yes runs what would ask"
            ),
            "it needs the approval of a person, and none can be asked",
        ),
    };
    output::tell(&told);
    let by = "command line".to_owned();
    Decision { reason: Some(model.to_owned()), by, ..Decision::default() }
}

/// Asks whether a call may run, and whether what like it may from now on.
async fn decide(name: &str, reason: &str, input: &Value, remember: &[RememberOffer]) -> Decision {
    let shown = input.to_string();
    let mut question =
        format!("{} ({})\n{}\n", plain_line(reason), plain_line(name), plain_line(&shown));
    let rules = |scope: Remember| {
        let offered = remember.iter().filter(|offer| offer.scope == scope);
        offered.map(|offer| plain_line(&offer.rule)).collect::<Vec<_>>().join(", ")
    };
    let (session, always) = (rules(Remember::Session), rules(Remember::Always));
    let mut choices = "y/N".to_owned();
    if !session.is_empty() {
        question.push_str(&format!("s: also allow {session} in this session\n"));
        choices.push_str("/s");
    }
    if !always.is_empty() {
        question.push_str(&format!("a: always allow {always}\n"));
        choices.push_str("/a");
    }
    question.push_str(&format!("Run it? [{choices}] "));
    let (allow, remember) = match output::ask(question).await.as_str() {
        "y" | "yes" => (true, None),
        "s" | "session" if !session.is_empty() => (true, Some(Remember::Session)),
        "a" | "always" if !always.is_empty() => (true, Some(Remember::Always)),
        _ => (false, None),
    };
    Decision { allow, remember, by: "user".to_owned(), ..Decision::default() }
}

/// Asks for every field of a form. A field that must be filled and is left empty ends it.
async fn answered(form: &Map) -> Decision {
    let mut decision = Decision { by: "user".to_owned(), ..Decision::default() };
    let Some(dialog) = Dialog::read(&Value::Object(form.clone())) else { return decision };
    output::tell(&plain_text(&dialog.title));
    let mut fields = Map::new();
    for input in &dialog.inputs {
        match field(input, &dialog.title).await {
            Some(value) => {
                fields.insert(input.name.clone(), value);
            }
            None if input.extra.get("required") == Some(&Value::Bool(true)) => return decision,
            None => {}
        }
    }
    let is_mapping = form.get("schema").is_some_and(|schema| schema["type"] == "object");
    let answer = match is_mapping {
        true => Value::Object(fields),
        false => fields.shift_remove("answer").unwrap_or_default(),
    };
    decision.allow = true;
    decision.input = Some(json!({ "answer": answer }));
    decision
}

/// Asks for one field until the answer is what it has to be; nothing is its default, if any.
async fn field(input: &DialogInput, title: &str) -> Option<Value> {
    let choices = input.extra.get("choices").and_then(Value::as_array);
    let choices = choices.map(Vec::as_slice).unwrap_or_default();
    let mut prompt = String::new();
    for (number, choice) in choices.iter().enumerate() {
        let text = |key: &str| choice.get(key).and_then(Value::as_str).map(plain_line);
        let more = text("description").map(|more| format!(" ({more})")).unwrap_or_default();
        prompt.push_str(&format!(
            "  {}. {}{more}\n",
            number + 1,
            text("label").unwrap_or_default()
        ));
    }
    if input.label != title {
        prompt.push_str(&input.label);
    }
    if let Some(default) = input.extra.get("default") {
        prompt.push_str(&format!(" [{}]", plain_line(&default.to_string())));
    }
    prompt.push_str("> ");
    loop {
        let line = output::ask_line(prompt.clone()).await;
        if line.is_empty() {
            return input.extra.get("default").cloned();
        }
        match typed(input.kind(), &input.label, &line, choices) {
            Ok(value) => return value,
            Err(error) => output::tell(&plain_line(error.message())),
        }
    }
}

/// What a line means: a number of a choice, several of them, or the words themselves.
fn typed(
    kind: InputKind,
    label: &str,
    line: &str,
    choices: &[Value],
) -> orlop_core::Result<Option<Value>> {
    let chosen = |word: &str| {
        let number = word.trim().parse::<usize>().ok()?.checked_sub(1)?;
        choices.get(number)?.get("value").cloned()
    };
    if kind == InputKind::Array && !choices.is_empty() {
        let words = line.split(',').map(str::trim).filter(|word| !word.is_empty());
        let values = words.map(|word| chosen(word).unwrap_or_else(|| word.into()));
        return Ok(Some(values.collect()));
    }
    match chosen(line) {
        Some(value) => Ok(Some(value)),
        None => kind.convert(label, &line.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_choice_or_the_words_themselves() {
        let choices = [json!({"value": "a", "label": "A"}), json!({"value": 7, "label": "Seven"})];
        for (kind, line, expected) in [
            (InputKind::Text, "1", json!("a")),
            (InputKind::Text, "2", json!(7)),
            (InputKind::Text, "3", json!("3")),
            (InputKind::Text, "other", json!("other")),
            (InputKind::Array, "2, 1, more", json!([7, "a", "more"])),
        ] {
            assert_eq!(typed(kind, "f", line, &choices).unwrap(), Some(expected), "{line}");
        }
        assert_eq!(typed(InputKind::Integer, "f", "80", &[]).unwrap(), Some(json!(80)));
        assert!(typed(InputKind::Integer, "f", "x", &[]).is_err());
    }
}

//! A conversation as a text that a model can read without being drawn into it, in pieces that fit
//! into its context window.

use orlop_core::{Map, Message, Role, Value};

/// How much of a tool's result is shown, in characters.
const RESULT: usize = 2_000;
/// How much of any other message is shown, in characters.
const SAID: usize = 40_000;
/// How much of a call's input is shown, in characters.
const INPUT: usize = 1_000;

/// The messages as text, in pieces of at most `limit` characters.
pub(super) fn pieces(messages: &[Message], limit: usize) -> Vec<String> {
    let limit = limit.max(1_000);
    let mut pieces = vec![String::new()];
    for message in messages {
        let said = said(message, limit / 2);
        let is_full = pieces.last().is_some_and(|last| {
            !last.is_empty() && last.chars().count() + said.chars().count() > limit
        });
        if is_full {
            pieces.push(String::new());
        }
        if let Some(last) = pieces.last_mut() {
            last.push_str(&said);
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn said(message: &Message, limit: usize) -> String {
    let (who, most) = match message.role() {
        Role::User => ("user", SAID),
        Role::Assistant => ("assistant", SAID),
        Role::System => ("system", SAID),
        Role::Tool => ("tool", RESULT),
    };
    let mut text = match message.content() {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    for part in message.multipart_content() {
        match part.get("text").and_then(Value::as_str) {
            Some(more) if more != text => text = format!("{text}\n{more}"),
            Some(_) => {}
            None => text = format!("{text}\n[{}]", kind_of(part)),
        }
    }
    let mut said = format!("[{who}]\n{}\n", shortened(text.trim(), most.min(limit)));
    for call in message.tool_calls() {
        said.push_str(&format!("[calls {}]\n", called(call)));
    }
    said.push('\n');
    said
}

/// What a part that is no text is.
fn kind_of(part: &Map) -> String {
    let word = |key: &str| part.get(key).and_then(Value::as_str);
    let kind = word("media_type").or_else(|| word("type")).unwrap_or("file");
    match word("name").or_else(|| word("filename")) {
        Some(name) => format!("{kind} {name}"),
        None => kind.to_owned(),
    }
}

/// A call in one line, whatever form it has.
fn called(call: &Map) -> String {
    let function = call.get("function").and_then(Value::as_object).unwrap_or(call);
    let name = function.get("name").and_then(Value::as_str).unwrap_or("a tool");
    let input = ["arguments", "input", "args"].iter().find_map(|key| function.get(*key));
    let input = match input {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    format!("{name} {}", shortened(&input, INPUT)).trim_end().to_owned()
}

/// Beginning and end of a text that is longer than `limit` characters.
fn shortened(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let (head, tail) = (limit * 2 / 3, limit / 3);
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(count - tail).collect();
    format!("{first}\n[... {} characters left out ...]\n{last}", count - head - tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn it_says_who_said_what() {
        let call = json!([
            { "id": "1", "function": { "name": "read", "arguments": "{\"path\":\"a\"}" } },
            { "id": "2", "name": "look", "input": { "at": 1 } },
        ]);
        let image = json!({ "type": "image", "media_type": "image/png", "data": "AAAA" });
        let messages = [
            Message::user("look").with_multipart_content(vec![image.as_object().cloned().unwrap()]),
            Message::assistant("").with_metadata_entry("tool_calls", call),
            Message::tool(format!("{}{}", "x".repeat(3_000), "end")),
            Message::assistant("done"),
        ];
        let text = pieces(&messages, 100_000).concat().replace(&"x".repeat(10), "");
        expect![[r#"
            [user]
            look
            [image/png]

            [assistant]

            [calls read {"path":"a"}]
            [calls look {"at":1}]

            [tool]
            xxx
            [... 1004 characters left out ...]
            xxxend

            [assistant]
            done

        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn pieces_hold_whole_messages_and_no_more_than_fits() {
        let messages: Vec<Message> = (0..9).map(|_| Message::user("é".repeat(900))).collect();
        let pieces = pieces(&messages, 2_000);
        assert_eq!(pieces.len(), 5);
        assert!(pieces.iter().all(|piece| piece.chars().count() <= 2_000));
        let huge = [Message::user("é".repeat(9_000))];
        assert!(super::pieces(&huge, 2_000)[0].chars().count() < 1_100);
        assert!(super::pieces(&[], 2_000).is_empty());
    }
}

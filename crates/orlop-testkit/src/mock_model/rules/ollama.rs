//! Ollama: arguments are objects, images plain base64, contents texts. It checks no more than that.

use serde_json::Value;

use super::{ensure, list, text};

pub(in crate::mock_model) fn check(body: &Value) -> Result<(), String> {
    text(body, "model", "body").map_err(|_| "model is required".to_owned())?;
    for message in list(body, "messages")? {
        let role = text(message, "role", "messages")?;
        ensure(matches!(role, "system" | "user" | "assistant" | "tool"), || {
            format!("invalid role: {role}, must be one of [system, user, assistant, tool]")
        })?;
        ensure(message["content"].is_string() || message["content"].is_null(), || {
            "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of \
             type string"
                .to_owned()
        })?;
        for image in list(message, "images")? {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
            ensure(image.as_str().is_some_and(|data| data.bytes().all(plain)), || {
                "illegal base64 data at input byte 0".to_owned()
            })?;
        }
        for call in list(message, "tool_calls")? {
            text(&call["function"], "name", "tool_calls")?;
            ensure(call["function"]["arguments"].is_object(), || {
                "json: cannot unmarshal string into Go struct field \
                 ChatRequest.messages.tool_calls.function.arguments of type \
                 api.ToolCallFunctionArguments"
                    .to_owned()
            })?;
        }
    }
    let think = &body["think"];
    let word = matches!(think.as_str(), Some("low" | "medium" | "high"));
    ensure(think.is_null() || think.is_boolean() || word, || {
        format!(
            "invalid think value: {think} (must be \"high\", \"medium\", \"low\", true, or false)"
        )
    })?;
    ensure(body["options"].is_null() || body["options"].is_object(), || {
        "options must be an object".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn check(message: Value) -> Result<(), String> {
        super::check(&json!({"model": "m", "messages": [message]}))
    }

    #[test]
    fn arguments_are_objects_and_images_plain() {
        let called = |arguments: Value| {
            let call = json!({"function": {"name": "f", "arguments": arguments}});
            json!({"role": "assistant", "content": "", "tool_calls": [call]})
        };
        let shown = |image: &str| json!({"role": "user", "content": "", "images": [image]});
        assert_eq!(check(called(json!({"a": 1}))), Ok(()));
        assert!(check(called(json!("{}"))).is_err());
        assert_eq!(check(shown("QUJD")), Ok(()));
        assert!(check(shown("data:image/png;base64,QUJD")).is_err());
        assert!(check(json!({"role": "user", "content": [{"type": "text"}]})).is_err());
    }
}

//! Gemini: as many responses as calls, right behind them; unknown fields are refused; the newest
//! models want the signature of a call back.

use serde_json::Value;

use super::super::sign;
use super::{ensure, list, text};

/// What a part may carry, and what may stand beside it.
const CARRIED: [&str; 8] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
];
const BESIDE: [&str; 5] =
    ["thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"];
const FIELDS: [&str; 10] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
    "serviceTier",
    "modelArmorConfig",
    "model",
];
/// What may stand for the signature of a call that another model made: in words, or encoded as the
/// field is.
const NO_SIGNATURE: [&str; 4] = [
    "skip_thought_signature_validator",
    "context_engineering_is_the_way_to_go",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
];

pub(in crate::mock_model) fn check(body: &Value, model: &str) -> Result<(), String> {
    known(body, "", &[&FIELDS])?;
    let contents = list(body, "contents")?;
    ensure(!contents.is_empty(), || {
        "* GenerateContentRequest.contents: contents is not specified".to_owned()
    })?;
    let mut calls = 0;
    for (role, parts) in turns(contents)? {
        let responses = count(&parts, "functionResponse");
        ensure(responses == calls, || {
            "Please ensure that the number of function response parts is equal to the number of \
             function call parts of the function call turn."
                .to_owned()
        })?;
        calls = count(&parts, "functionCall");
        ensure(calls == 0 || role == "model", || "a user calls no function".to_owned())?;
    }
    ensure(contents[0]["role"] != "model", || {
        "Please ensure that the first turn is one of the user".to_owned()
    })?;
    ensure(contents.last().is_some_and(|last| last["role"] != "model"), || {
        "Please ensure that single turn requests end with a user role".to_owned()
    })?;
    if model.contains("gemini-3") { signatures(contents) } else { Ok(()) }
}

/// Who says which parts; neighbours of one role are one turn.
fn turns(contents: &[Value]) -> Result<Vec<(&str, Vec<&Value>)>, String> {
    let mut turns: Vec<(&str, Vec<&Value>)> = Vec::new();
    for (position, content) in contents.iter().enumerate() {
        let place = format!("contents[{position}]");
        known(content, &place, &[&["role", "parts"]])?;
        let role = content["role"].as_str().unwrap_or("user");
        ensure(matches!(role, "user" | "model"), || {
            "Please use a valid role: user, model.".to_owned()
        })?;
        let parts = list(content, "parts")?;
        ensure(!parts.is_empty(), || format!("{place}.parts: must include at least one part"))?;
        parts.iter().try_for_each(|part| check_part(part, &place))?;
        match turns.last_mut() {
            Some((last, said)) if *last == role => said.extend(parts),
            _ => turns.push((role, parts.iter().collect())),
        }
    }
    Ok(turns)
}

fn count(parts: &[&Value], kind: &str) -> usize {
    parts.iter().filter(|part| !part[kind].is_null()).count()
}

fn known(value: &Value, place: &str, names: &[&[&str]]) -> Result<(), String> {
    let fields = value.as_object().ok_or_else(|| format!("{place}: expected an object"))?;
    let is_known = |key: &str| names.iter().any(|names| names.contains(&key));
    match fields.keys().find(|key| !is_known(key)) {
        Some(key) => Err(format!(
            "Invalid JSON payload received. Unknown name \"{key}\" at '{place}': Cannot find field."
        )),
        None => Ok(()),
    }
}

fn check_part(part: &Value, place: &str) -> Result<(), String> {
    known(part, place, &[&CARRIED, &BESIDE])?;
    let carried = CARRIED.iter().filter(|kind| !part[**kind].is_null()).count();
    ensure(carried == 1, || {
        format!("{place}.parts: required oneof field 'data' must have one initialized field")
    })?;
    if let Some(call) = part["functionCall"].as_object() {
        let call = Value::Object(call.clone());
        known(&call, place, &[&["id", "name", "args"]])?;
        text(&call, "name", place)?;
        ensure(call["args"].is_null() || call["args"].is_object(), || {
            format!("{place}: the args of a function call are an object")
        })?;
        let signature = part["thoughtSignature"].as_str();
        ensure(signature.is_none_or(|signature| is_of(signature, &call)), || {
            "Corrupted thought signature.".to_owned()
        })?;
    }
    if let Some(response) = part["functionResponse"].as_object() {
        let response = Value::Object(response.clone());
        known(
            &response,
            place,
            &[&["id", "name", "response", "parts", "willContinue", "scheduling"]],
        )?;
        text(&response, "name", place)?;
        ensure(response["response"].is_object(), || {
            format!(
                "Invalid value at '{place}.parts.function_response.response' (type.googleapis.com/google.protobuf.Struct)"
            )
        })?;
    }
    if let Some(data) = part["inlineData"].as_object() {
        let data = Value::Object(data.clone());
        text(&data, "mimeType", place)?;
        text(&data, "data", place)?;
    }
    let signature = part["thoughtSignature"].as_str();
    ensure(signature.is_none_or(|it| sign::is_one(it) || NO_SIGNATURE.contains(&it)), || {
        "Corrupted thought signature.".to_owned()
    })
}

/// Whether a signature is the one of this call, or stands for none.
fn is_of(signature: &str, call: &Value) -> bool {
    let name = call["name"].as_str().unwrap_or_default();
    NO_SIGNATURE.contains(&signature) || signature == sign::of_call("gemini", name, &call["args"])
}

/// Since the person last spoke, the first call of each turn of the model is signed.
fn signatures(contents: &[Value]) -> Result<(), String> {
    let parts = |content: &'static str| move |value: &Value| !value[content].is_null();
    let spoken = |content: &Value| {
        let parts_of = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        content["role"] != "model" && !parts_of.iter().any(parts("functionResponse"))
    };
    let since = contents.iter().rposition(spoken).unwrap_or_default();
    for (position, content) in contents.iter().enumerate().skip(since) {
        let parts_of = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let first = parts_of.iter().find(|part| parts("functionCall")(part));
        ensure(first.is_none_or(|call| call["thoughtSignature"].is_string()), || {
            format!(
                "Function call is missing a thought_signature in functionCall parts. This is \
                 required for tools to work correctly (position {position})."
            )
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn check(contents: Value) -> Result<(), String> {
        super::check(&json!({"contents": contents}), "gemini-3-mock")
    }

    fn user(parts: Value) -> Value {
        json!({"role": "user", "parts": parts})
    }

    fn called(signature: Option<&str>) -> Value {
        let mut first = json!({"functionCall": {"name": "f", "args": {}}});
        if let Some(signature) = signature {
            first["thoughtSignature"] = json!(signature);
        }
        json!({"role": "model", "parts": [first, {"functionCall": {"name": "g"}}]})
    }

    #[test]
    fn calls_and_responses_are_as_many_and_signed() {
        let hi = user(json!([{"text": "hi"}]));
        let response =
            |name: &str| json!({"functionResponse": {"name": name, "response": {"output": "x"}}});
        let both = user(json!([response("f"), response("g")]));
        let skip = Some("skip_thought_signature_validator");
        assert_eq!(check(json!([hi, called(skip), both])), Ok(()));
        for broken in [
            json!([hi, called(None), both]),
            json!([hi, called(Some("odd")), both]),
            json!([hi, called(skip), user(json!([response("f")]))]),
            json!([hi, called(skip)]),
            json!([both]),
            json!([user(json!([{"text": "hi", "odd": 1}]))]),
            json!([user(json!([]))]),
        ] {
            assert!(check(broken.clone()).is_err(), "{broken}");
        }
        // What was said before the person spoke again needs no signature.
        assert_eq!(check(json!([hi, called(None), both, hi])), Ok(()));
    }
}

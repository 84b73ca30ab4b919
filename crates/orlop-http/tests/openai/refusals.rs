//! Whatever refuses a request, and before whatever handler, its clients read one shape of errors.

use crate::scene::*;
use orlop_core::Value;
use serde_json::json;

const TOKENS: &str = r#"
[[server.tokens]]
token = "reader"
tenant = "acme"
user = "ana"
scopes = ["read"]
[[server.tokens]]
token = "writer"
tenant = "acme"
user = "bob"
"#;

const PATHS: [(&str, &str); 6] = [
    ("POST", "/chat/completions"),
    ("POST", "/responses"),
    ("GET", "/responses/resp_x"),
    ("GET", "/models"),
    ("POST", "/conversations"),
    ("DELETE", "/conversations/conv_x/items/y"),
];

fn sent(client: &Client, method: &str, path: &str) -> reqwest::RequestBuilder {
    client.request(method, path).header("content-type", "application/json").body("{}")
}

#[tokio::test] // K-20
async fn who_asks_from_where_and_with_what_name() {
    let client = Scene::says(&[]).start().await;
    for (method, path) in PATHS {
        for (header, value, start) in [
            ("host", "evil.example", "403 permission_error null this server is only reached"),
            ("origin", "https://evil.example", "403 permission_error null this page is not one"),
            ("sec-fetch-site", "cross-site", "403 permission_error null this page is not one"),
        ] {
            let request = sent(&client, method, path).header(header, value);
            let refused = client.refused_request(request).await;
            assert!(refused.starts_with(start), "{method} {path} {header}: {refused}");
        }
    }
    // What would name a turn has to be an id; elsewhere something between may have made it.
    for path in ["/chat/completions", "/responses"] {
        let request = sent(&client, "POST", path).header("x-request-id", "../x");
        let refused = client.refused_request(request).await;
        let start = "400 invalid_request_error null";
        assert!(
            refused.starts_with(start) && refused.contains("cannot be a request id"),
            "{path}: {refused}"
        );
    }
    let models = client.request("GET", "/models").header("x-request-id", "../x");
    assert_eq!(models.send().await.unwrap().status(), 200);
    let client = Scene::says(&[]).config(TOKENS).start().await;
    for (method, path) in PATHS {
        let refused = client.refused_request(sent(&client, method, path)).await;
        let start = "401 authentication_error invalid_api_key this server needs a token";
        assert!(refused.starts_with(start), "{refused}");
        let unknown = client.with_token("nobody's");
        let refused = client.refused_request(sent(&unknown, method, path)).await;
        assert!(refused.starts_with("401 authentication_error invalid_api_key"), "{refused}");
        let reader = client.with_token("reader");
        if method != "GET" {
            let refused = client.refused_request(sent(&reader, method, path)).await;
            assert!(refused.starts_with("403 permission_error null this needs"), "{refused}");
        }
    }
}

#[tokio::test] // K-20
async fn too_many_and_too_much() {
    let limits = "[server.limits]\nrequests_per_minute = 1\nbody_bytes = 10\n";
    let client = Scene::says(&[]).config(&format!("{TOKENS}{limits}")).start().await;
    let client = client.with_token("writer");
    let large = client.request("POST", "/responses").body(" ".repeat(11));
    let refused = client.refused_request(large).await;
    assert!(refused.starts_with("413 invalid_request_error null the body is larger"), "{refused}");
    let refused = client.refused_request(sent(&client, "GET", "/models")).await;
    let start = "429 rate_limit_error rate_limit_exceeded more than 1 requests a minute";
    assert!(refused.starts_with(start), "{refused}");
}

#[tokio::test] // K-20
async fn what_is_not_there_and_what_is_no_json() {
    let client = Scene::says(&[]).start().await;
    for (method, path, start) in [
        ("GET", "/nowhere", "404 invalid_request_error null there is nothing at /v1/nowhere"),
        ("PUT", "/responses", "405 invalid_request_error null this route does not take"),
        ("GET", "/responses/%ff", "400 invalid_request_error null the path does not fit"),
        ("GET", "/responses/..%2f..%2fetc", "404 invalid_request_error not_found"),
        ("GET", "/responses/resp_..%2fx", "404 invalid_request_error not_found"),
        ("GET", "/responses/resp_x?starting_after=-1", "400 invalid_request_error null the query"),
        ("GET", "/conversations/conv_%00", "404 invalid_request_error not_found"),
        ("GET", "/conversations/conv_..%2fx/items?limit=x", "400 invalid_request_error null the"),
        ("GET", "/models/..%2f..%2fetc", "404 invalid_request_error model_not_found"),
    ] {
        let refused = client.refused_request(client.request(method, path)).await;
        assert!(refused.starts_with(start), "{method} {path}: {refused}");
    }
    let deep = format!("{{\"input\": {}1{}}}", "[".repeat(4_000), "]".repeat(4_000));
    let bodies: &[&[u8]] = &[
        b"",
        b"{",
        b"[]",
        b"null",
        b"{\"model\": \"helper\", \"model\": \"judged\"}",
        b"{\"model\": \"\xff\xfe\"}",
        b"{\"model\": 1}",
        deep.as_bytes(),
    ];
    for path in ["/chat/completions", "/responses", "/conversations"] {
        for body in bodies {
            let names_fields = body.starts_with(b"{\"") && !body.contains(&255);
            if path == "/conversations" && names_fields {
                // It does not know them, and what is in them does not matter.
                continue;
            }
            let request = client.request("POST", path).body(body.to_vec());
            let refused = client.refused_request(request).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(40)]);
            assert!(refused.starts_with("400 invalid_request_error"), "{path} {shown}: {refused}");
        }
    }
}

#[tokio::test] // K-20
async fn what_a_form_of_any_page_could_send() {
    let client = Scene::says(&["1"]).start().await;
    let body = json!({ "model": "helper", "input": "hi" }).to_string();
    for path in ["/chat/completions", "/responses", "/conversations", "/conversations/conv_x/items"]
    {
        for kind in
            ["text/plain", "application/x-www-form-urlencoded", "Multipart/Form-Data; boundary=x"]
        {
            let request = client.request("POST", path).header("content-type", kind);
            let refused = client.refused_request(request.body(body.clone())).await;
            let start = "415 invalid_request_error null the body has to be JSON";
            assert!(refused.starts_with(start), "{path} {kind}: {refused}");
        }
    }
    let without = client.request("POST", "/responses").body(body).send().await.unwrap();
    assert_eq!(without.status(), 200);
}

#[tokio::test] // K-09
async fn the_document_has_these_routes_with_their_errors() {
    let client = Scene::says(&[]).start().await;
    let address = client.base().strip_suffix("/v1").unwrap();
    let document = reqwest::Client::builder().no_proxy().build().unwrap();
    let document = document.get(format!("{address}/openapi.json")).send().await.unwrap();
    let document: Value = serde_json::from_str(&document.text().await.unwrap()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let ours: Vec<String> = paths
        .iter()
        .filter(|(path, _)| path.starts_with("/v1/"))
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap();
            methods.iter().map(move |(method, it)| {
                format!("{method} {path} {}", it["operationId"].as_str().unwrap())
            })
        })
        .collect();
    expect_test::expect![[r#"
        post /v1/chat/completions chat_create
        get /v1/models models_list
        get /v1/models/{id} models_get
        post /v1/responses responses_create
        get /v1/responses/{id} responses_retrieve
        delete /v1/responses/{id} responses_delete
        post /v1/responses/{id}/cancel responses_cancel
        get /v1/responses/{id}/input_items responses_input_items
        post /v1/conversations conversations_create
        get /v1/conversations/{id} conversations_retrieve
        post /v1/conversations/{id} conversations_update
        delete /v1/conversations/{id} conversations_remove
        get /v1/conversations/{id}/items conversations_list
        post /v1/conversations/{id}/items conversations_add
        get /v1/conversations/{id}/items/{item} conversations_item
        delete /v1/conversations/{id}/items/{item} conversations_remove_item"#]]
    .assert_eq(&ours.join("\n"));
    let create = &document["paths"]["/v1/responses"]["post"];
    assert_eq!(create["responses"]["429"], json!({ "$ref": "#/components/responses/OpenAiError" }));
    assert!(create["responses"]["200"]["content"].get("text/event-stream").is_some());
    assert!(create["requestBody"]["content"]["application/json"]["schema"].is_object());
}

#[tokio::test] // K-20
async fn what_is_of_another_kind_than_it_should_be() {
    let client = Scene::says(&[]).start().await;
    let refused = async |path: &str, key: &str, value: Value| {
        let mut body = match path {
            "/responses" => json!({ "model": "helper", "input": "hi" }),
            _ => json!({ "model": "helper", "messages": [{ "role": "user", "content": "hi" }] }),
        };
        body[key] = value.clone();
        let (status, answer) = client.ask("POST", path, body).await;
        assert_eq!(status, 400, "{path} {key} {value}: {answer}");
        format!("{}: {}", answer["error"]["param"], answer["error"]["message"]).replace('"', "")
    };
    for (key, value, told) in [
        ("temperature", json!("hot"), "temperature: temperature is a number"),
        ("top_p", json!("x"), "top_p: top_p is a number"),
        ("presence_penalty", json!("q"), "presence_penalty: presence_penalty is a number"),
        (
            "parallel_tool_calls",
            json!("yes"),
            "parallel_tool_calls: parallel_tool_calls is true or false",
        ),
        ("max_output_tokens", json!("9"), "max_output_tokens: max_output_tokens is a whole number"),
        (
            "max_completion_tokens",
            json!(1.5),
            "max_completion_tokens: max_completion_tokens is a whole number",
        ),
        ("stop", json!([1]), "stop: stop is a text or a list of texts"),
        ("safety_identifier", json!([1]), "safety_identifier: safety_identifier is a text"),
        ("prompt_cache_key", json!(7), "prompt_cache_key: prompt_cache_key is a text"),
        ("reasoning_effort", json!(5), "reasoning_effort: reasoning_effort is a text"),
        ("reasoning", json!({ "effort": 5 }), "reasoning.effort: reasoning.effort is a text"),
        ("metadata", json!("foo"), "metadata: metadata is an object"),
        (
            "tools",
            json!([{ "type": "function", "name": "f", "parameters": "x" }]),
            r"tools: the parameters of tool \f\ are no object; send a JSON Schema",
        ),
        (
            "top_logprobs",
            json!(3),
            "top_logprobs: agents do not tell probabilities; leave top_logprobs out",
        ),
    ] {
        for path in ["/responses", "/chat/completions"] {
            assert_eq!(refused(path, key, value.clone()).await, told, "{path}");
        }
    }
    let conversation =
        "conversation: conversation is the id of a conversation, or an object with its id";
    for (key, value, told) in [
        ("text", json!({ "verbosity": 5 }), "text.verbosity: text.verbosity is a text"),
        ("text", json!({ "format": "x" }), "text.format: text.format is an object"),
        (
            "text",
            json!({ "format": { "schema": {} } }),
            "text.format: the format needs a type; use text, json_object or json_schema",
        ),
        ("conversation", json!({}), conversation),
        ("conversation", json!({ "id": 5 }), conversation),
        ("conversation", json!({ "name": "c" }), conversation),
        (
            "include",
            json!(["message.output_text.logprobs"]),
            "include: agents do not tell probabilities; leave message.output_text.logprobs out",
        ),
        (
            "input",
            json!([{ "role": "user", "content": [{ "type": "input_image" }] }]),
            r"input: a part of type \input_image\ needs \image_url\",
        ),
    ] {
        assert_eq!(refused("/responses", key, value).await, told);
    }
    let picture =
        json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": {} }] }]);
    for (key, value, told) in [
        ("response_format", json!("json"), "response_format: response_format is an object"),
        ("messages", picture, r"messages: a part of type \image_url\ needs \image_url\"),
    ] {
        assert_eq!(refused("/chat/completions", key, value).await, told);
    }
}

#[tokio::test]
async fn what_is_odd_and_does_no_harm_is_taken() {
    for (key, value) in [
        ("temperature", Value::Null),
        ("reasoning", json!({ "effort": "wild", "summary": null })),
        ("text", json!({ "format": null, "verbosity": "loud" })),
        ("text", Value::Null),
        ("conversation", Value::Null),
        ("top_logprobs", json!(0)),
        ("include", json!(["reasoning.encrypted_content"])),
        ("service_tier", json!(1)),
        ("max_output_tokens", json!(64)),
        ("a_field_of_the_future", json!([])),
        ("tools", json!([{ "type": "function", "name": "f", "parameters": null }])),
    ] {
        let client = Scene::says(&["ok"]).start().await;
        let mut body = json!({ "model": "helper", "input": "hi" });
        body[key] = value.clone();
        let (status, answer) = client.ask("POST", "/responses", body).await;
        assert_eq!(status, 200, "{key} {value}: {answer}");
    }
}

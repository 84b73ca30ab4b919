//! Logging in to a server that wants it: OAuth on loopback, from the refusal to a renewed token.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../orlop-plugins/tests/stage/mod.rs"]
mod stage;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::{Json, Router};
use orlop_mcp::McpServers;
use serde_json::{Value, json};
use stage::Stage;
use std::sync::{Arc, Mutex};
use url::Url;

/// A server with its own login, and the token it takes at the moment.
#[derive(Clone)]
struct Harbour {
    url: String,
    token: Arc<Mutex<&'static str>>,
}

impl Harbour {
    async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let harbour = Self { url, token: Arc::new(Mutex::new("first-token")) };
        let routes = Router::new()
            .route("/mcp", any(mcp))
            .route("/.well-known/oauth-protected-resource", get(resource))
            .route("/.well-known/oauth-authorization-server", get(about))
            .route("/register", post(register))
            .route("/token", post(token))
            .with_state(harbour.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        harbour
    }
}

fn answer(status: u16, body: Value) -> Response {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Body::from(body.to_string())).unwrap()
}

async fn resource(State(harbour): State<Harbour>) -> Json<Value> {
    let url = &harbour.url;
    Json(json!({ "resource": format!("{url}/mcp"), "authorization_servers": [url] }))
}

async fn about(State(Harbour { url, .. }): State<Harbour>) -> Json<Value> {
    Json(json!({
        "issuer": url, "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"), "registration_endpoint": format!("{url}/register"),
        "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
    }))
}

async fn register(Json(wanted): Json<Value>) -> Response {
    answer(201, json!({ "client_id": "orlop-1", "redirect_uris": wanted["redirect_uris"] }))
}

/// A code gives the first token, a refresh token the second.
async fn token(State(harbour): State<Harbour>, form: String) -> Response {
    let is_refresh = form.contains("grant_type=refresh_token");
    assert!(is_refresh || form.contains("code=harbour-code"), "{form}");
    let token = if is_refresh { "second-token" } else { "first-token" };
    *harbour.token.lock().unwrap() = token;
    answer(
        200,
        json!({ "access_token": token, "token_type": "Bearer", "refresh_token": "r", "expires_in": 3600 }),
    )
}

async fn mcp(State(harbour): State<Harbour>, request: Request) -> Response {
    let wanted = format!("Bearer {}", harbour.token.lock().unwrap());
    let given = request.headers().get("authorization").and_then(|it| it.to_str().ok());
    if given != Some(&wanted) {
        let where_to = format!(
            "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource\"",
            harbour.url
        );
        let refusal = Response::builder().status(401).header("www-authenticate", where_to);
        return refusal.body(Body::empty()).unwrap();
    }
    let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let Ok(message) = serde_json::from_slice::<Value>(&bytes) else {
        return answer(405, Value::Null);
    };
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "harbour", "version": "1" } }),
        "tools/list" => json!({ "tools": [{ "name": "berth", "inputSchema": {} }] }),
        _ if message["id"].is_null() => return answer(202, Value::Null),
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            return answer(200, json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
        }
    };
    answer(200, json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}

#[tokio::test]
async fn a_login_holds_and_is_renewed() {
    let harbour = Harbour::open().await;
    let stage = Stage::default().more(&format!("[mcp_servers.h]\nurl = \"{}/mcp\"\n", harbour.url));
    let servers = || McpServers::of(&stage.config().unwrap());

    let refused = servers().test("h").await.unwrap_err();
    assert_eq!(
        refused.message(),
        "MCP server \"h\" could not be started: it wants a login; run: orlop mcp login h"
    );

    // What a browser does: it goes to the page, and is sent back with a code.
    let browser = |page: &str| {
        let page = Url::parse(page).unwrap();
        let asked =
            |name: &str| page.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
        assert_eq!(asked("code_challenge_method"), "S256");
        let mut back = Url::parse(&asked("redirect_uri")).unwrap();
        back.query_pairs_mut()
            .append_pair("code", "harbour-code")
            .append_pair("state", &asked("state"));
        // It keeps connections open on which it may ask for something later.
        let address = format!("127.0.0.1:{}", back.port().unwrap());
        let idle = std::net::TcpStream::connect(address).unwrap();
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
        tokio::spawn(async move {
            client.get(back).send().await.unwrap().text().await.unwrap();
            drop(idle);
        });
    };
    servers().log_in("h", browser).await.unwrap();
    let status = servers().test("h").await.unwrap();
    assert_eq!(status.tools[0].name, "mcp__h__berth");

    let file = stage.home().join("credentials.json");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("first-token") && kept.contains("mcp:h"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    // The server takes another token from now on; the kept one is renewed without anybody.
    *harbour.token.lock().unwrap() = "second-token";
    servers().test("h").await.unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().contains("second-token"));

    assert!(servers().log_out("h").unwrap());
    assert!(servers().test("h").await.is_err());
}

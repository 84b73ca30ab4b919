//! Who may ask what: tokens, signed tokens, rights, tenants, browsers.

use crate::common::*;
use crate::site::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_http::{Right, Settings};
use reqwest::Method;
use ring::signature::{self, KeyPair};
use serde_json::{Value, json};
use std::path::Path;

fn settings_of(text: &str) -> orlop_core::Result<Settings> {
    let env = RuntimeEnv::from_vars(Vars::from([("SECRET".to_owned(), "s".repeat(32))]));
    Settings::of(&AppConfig::from_text(Path::new("orlop.toml"), text, env)?)
}

#[tokio::test] // K-24
async fn a_token_is_needed_where_there_are_tokens() {
    let hash = sha256("hashed");
    let settings = settings_of(&format!(
        "[[server.tokens]]\ntoken = \"plain\"\ntenant = \"acme\"\nuser = \"ana\"\n[[server.tokens]]\ntoken = \"{hash}\"\ntenant = \"acme\"\nuser = \"bob\"\nscopes = [\"read\"]\n"
    ));
    let mut site = Site::with(&Scene::default(), settings.unwrap()).await;
    let (status, problem) = site.get("/sessions").await;
    assert_eq!((status, &problem["error_type"]), (401, &json!("unauthorized")));
    for wrong in ["", "plai", "plain2", "PLAIN", &hash] {
        site.token(wrong);
        assert_eq!(site.get("/sessions").await.0, 401, "{wrong}");
    }
    site.token("plain");
    assert_eq!(site.get("/sessions").await.0, 200);
    site.token("hashed");
    assert_eq!(site.get("/sessions").await.0, 200);
    // Probes and the document need none.
    site.token = None;
    assert_eq!(site.get("//healthz").await.0, 200);
    assert_eq!(site.get("//openapi.json").await.0, 200);
    assert_eq!(site.get("//metrics").await.0, 401);
    let basic = site.request(Method::GET, "/sessions").header("authorization", "Basic cGxhaW4=");
    assert_eq!(basic.send().await.unwrap().status(), 401);
}

fn sha256(text: &str) -> String {
    use sha2::Digest;
    let hash = sha2::Sha256::digest(text.as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[tokio::test]
async fn each_right_includes_those_before_it() {
    let tokens = [Right::Read, Right::Chat, Right::Admin]
        .map(|right| token(right.as_str(), "acme", "ana", right));
    let settings = Settings { tokens: tokens.to_vec(), ..Settings::default() };
    let mut site = Site::with(&Scene::says(&["a", "b"]), settings).await;
    let mut seen = Vec::new();
    for right in ["read", "chat", "admin"] {
        site.token(right);
        let id = format!("s-{right}");
        let created = site.post("/sessions", json!({ "session_id": id })).await.0;
        let powerful = json!({ "overrides": { "base_url": "http://evil.example" } });
        let harmless = json!({ "overrides": { "temperature": 0.5 } });
        seen.push((
            right,
            site.get("/sessions").await.0,
            created,
            site.patch(&format!("/sessions/{id}"), harmless).await.0,
            site.patch(&format!("/sessions/{id}"), powerful).await.0,
            site.get("//metrics").await.0,
        ));
    }
    assert_eq!(
        seen,
        [
            ("read", 200, 403, 403, 403, 403),
            ("chat", 200, 201, 200, 403, 403),
            ("admin", 200, 201, 200, 200, 200)
        ]
    );
    // However overrides come, they may not say where keys are sent.
    site.token("chat");
    let evil = json!({ "base_url": "http://evil.example" });
    let as_metadata = json!({ "metadata": { "overrides": evil } });
    let session = json!({ "session_id": "i", "messages": [], "metadata": { "overrides": evil } });
    for (path, body) in [
        ("/sessions", as_metadata.clone()),
        ("/sessions/import", session),
        ("/sessions/s-chat/requests", json!({ "content": "hi", "overrides": evil })),
        (
            "/sessions/s-chat/requests",
            json!({ "content": "hi", "overrides": { "shell": { "timeout_s": 1, "allow": ["*"] } } }),
        ),
    ] {
        assert_eq!(site.post(path, body).await.0, 403, "{path}");
    }
    assert_eq!(site.patch("/sessions/s-chat", as_metadata).await.0, 403);
}

/// A form with one file.
const FORM: &str = "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nsecret\r\n--X--\r\n";

/// Every route that is given an id: of a session `{s}`, a request `{r}`, a file `{a}` or a link `{l}`. The
/// body is JSON, a form or nothing.
fn routes_with_ids() -> Vec<(Method, &'static str, Value)> {
    let turn = json!({ "content": "x", "stream": false });
    let with_file = json!({ "content": "x", "stream": false, "attachments": ["{a}"] });
    let of_session = json!({ "session_id": "{s}" });
    let (get, post, patch, delete) = (Method::GET, Method::POST, Method::PATCH, Method::DELETE);
    let nothing = Value::Null;
    vec![
        (get.clone(), "/sessions/{s}", nothing.clone()),
        (patch.clone(), "/sessions/{s}", json!({ "title": "x" })),
        (delete.clone(), "/sessions/{s}", nothing.clone()),
        (get.clone(), "/sessions/{s}/export", nothing.clone()),
        (get.clone(), "/sessions/{s}/changes", nothing.clone()),
        (post.clone(), "/sessions/{s}/changes/1/undo", nothing.clone()),
        (post.clone(), "/sessions/{s}/fork", json!({})),
        (post.clone(), "/sessions/{s}/branches", json!({ "index": 0 })),
        (get.clone(), "/sessions/{s}/branches?index=0", nothing.clone()),
        (post.clone(), "/sessions/{s}/slice", json!({})),
        (post.clone(), "/sessions/{s}/join", of_session.clone()),
        (post.clone(), "/sessions/own/join", of_session.clone()),
        (post.clone(), "/sessions/{s}/agent", json!({ "agent_id": "other" })),
        (post.clone(), "/sessions/{s}/lifecycle/x", json!({})),
        (post.clone(), "/sessions/{s}/messages", json!({ "role": "user", "content": "x" })),
        (patch.clone(), "/sessions/{s}/messages/0", json!({ "content": "x" })),
        (post.clone(), "/sessions/{s}/shares", nothing.clone()),
        (get.clone(), "/sessions/{s}/shares", nothing.clone()),
        (delete.clone(), "/sessions/{s}/shares/{l}", nothing.clone()),
        (delete.clone(), "/sessions/own/shares/{l}", nothing.clone()),
        (post.clone(), "/sessions/{s}/requests", turn),
        (post.clone(), "/sessions/own/requests", with_file),
        (get.clone(), "/sessions/{s}/requests", nothing.clone()),
        (get.clone(), "/events?session_id={s}", nothing.clone()),
        (get.clone(), "/actions?session_id={s}", nothing.clone()),
        (post.clone(), "/actions/acts/go", of_session.clone()),
        (post.clone(), "/actions/acts/go/preview", of_session),
        (
            post.clone(),
            "/completions",
            json!({ "agent_id": "default", "session_id": "{s}", "text": "x" }),
        ),
        (get.clone(), "/agents/default/ui-schema?session_id={s}", nothing.clone()),
        (get.clone(), "/requests/{r}", nothing.clone()),
        (get.clone(), "/requests/{r}/events", nothing.clone()),
        (get.clone(), "/requests/{r}/trace", nothing.clone()),
        (post.clone(), "/requests/{r}/cancel", json!({})),
        (post.clone(), "/requests/{r}/approvals/c", json!({ "decision": "allow" })),
        (post.clone(), "/assets?session_id={s}", FORM.into()),
        (get.clone(), "/assets/{a}", nothing.clone()),
        (delete.clone(), "/assets/{a}", nothing.clone()),
        (get.clone(), "//v1/conversations/{s}", nothing.clone()),
        (post.clone(), "//v1/conversations/{s}", json!({ "metadata": { "a": "b" } })),
        (delete.clone(), "//v1/conversations/{s}", nothing.clone()),
        (get.clone(), "//v1/conversations/{s}/items", nothing.clone()),
        (
            post.clone(),
            "//v1/conversations/{s}/items",
            json!({ "items": [{ "role": "user", "content": "x" }] }),
        ),
        (
            post.clone(),
            "//v1/responses",
            json!({ "model": "default", "input": "x", "conversation": "{s}" }),
        ),
        (
            post.clone(),
            "//v1/responses",
            json!({ "model": "default", "input": "x", "previous_response_id": "resp_{r}" }),
        ),
        (get.clone(), "//v1/responses/resp_{r}", nothing.clone()),
        (get, "//v1/responses/resp_{r}/input_items", nothing.clone()),
        (post, "//v1/responses/resp_{r}/cancel", nothing.clone()),
        (delete, "//v1/responses/resp_{r}", nothing),
    ]
}

/// Ids of a session, a request, a file and a link.
type Ids<'a> = [(&'static str, &'a str); 4];

/// What a route answers for these ids, with the ids themselves masked.
async fn asked_with(
    site: &Site,
    (method, path, body): &(Method, &str, Value),
    ids: Ids<'_>,
) -> (u16, String) {
    let fill = |text: &str| ids.iter().fold(text.to_owned(), |it, (name, id)| it.replace(name, id));
    let request = site.request(method.clone(), &fill(path));
    let request = match body {
        Value::Null => request,
        Value::String(form) => {
            let kind = "multipart/form-data; boundary=X";
            request.header("content-type", kind).body(form.clone())
        }
        body => request.header("content-type", "application/json").body(fill(&body.to_string())),
    };
    let (status, body) = answer(request.send().await.unwrap()).await;
    (status, ids.iter().fold(body.to_string(), |it, (_, id)| it.replace(id, "*")))
}

#[tokio::test]
async fn what_belongs_to_others_is_as_unknown_as_what_never_was() {
    let tokens = vec![
        token("a", "acme", "ana", Right::Chat),
        token("b", "acme", "bob", Right::Chat),
        token("e", "evil", "eve", Right::Chat),
    ];
    let settings = Settings { tokens, share_links: true, ..Settings::default() };
    let acts = orlop_testkit::scripted::ScriptedApplication::new("acts")
        .actions(vec![orlop_core::ActionDefinition::new("go", "Go")]);
    let scene = Scene::says(&["hello", "again", "again"]).application(acts);
    let mut site = Site::with(&scene, settings).await;
    site.token("a");
    site.session("anas-session").await;
    let body = json!({ "content": "hi", "stream": false, "request_id": "anas-request" });
    assert_eq!(site.post("/sessions/anas-session/requests", body).await.0, 200);
    let put = site.request(Method::POST, "/assets");
    let put = put.header("content-type", "multipart/form-data; boundary=X").body(FORM);
    let (_, asset) = answer(put.send().await.unwrap()).await;
    let asset = asset["id"].as_str().unwrap();
    let (_, link) = site.post("/sessions/anas-session/shares", json!({})).await;
    let link = link["id"].as_str().unwrap();
    let unknown = "0f0f0f0f-0000-4000-8000-000000000000";
    let theirs = [("{s}", "anas-session"), ("{r}", "anas-request"), ("{a}", asset), ("{l}", link)];
    let never =
        [("{s}", "some-session"), ("{r}", "some-request"), ("{a}", unknown), ("{l}", unknown)];
    for other in ["b", "e"] {
        site.token(other);
        assert_eq!(site.get("/sessions").await.1["sessions"], json!([]));
        site.session("own").await;
        for route in routes_with_ids() {
            let (known, unknown) =
                (asked_with(&site, &route, theirs).await, asked_with(&site, &route, never).await);
            assert_eq!(known, unknown, "{} {}", route.0, route.1);
            // Without a session there is nothing to complete, and nothing wrong with that.
            let status = if route.1 == "/completions" { 200 } else { 404 };
            assert_eq!(known.0, status, "{} {} {}", route.0, route.1, known.1);
        }
    }
    let ana = orlop_app::Scope::new("acme", "ana").unwrap();
    let anas = site.host.app().for_scope(ana);
    assert_eq!(said(&anas, "anas-session").await, "hi|hello");
    assert_eq!(anas.shares("anas-session").await.unwrap().len(), 1);
    assert_eq!(site.files(), 1);
    // The same ids are free for everybody.
    for other in ["b", "e"] {
        site.token(other);
        site.session("anas-session").await;
        let body = json!({ "content": "yo", "stream": false, "request_id": "anas-request" });
        let (_, said) = site.post("/sessions/anas-session/requests", body).await;
        assert_eq!(said["messages"][0]["content"], "again");
    }
}

#[tokio::test]
async fn signed_tokens_say_who_asks() {
    let settings = settings_of(
        "[server.jwt]\nsecret = \"${env:SECRET}\"\nissuer = \"idp\"\naudience = \"orlop\"\n",
    );
    let mut site = Site::with(&Scene::default(), settings.unwrap()).await;
    let secret = "s".repeat(32);
    let claims = |changes: Value| {
        let mut claims = json!({
            "tenant": "acme", "sub": "ana", "scope": "openid read", "iss": "idp", "aud": "orlop",
            "exp": 4_000_000_000u64,
        });
        for (key, value) in changes.as_object().unwrap() {
            claims[key] = value.clone();
        }
        claims
    };
    let sign = |claims: &Value, secret: &str| {
        let key = EncodingKey::from_secret(secret.as_bytes());
        encode(&Header::default(), claims, &key).unwrap()
    };
    site.token(&sign(&claims(json!({})), &secret));
    assert_eq!(site.get("/sessions").await.0, 200);
    assert_eq!(site.post("/sessions", json!({})).await.0, 403);
    site.token(&sign(&claims(json!({ "scope": ["chat"] })), &secret));
    assert_eq!(site.post("/sessions", json!({ "session_id": "s" })).await.0, 201);
    site.token(&sign(&claims(json!({ "sub": "bob" })), &secret));
    assert_eq!(site.get("/sessions/s").await.0, 404);
    for (what, wrong) in [
        ("another secret", sign(&claims(json!({})), &"x".repeat(32))),
        ("too old", sign(&claims(json!({ "exp": 1 })), &secret)),
        ("another issuer", sign(&claims(json!({ "iss": "evil" })), &secret)),
        ("another audience", sign(&claims(json!({ "aud": "evil" })), &secret)),
        ("no tenant", sign(&claims(json!({ "tenant": null })), &secret)),
        ("nobody", sign(&claims(json!({ "sub": "" })), &secret)),
        ("no tenant's name", sign(&claims(json!({ "tenant": "" })), &secret)),
        ("unsigned", format!("eyJhbGciOiJub25lIn0.{}.", "eyJzdWIiOiJhbmEifQ")),
        ("nonsense", "a.b.c".to_owned()),
    ] {
        site.token(&wrong);
        assert_eq!(site.get("/sessions").await.0, 401, "{what}");
    }
    site.token(&sign(&claims(json!({ "scope": "openid" })), &secret));
    assert_eq!(site.get("/sessions").await.0, 403);
    // Names that are no ids have ids of their own, and nobody can take one by its name.
    let mut ids = Vec::new();
    for (tenant, user) in [
        ("acme", "auth0|123"),
        ("acme", "auth0/123"),
        ("https://acme.example/", "ana"),
        ("../x", "ana"),
        ("acme", "sha256:1"),
        ("acme", "sha256:7eb7fe76a0ff9a4ce8a0b2e5a7fa5e9cd3e16b35f1ab7a6b8f0c1b8c0e7b5a10"),
    ] {
        let who = json!({ "tenant": tenant, "sub": user, "scope": "chat" });
        site.token(&sign(&claims(who), &secret));
        let (status, info) = site.get("/info").await;
        assert_eq!(status, 200, "{tenant} {user}");
        assert_eq!(site.get("/sessions/s").await.0, 404);
        let told = |key: &str| info["user"][key].as_str().unwrap().to_owned();
        let (odd, name, plain) = match tenant {
            "acme" => (told("user"), user, told("tenant")),
            _ => (told("tenant"), tenant, told("user")),
        };
        assert!(odd.starts_with("sha256:") && odd.len() == 71 && odd != name, "{odd}");
        assert!(plain == "acme" || plain == "ana", "{plain}");
        ids.push(odd);
    }
    // As `printf %s 'auth0|123' | sha256sum` has it.
    assert_eq!(ids[0], "sha256:4043445eadeeeb2a5d885af3c133f60ef57523a1ff87ba20edcc5b6de392eb6c");
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let (start, _) = sign(&claims(json!({})), &secret)
        .rsplit_once('.')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let body = start.split_once('.').unwrap().1;
    for (header, accepted) in [
        (json!({ "alg": "HS256", "typ": "JWT" }), 200),
        (json!({ "alg": "HS256", "typ": "JWT", "crit": ["exp2"], "exp2": 1 }), 401),
        (json!({ "alg": "HS256", "typ": "JWT", "crit": [] }), 401),
    ] {
        let start = format!("{}.{body}", encoded(header.to_string().as_bytes()));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
        let signature = encoded(ring::hmac::sign(&key, start.as_bytes()).as_ref());
        site.token(&format!("{start}.{signature}"));
        assert_eq!(site.get("/sessions").await.0, accepted, "{header}");
    }
}

/// A key of a signer, and how it is told to others.
struct Signer {
    key: EncodingKey,
    algorithm: Algorithm,
    /// The public key: the point of a curve, or a modulus.
    public: Vec<u8>,
}

impl Signer {
    fn es256() -> Self {
        let kind = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let random = ring::rand::SystemRandom::new();
        let secret = signature::EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = signature::EcdsaKeyPair::from_pkcs8(kind, secret.as_ref(), &random).unwrap();
        let public = pair.public_key().as_ref().to_vec();
        let key = EncodingKey::from_ec_der(secret.as_ref());
        Self { key, algorithm: Algorithm::ES256, public }
    }

    fn ed25519() -> Self {
        let random = ring::rand::SystemRandom::new();
        let secret = signature::Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let pair = signature::Ed25519KeyPair::from_pkcs8(secret.as_ref()).unwrap();
        let public = pair.public_key().as_ref().to_vec();
        let key = EncodingKey::from_ed_der(secret.as_ref());
        Self { key, algorithm: Algorithm::EdDSA, public }
    }

    /// Made by OpenSSL; `ring` makes no keys of this kind.
    fn rs256() -> Self {
        let make = "openssl genrsa 2048 | openssl rsa -traditional -outform DER";
        let made = std::process::Command::new("sh").args(["-c", make]).output().unwrap();
        let secret = &*made.stdout;
        let pair = signature::RsaKeyPair::from_der(secret).unwrap();
        let public = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public()).n;
        let key = EncodingKey::from_rsa_der(secret);
        Self { key, algorithm: Algorithm::RS256, public }
    }

    fn jwk(&self, id: &str) -> Value {
        match self.algorithm {
            Algorithm::RS256 => json!({
                "kid": id, "use": "sig", "kty": "RSA", "n": encoded(&self.public), "e": "AQAB",
            }),
            Algorithm::ES256 => json!({
                "kid": id, "use": "sig", "kty": "EC", "crv": "P-256",
                "x": encoded(&self.public[1..33]), "y": encoded(&self.public[33..]),
            }),
            _ => json!({
                "kid": id, "use": "sig", "kty": "OKP", "crv": "Ed25519", "x": encoded(&self.public),
            }),
        }
    }

    fn sign(&self, id: Option<&str>, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = id.map(str::to_owned);
        encode(&header, claims, &self.key).unwrap()
    }
}

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[tokio::test]
async fn tokens_are_checked_by_the_public_keys_of_their_signer() {
    let folder = AssetFolder::new();
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("keys.json");
    let (first, second, stranger) = (Signer::es256(), Signer::ed25519(), Signer::es256());
    // A shared secret among public keys is no key of anybody.
    let shared = json!({ "kid": "shared", "kty": "oct", "k": encoded(&[b'k'; 32]) });
    let set = json!({ "keys": [first.jwk("first"), second.jwk("second"), shared] }).to_string();
    std::fs::write(&file, &set).unwrap();
    let settings =
        settings_of(&format!("[server.jwt]\njwks = {file:?}\naudience = \"orlop\"\n")).unwrap();
    let mut site = Site::with(&Scene::default(), settings).await;
    let claims = |changes: Value| {
        let mut claims = json!({
            "tenant": "acme", "sub": "ana", "scope": "chat", "aud": "orlop", "exp": 4_000_000_000u64,
        });
        claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        claims
    };
    let good = claims(json!({}));
    for (what, token) in [
        ("a key by its name", first.sign(Some("first"), &good)),
        ("another kind of key", second.sign(Some("second"), &good)),
        ("a key without a name", second.sign(None, &good)),
    ] {
        site.token(&token);
        assert_eq!(site.get("/sessions").await.0, 200, "{what}");
    }
    let by_secret = |secret: &[u8], id: &str| {
        let header = Header { kid: Some(id.to_owned()), ..Header::new(Algorithm::HS256) };
        encode(&header, &good, &EncodingKey::from_secret(secret)).unwrap()
    };
    let body = encoded(good.to_string().as_bytes());
    let unsigned = |header: Value| format!("{}.{body}.", encoded(header.to_string().as_bytes()));
    let signed = first.sign(Some("first"), &good);
    let (start, signature) = signed.rsplit_once('.').unwrap();
    let (head, _) = start.split_once('.').unwrap();
    let other = encoded(claims(json!({ "sub": "eve" })).to_string().as_bytes());
    for (what, token) in [
        ("a name that is not known", first.sign(Some("third"), &good)),
        ("the name of another key", first.sign(Some("second"), &good)),
        ("a key that is not known", stranger.sign(Some("first"), &good)),
        ("a key that is not known, without a name", stranger.sign(None, &good)),
        ("too old", first.sign(Some("first"), &claims(json!({ "exp": 1 })))),
        ("too early", first.sign(Some("first"), &claims(json!({ "nbf": 3_900_000_000u64 })))),
        ("without an end", first.sign(Some("first"), &claims(json!({ "exp": null })))),
        ("another audience", first.sign(Some("first"), &claims(json!({ "aud": "evil" })))),
        ("no audience", first.sign(Some("first"), &claims(json!({ "aud": null })))),
        ("unsigned", unsigned(json!({ "alg": "none", "typ": "JWT", "kid": "first" }))),
        ("signed by nothing", unsigned(json!({ "alg": "ES256", "kid": "first" }))),
        ("the public key as a secret", by_secret(&first.public, "first")),
        ("the public key in its file as a secret", by_secret(set.as_bytes(), "first")),
        ("a secret among public keys", by_secret(&[b'k'; 32], "shared")),
        ("other words under the same signature", format!("{head}.{other}.{signature}")),
    ] {
        site.token(&token);
        assert_eq!(site.get("/sessions").await.0, 401, "{what}");
    }
    std::fs::write(&file, json!({ "keys": [shared] }).to_string()).unwrap();
    let none = settings_of(&format!("[server.jwt]\njwks = {file:?}\n")).unwrap();
    let refused = Site::refused(&Scene::default(), none).await;
    assert!(refused.contains("it has no public keys"), "{refused}");
}

#[tokio::test]
async fn public_keys_are_used_for_what_they_are_for() {
    let folder = AssetFolder::new();
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("keys.json");
    let (rsa, point) = (Signer::rs256(), Signer::es256());
    let claims =
        json!({ "tenant": "acme", "sub": "ana", "scope": "chat", "exp": 4_000_000_000u64 });
    let with = |signer: &Signer, changes: Value| {
        let mut jwk = signer.jwk("it");
        jwk.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        jwk
    };
    // A key of a kind that nobody knows here keeps nobody from the others.
    let odd =
        json!({ "kid": "odd", "kty": "EC", "crv": "P-999", "alg": "ES999", "x": "", "y": "" });
    for (what, signer, jwk, accepted) in [
        ("a key of RSA", &rsa, with(&rsa, json!({})), true),
        ("a key for this algorithm", &rsa, with(&rsa, json!({ "alg": "RS256" })), true),
        ("a key for another algorithm", &rsa, with(&rsa, json!({ "alg": "RS512" })), false),
        ("a key for encryption", &rsa, with(&rsa, json!({ "use": "enc" })), false),
        ("an algorithm of encryption", &rsa, with(&rsa, json!({ "alg": "RSA-OAEP" })), false),
        ("a point for this algorithm", &point, with(&point, json!({ "alg": "ES256" })), true),
        ("a point for another algorithm", &point, with(&point, json!({ "alg": "ES384" })), false),
    ] {
        let other = Signer::ed25519().jwk("other");
        std::fs::write(&file, json!({ "keys": [odd, jwk, other] }).to_string()).unwrap();
        let settings = settings_of(&format!("[server.jwt]\njwks = {file:?}\n")).unwrap();
        let mut site = Site::with(&Scene::default(), settings).await;
        for id in [Some("it"), None] {
            site.token(&signer.sign(id, &claims));
            let expected = if accepted { 200 } else { 401 };
            assert_eq!(site.get("/sessions").await.0, expected, "{what}");
        }
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let wrong = |text: &str| settings_of(text).err().unwrap().to_string();
    assert!(wrong("[server.jwt]\nissuer = \"x\"\n").contains("either a secret or jwks"));
    let token = "[[server.tokens]]\ntoken = \"t\"\ntenant = \"a\"\nuser = \"u\"\n";
    assert!(wrong(&format!("{token}scopes = [\"root\"]\n")).contains("root"));
}

#[tokio::test] // K-24
async fn only_this_machine_is_served_without_tokens() {
    let open = Settings::default();
    assert!(open.check_address("127.0.0.1:1".parse().unwrap()).is_ok());
    assert!(open.check_address("[::1]:1".parse().unwrap()).is_ok());
    assert!(open.check_address("[::ffff:127.0.0.1]:1".parse().unwrap()).is_ok());
    let refused = open.check_address("0.0.0.0:1".parse().unwrap()).unwrap_err();
    assert!(refused.to_string().contains("server.tokens"), "{refused}");
    let guarded = Settings { tokens: vec![token("t", "a", "u", Right::Read)], ..open };
    assert!(guarded.check_address("0.0.0.0:1".parse().unwrap()).is_ok());
}

#[tokio::test]
async fn pages_elsewhere_cannot_use_the_server() {
    let settings =
        Settings { origins: vec!["https://app.example".to_owned()], ..Default::default() };
    let site = Site::with(&Scene::default(), settings).await;
    let own = site.url.clone();
    let status = async |headers: &[(&str, &str)]| {
        let mut request = site.request(Method::POST, "/sessions");
        request = request.header("content-type", "application/json").body("{}");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap().status().as_u16()
    };
    // A program, the server's own page, a page that is named.
    assert_eq!(status(&[]).await, 201);
    assert_eq!(status(&[("origin", &own)]).await, 201);
    assert_eq!(status(&[("origin", "https://app.example")]).await, 201);
    for origin in
        ["https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1:1"]
    {
        assert_eq!(status(&[("origin", origin)]).await, 403, "{origin}");
    }
    assert_eq!(status(&[("sec-fetch-site", "cross-site")]).await, 403);
    // Another name that leads here.
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""] {
        assert_eq!(status(&[("host", host)]).await, 403, "{host}");
    }
    assert_eq!(status(&[("host", "localhost:7420")]).await, 201);
    // Forms need no permission of a browser, and are no JSON.
    let form = site.request(Method::POST, "/sessions").header("content-type", "text/plain");
    assert_eq!(form.body("{}").send().await.unwrap().status(), 415);
    let preflight = |origin: &'static str| {
        let request = site.request(Method::OPTIONS, "/sessions").header("origin", origin);
        let request = request.header("access-control-request-headers", "x-stainless-os, x-own");
        request.header("access-control-request-method", "POST").send()
    };
    let allowed = preflight("https://app.example").await.unwrap();
    assert_eq!(allowed.status(), 204);
    assert_eq!(allowed.headers()["access-control-allow-origin"], "https://app.example");
    assert_eq!(allowed.headers()["access-control-allow-headers"], "x-stainless-os, x-own");
    let refused = preflight("https://evil.example").await.unwrap();
    assert_eq!(refused.status(), 403);
    assert!(!refused.headers().contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn requests_with_a_token_are_counted() {
    let tokens = vec![token("a", "t", "a", Right::Read), token("b", "t", "b", Right::Read)];
    let mut settings = Settings { tokens, ..Settings::default() };
    settings.limits.requests_per_minute = 3;
    let mut site = Site::with(&Scene::default(), settings).await;
    site.token("a");
    for _ in 0..3 {
        assert_eq!(site.get("/agents").await.0, 200);
    }
    let refused = site.request(Method::GET, "/agents").send().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    site.token("b");
    assert_eq!(site.get("/agents").await.0, 200);
}

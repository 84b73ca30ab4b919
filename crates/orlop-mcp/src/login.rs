//! Logins to servers that want one: OAuth in the browser, with the tokens among the stored logins of
//! Orlop.

use crate::http::is_loopback;
use crate::words;
use async_trait::async_trait;
use futures::stream::{FuturesUnordered, StreamExt};
use orlop_app::{Credential, Credentials};
use orlop_core::{Error, Map, Result};
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    CredentialStore, StoredCredentials,
};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The key under which a login keeps what renewing it needs.
const KEPT: &str = "mcp";
/// The longest request that a browser makes here.
const MAX_REQUEST: u64 = 64 * 1024;
/// How long a connection may be open before its request has come.
const MAX_QUIET: Duration = Duration::from_secs(60);

/// The name of the login to a server.
pub(crate) fn name_of(server: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    format!("mcp:{}", server.chars().map(plain).take(80).collect::<String>())
}

/// The login to one server, as the protocol's library asks for it.
#[derive(Clone)]
struct Kept {
    credentials: Credentials,
    name: String,
}

#[async_trait]
impl CredentialStore for Kept {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let login = self.credentials.get(&self.name).map_err(failed)?;
        let kept = login.and_then(|mut login| login.other.shift_remove(KEPT));
        // One that cannot be read is as good as none: a new login takes its place.
        Ok(kept.and_then(|kept| serde_json::from_value(kept).ok()))
    }

    async fn save(&self, stored: StoredCredentials) -> Result<(), AuthError> {
        let kept = serde_json::to_value(&stored).map_err(failed)?;
        let token = kept.pointer("/token_response/access_token");
        let access_token = token.and_then(|it| it.as_str()).unwrap_or_default().to_owned();
        let other = Map::from_iter([(KEPT.to_owned(), kept)]);
        let login = Credential { access_token, other, ..Credential::default() };
        self.credentials.store(&self.name, login).map_err(failed)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.credentials.remove(&self.name).map(drop).map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

/// A client that sends the token of a login, and renews it; none if nobody has logged in.
pub(crate) async fn client(
    server: &str,
    url: &str,
    client: reqwest::Client,
    credentials: Option<&Credentials>,
) -> Result<Option<AuthClient<reqwest::Client>>> {
    let Some(credentials) = credentials else { return Ok(None) };
    let name = name_of(server);
    if credentials.get(&name)?.is_none() {
        return Ok(None);
    }
    let mut manager = manager(url, credentials, name).await.map_err(told)?;
    match manager.initialize_from_store().await {
        Ok(true) => Ok(Some(AuthClient::new(client, manager))),
        Ok(false) => Ok(None),
        Err(error) => Err(told(error)),
    }
}

async fn manager(
    url: &str,
    credentials: &Credentials,
    name: String,
) -> Result<AuthorizationManager, AuthError> {
    let mut manager = AuthorizationManager::new(url).await?;
    if is_loopback(url) {
        // No proxy stands between this machine and itself.
        let client = crate::http::client(url).map_err(failed)?;
        manager.with_client(client)?;
    }
    manager.set_credential_store(Kept { credentials: credentials.clone(), name });
    Ok(manager)
}

/// Logs in: `show` is given the address that a person opens. Ends when the browser comes back.
pub(crate) async fn log_in(
    server: &str,
    url: &str,
    credentials: &Credentials,
    show: impl FnOnce(&str),
) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let no_port = |error: std::io::Error| {
        Error::unavailable(format!("no port of this machine can be listened on: {error}"))
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(no_port)?;
    let here = format!("http://{}/callback", listener.local_addr().map_err(no_port)?);
    let mut manager = manager(url, credentials, name_of(server)).await.map_err(told)?;
    let found = manager.resolve_metadata().await.map_err(told)?;
    manager.set_metadata(found.metadata);
    let request = AuthorizationRequest::new(&here).with_client_name("Orlop");
    let session = AuthorizationSession::new(manager, request).await;
    let session = session.map_err(|(_, error)| told(error))?;
    show(session.get_authorization_url());
    let (back, mut browser) = comes_back(&listener, &here).await.map_err(no_port)?;
    let done = session.handle_callback_url(&back).await;
    let page = match &done {
        Ok(_) => "You are logged in. You can close this page.",
        Err(_) => "The login failed. Orlop says why.",
    };
    // The browser may be gone; what counts is whether there is a token.
    let _ = answer(&mut browser, "200 OK", page).await;
    done.map(drop).map_err(told)
}

/// The address that the browser was sent to. Browsers open connections ahead of time and say
/// nothing on them, so that all of them are listened to at once.
async fn comes_back(listener: &TcpListener, here: &str) -> std::io::Result<(String, TcpStream)> {
    let mut asked = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                asked.push(tokio::time::timeout(MAX_QUIET, callback(accepted?.0)));
            }
            Some(came) = asked.next() => {
                if let Ok(Some((query, stream))) = came {
                    return Ok((format!("{here}{query}"), stream));
                }
            }
        }
    }
}

/// What stands behind the address in the request on a connection; anything else is answered here.
async fn callback(mut stream: TcpStream) -> Option<(String, TcpStream)> {
    let mut line = String::new();
    let mut reader = BufReader::new((&mut stream).take(MAX_REQUEST));
    reader.read_line(&mut line).await.ok()?;
    // The rest of the request has to be read before it is answered.
    let mut header = String::new();
    while reader.read_line(&mut header).await.is_ok_and(|read| read > 2) {
        header.clear();
    }
    let target = line.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    match target.and_then(|target| target.strip_prefix("/callback")) {
        Some(query) if query.starts_with('?') => Some((query.to_owned(), stream)),
        _ => {
            let _ = answer(&mut stream, "404 Not Found", "There is nothing here.").await;
            None
        }
    }
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

fn told(error: AuthError) -> Error {
    Error::unavailable(format!("the login failed: {}", words::line(&error.to_string(), 500)))
}

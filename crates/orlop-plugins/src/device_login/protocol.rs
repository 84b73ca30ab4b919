//! What is said to a login server (RFC 8628, and RFC 6749 section 6 for renewing), and how its
//! answers are read. Nothing it says is believed further than it has been checked.

use super::settings::{Service, is_loopback};
use orlop_app::ui::{plain_line, web_url};
use orlop_app::{Credential, rfc3339};
use orlop_core::{Map, Value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use url::Url;

/// The largest answer that is read.
const MAX_BODY: usize = 64 * 1024;
/// The longest token, code and sentence that is accepted or shown.
const MAX_TOKEN: usize = 16 * 1024;
const MAX_CODE: usize = 64;
const MAX_SAID: usize = 200;
/// The longest a code is waited for, and the longest a token is believed to last, in seconds.
const MAX_WAIT: u64 = 30 * 60;
const MAX_LIFE: u64 = 10 * 365 * 24 * 60 * 60;
/// How often is asked where the server does not say, and how seldom at most, in seconds.
const INTERVAL: u64 = 5;
pub(super) const MAX_INTERVAL: u64 = 60;

/// What the person has to do.
#[derive(Clone)]
pub(super) struct Offer {
    device_code: String,
    pub(super) user_code: String,
    /// Where the code is entered.
    pub(super) page: String,
    /// The same with the code in it, if the server has that.
    pub(super) page_with_code: Option<String>,
    /// Seconds until the code ends.
    pub(super) expires_in: u64,
    /// Seconds between two questions.
    pub(super) interval: u64,
}

/// What came of asking for the token.
pub(super) enum Asked {
    /// The person has not entered the code yet.
    Pending,
    /// The same, and the server wants to be asked less often.
    SlowDown,
    Granted(Credential),
    /// It will not come.
    Refused(String),
    /// There was no answer to go by; the next question may get one.
    Lost(String),
}

/// Why there is no answer that can be used.
#[derive(Debug)]
pub(super) enum Failure {
    /// Trying again may help.
    Lost(String),
    /// It would not.
    Wrong(String),
}

impl Failure {
    pub(super) fn into_message(self) -> String {
        let (Self::Lost(message) | Self::Wrong(message)) = self;
        message
    }
}

type Answer = (u16, Map);

/// A service that can be asked.
pub(super) struct Server {
    pub(super) service: Service,
    client: reqwest::Client,
}

impl Server {
    pub(super) fn new(service: Service, answer_within: Duration) -> Result<Self, Failure> {
        // Somebody may have installed one already; then theirs is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .timeout(answer_within)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("orlop/", env!("CARGO_PKG_VERSION")));
        let is_local = is_loopback(&service.device_url) && is_loopback(&service.token_url);
        let builder = if is_local { builder.tls_certs_only([]).no_proxy() } else { builder };
        let client = builder.build().map_err(|error| Failure::Wrong(cause_of(&error)))?;
        Ok(Self { service, client })
    }

    /// Asks for a code.
    pub(super) async fn offer(&self) -> Result<Offer, Failure> {
        let scopes = self.service.scopes.join(" ");
        let further = self.service.parameters.iter();
        let mut form: Vec<(&str, &str)> =
            further.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect();
        if !scopes.is_empty() {
            form.push(("scope", &scopes));
        }
        let (status, answer) = self.post(&self.service.device_url, &form).await?;
        if let Some(error) = self.error_in(status, &answer, &[]) {
            return Err(Failure::Wrong(error));
        }
        offer_in(&answer).map_err(|what| Failure::Wrong(format!("the login server sent {what}")))
    }

    /// Asks for the token of a code.
    pub(super) async fn ask(&self, offer: &Offer) -> Asked {
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", &offer.device_code),
        ];
        let (status, answer) = match self.post(&self.service.token_url, &form).await {
            Ok(answer) => answer,
            Err(Failure::Lost(why)) => return Asked::Lost(why),
            Err(Failure::Wrong(why)) => return Asked::Refused(why),
        };
        match answer.get("error").and_then(Value::as_str) {
            Some("authorization_pending") => return Asked::Pending,
            Some("slow_down") => return Asked::SlowDown,
            Some("access_denied") => return Asked::Refused("the login was refused".to_owned()),
            Some("expired_token") => return Asked::Refused("the code has expired".to_owned()),
            _ => {}
        }
        if let Some(error) = self.error_in(status, &answer, &[&offer.device_code]) {
            return Asked::Refused(error);
        }
        match credential_in(&answer, None) {
            Ok(credential) => Asked::Granted(credential),
            Err(what) => Asked::Refused(format!("the login server sent {what}")),
        }
    }

    /// Asks for a new token in the place of one that ends.
    pub(super) async fn renew(&self, login: &Credential) -> Result<Credential, Failure> {
        let Some(refresh) = &login.refresh_token else {
            return Err(Failure::Wrong("there is nothing to renew it with".to_owned()));
        };
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
        let (status, answer) = self.post(&self.service.token_url, &form).await?;
        if let Some(error) = self.error_in(status, &answer, &[refresh]) {
            return Err(Failure::Wrong(error));
        }
        credential_in(&answer, Some(login))
            .map_err(|what| Failure::Wrong(format!("the login server sent {what}")))
    }

    /// Sends a form with the client's own id, and reads a JSON object of a bounded size.
    async fn post(&self, url: &Url, form: &[(&str, &str)]) -> Result<Answer, Failure> {
        let request = self
            .client
            .post(url.clone())
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .body(self.form(form));
        let lost = |error: reqwest::Error| {
            Failure::Lost(format!("the login server did not answer: {}", cause_of(&error)))
        };
        let mut response = request.send().await.map_err(lost)?;
        let status = response.status().as_u16();
        if (300..400).contains(&status) {
            return Err(Failure::Wrong(format!(
                "the login server answered with a redirect ({status}), and tokens are not sent elsewhere; correct the address in the configuration"
            )));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if bytes.len() + chunk.len() > MAX_BODY {
                let what = format!("the login server sent more than {} KiB", MAX_BODY / 1024);
                return Err(Failure::Wrong(what));
            }
            bytes.extend_from_slice(&chunk);
        }
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(answer)) => Ok((status, answer)),
            _ if passes(status) => {
                Err(Failure::Lost(format!("the login server answered with status {status}")))
            }
            _ => Err(Failure::Wrong(format!(
                "the login server answered with status {status}, and not with a JSON object"
            ))),
        }
    }

    /// The body of a question.
    fn form(&self, form: &[(&str, &str)]) -> String {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.append_pair("client_id", &self.service.client_id);
        if let Some(secret) = &self.service.client_secret {
            body.append_pair("client_secret", secret);
        }
        body.extend_pairs(form).finish()
    }

    /// The error an answer tells of, without what was sent in it.
    fn error_in(&self, status: u16, answer: &Map, sent: &[&str]) -> Option<String> {
        let said = |key: &str| answer.get(key).and_then(Value::as_str);
        let error = said("error");
        if error.is_none() && (200..300).contains(&status) {
            return None;
        }
        let mut text =
            [error, said("error_description")].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let secrets = sent.iter().copied().chain(self.service.client_secret.as_deref());
        for secret in secrets.filter(|secret| !secret.is_empty()) {
            text = text.replace(secret, "***");
        }
        let text: String = plain_line(&text).chars().take(MAX_SAID).collect();
        Some(match text.is_empty() {
            true => format!("the login server answered with status {status}"),
            false => format!("the login server answered: {text}"),
        })
    }
}

/// Whether a server that answers like this may answer otherwise soon.
fn passes(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..)
}

/// The innermost reason, which does not repeat the address.
fn cause_of(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match std::ptr::addr_eq(cause, error) {
        true => "the request could not be sent".to_owned(),
        false => plain_line(&cause.to_string()),
    }
}

/// Reads the answer to the question for a code. The error says what is wrong with it.
fn offer_in(answer: &Map) -> Result<Offer, &'static str> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let device_code =
        text("device_code").filter(|code| is_token(code)).ok_or("no usable device_code")?;
    let user_code = text("user_code").map(str::trim).filter(|code| {
        let shown = |c: char| (c.is_ascii_graphic() && c != '`') || c == ' ';
        !code.is_empty() && code.len() <= MAX_CODE && code.chars().all(shown)
    });
    // Google says url where the standard says uri.
    let page = text("verification_uri").or_else(|| text("verification_url"));
    let page = page.and_then(web_url).ok_or("no verification_uri that is an address of the web")?;
    let expires_in = match answer.get("expires_in") {
        None | Some(Value::Null) => MAX_WAIT,
        Some(value) => seconds(value).ok_or("an expires_in that is no time to come")?,
    };
    // A wrong interval is no reason not to log in.
    let interval = answer.get("interval").and_then(seconds).unwrap_or(INTERVAL);
    Ok(Offer {
        device_code: device_code.to_owned(),
        user_code: user_code.ok_or("no usable user_code")?.to_owned(),
        page,
        page_with_code: text("verification_uri_complete").and_then(web_url),
        expires_in: expires_in.min(MAX_WAIT),
        interval: interval.min(MAX_INTERVAL),
    })
}

/// Reads an answer with tokens. What it does not say of a login that is renewed stays.
fn credential_in(answer: &Map, before: Option<&Credential>) -> Result<Credential, &'static str> {
    let token = |key: &str| match answer.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if is_token(text) => Ok(Some(text.clone())),
        Some(_) => Err(()),
    };
    let access_token =
        token("access_token").map_err(|()| "an access_token that no header can carry")?;
    let refresh_token =
        token("refresh_token").map_err(|()| "a refresh_token that cannot be used")?;
    match answer.get("token_type") {
        None | Some(Value::Null) => {}
        Some(Value::String(kind)) if kind.eq_ignore_ascii_case("bearer") => {}
        Some(_) => return Err("a token of another type than Bearer"),
    }
    let expires_at = match answer.get("expires_in") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let life = seconds(value).ok_or("an expires_in that is no time to come")?;
            Some(after(life.min(MAX_LIFE)))
        }
    };
    Ok(Credential {
        access_token: access_token.ok_or("no access_token")?,
        refresh_token: refresh_token.or_else(|| before?.refresh_token.clone()),
        expires_at,
        token_type: Some("Bearer".to_owned()),
        renewed_by: Some(super::NAME.to_owned()),
        other: before.map(|before| before.other.clone()).unwrap_or_default(),
    })
}

/// A positive number of seconds; some servers write it as a text.
fn seconds(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| *number >= 1.0).map(|number| number as u64)
}

/// Whether a text can be sent in a header and kept in a file.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The moment so many seconds from now.
pub(super) fn after(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let then = now.saturating_add(Duration::from_secs(seconds)).as_millis();
    rfc3339(i64::try_from(then).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn map(value: Value) -> Map {
        value.as_object().cloned().unwrap()
    }

    fn check_offer(change: Value, expected: Expect) {
        let mut answer = map(json!({
            "device_code": "dev", "user_code": "ABCD-EFGH", "verification_uri": "https://a.test/go",
            "expires_in": 900, "interval": 5,
        }));
        answer.extend(map(change));
        let shown = match offer_in(&answer) {
            Ok(offer) => format!(
                "{} {} {:?} {} {}",
                offer.user_code, offer.page, offer.page_with_code, offer.expires_in, offer.interval
            ),
            Err(what) => what.to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[test] // M-18
    fn an_offer_is_believed_as_far_as_it_can_be_used() {
        check_offer(json!({}), expect!["ABCD-EFGH https://a.test/go None 900 5"]);
        check_offer(
            json!({ "verification_uri": null, "verification_url": "https://g.test", "verification_uri_complete": "https://g.test/?c=A" }),
            expect![[r#"ABCD-EFGH https://g.test Some("https://g.test/?c=A") 900 5"#]],
        );
        check_offer(
            json!({ "verification_uri": "file:///etc/passwd" }),
            expect!["no verification_uri that is an address of the web"],
        );
        check_offer(
            json!({ "verification_uri": "javascript:alert(1)" }),
            expect!["no verification_uri that is an address of the web"],
        );
        check_offer(
            json!({ "verification_uri_complete": "file:///x" }),
            expect!["ABCD-EFGH https://a.test/go None 900 5"],
        );
        check_offer(
            json!({ "interval": -3, "expires_in": "600" }),
            expect!["ABCD-EFGH https://a.test/go None 600 5"],
        );
        check_offer(
            json!({ "interval": "often" }),
            expect!["ABCD-EFGH https://a.test/go None 900 5"],
        );
        check_offer(
            json!({ "interval": 1e300, "expires_in": 1e300 }),
            expect!["ABCD-EFGH https://a.test/go None 1800 60"],
        );
        check_offer(json!({ "expires_in": -1 }), expect!["an expires_in that is no time to come"]);
        check_offer(json!({ "expires_in": [1] }), expect!["an expires_in that is no time to come"]);
        check_offer(json!({ "user_code": "A`B" }), expect!["no usable user_code"]);
        check_offer(json!({ "user_code": "A\u{1b}[2J" }), expect!["no usable user_code"]);
        check_offer(json!({ "user_code": 1234 }), expect!["no usable user_code"]);
        check_offer(json!({ "device_code": "a\nb" }), expect!["no usable device_code"]);
        check_offer(json!({ "device_code": { "a": 1 } }), expect!["no usable device_code"]);
    }

    fn check_token(answer: Value, expected: Expect) {
        let before = Credential { refresh_token: Some("old".to_owned()), ..Credential::new("t") };
        let shown = match credential_in(&map(answer), Some(&before)) {
            Ok(login) => format!(
                "{} {:?} ends: {}",
                login.access_token,
                login.refresh_token,
                login.expires_at.is_some()
            ),
            Err(what) => what.to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[test] // M-18
    fn tokens_are_believed_as_far_as_they_can_be_used() {
        check_token(
            json!({ "access_token": "a", "expires_in": 60 }),
            expect![[r#"a Some("old") ends: true"#]],
        );
        check_token(
            json!({ "access_token": "a", "refresh_token": "b", "token_type": "BEARER" }),
            expect![[r#"a Some("b") ends: false"#]],
        );
        check_token(
            json!({ "access_token": "a\r\nx-evil: 1" }),
            expect!["an access_token that no header can carry"],
        );
        check_token(
            json!({ "access_token": ["a"] }),
            expect!["an access_token that no header can carry"],
        );
        check_token(
            json!({ "access_token": "x".repeat(20_000) }),
            expect!["an access_token that no header can carry"],
        );
        check_token(
            json!({ "access_token": "" }),
            expect!["an access_token that no header can carry"],
        );
        check_token(json!({}), expect!["no access_token"]);
        check_token(
            json!({ "access_token": "a", "refresh_token": "b c" }),
            expect!["a refresh_token that cannot be used"],
        );
        check_token(
            json!({ "access_token": "a", "token_type": "mac" }),
            expect!["a token of another type than Bearer"],
        );
        check_token(
            json!({ "access_token": "a", "expires_in": -5 }),
            expect!["an expires_in that is no time to come"],
        );
        check_token(
            json!({ "access_token": "a", "expires_in": 1e300 }),
            expect![[r#"a Some("old") ends: true"#]],
        );
    }
}

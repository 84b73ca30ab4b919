//! The section `device_login`: which services can be logged in to, and where they are asked.

use orlop_app::Application;
use orlop_core::types::nearest::hint;
use orlop_core::{Error, Map, Result, Value};
use serde_json::json;
use url::Url;

/// One service.
#[derive(Clone)]
pub(super) struct Service {
    /// What it is called in the configuration.
    pub(super) name: String,
    pub(super) device_url: Url,
    pub(super) token_url: Url,
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
    pub(super) scopes: Vec<String>,
    /// Further parameters of the first request.
    pub(super) parameters: Map,
    /// The name under which the login is stored.
    pub(super) credential: String,
}

/// The key of the section, described.
pub(super) fn descriptor() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "description": "Services to log in to with a code that is entered on another device, by name.",
        "additionalProperties": {
            "type": "object",
            "properties": {
                "device_url": text("Where a code is asked for (device_authorization_endpoint)."),
                "token_url": text("Where tokens are given out (token_endpoint)."),
                "client_id": text("The id this program has there."),
                "client_secret": text("Its secret, where the service wants one."),
                "scopes": {
                    "type": "array", "items": { "type": "string" },
                    "description": "What the token is to be good for.",
                },
                "parameters": {
                    "type": "object", "additionalProperties": { "type": "string" },
                    "description": "What else the service wants to be told when a code is asked for, such as audience.",
                },
                "credential": text("The name of the login in ${credential:NAME}; that of the service if it is not said."),
            },
            "additionalProperties": false,
        },
    })
}

impl Service {
    /// The service of a name; the only one, if no name is said.
    pub(super) fn of(app: &Application, name: Option<&str>) -> Result<Self> {
        let all = all(app)?;
        let names = || all.keys().map(String::as_str);
        let name = match (name, all.len()) {
            (_, 0) => {
                return Err(Error::bad_state(
                    "no service to log in to is configured; add a section [device_login.NAME]",
                ));
            }
            (Some(name), _) => name,
            (None, 1) => names().next().unwrap_or_default(),
            (None, _) => {
                let names = names().collect::<Vec<_>>().join(", ");
                return Err(Error::bad_argument(format!("say which service: {names}")));
            }
        };
        match all.get(name) {
            Some(section) => Self::read(name, section),
            None => Err(Error::not_found(format!(
                "there is no service \"{name}\" in device_login; {}",
                hint(name, names())
            ))),
        }
    }

    /// The service whose login is stored under a name.
    pub(super) fn of_credential(app: &Application, credential: &str) -> Result<Self> {
        for (name, section) in &all(app)? {
            let own = section.get("credential").and_then(Value::as_str).unwrap_or(name);
            if own == credential {
                return Self::read(name, section);
            }
        }
        Err(Error::not_found(format!(
            "no service of device_login keeps its login as \"{credential}\""
        )))
    }

    fn read(name: &str, section: &Value) -> Result<Self> {
        let key = |key: &str| format!("device_login.{name}.{key}");
        let optional = |wanted: &str| match section.get(wanted) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Error::wrong_type(format!("{} must be a text", key(wanted)))),
        };
        let required = |wanted: &str| {
            optional(wanted)?.ok_or_else(|| {
                Error::bad_argument(format!(
                    "{} is missing; set it in the configuration",
                    key(wanted)
                ))
            })
        };
        let endpoint = |wanted: &str| {
            secure(&required(wanted)?)
                .map_err(|why| Error::bad_argument(format!("{} {why}", key(wanted))))
        };
        let scopes = match section.get("scopes") {
            None => Vec::new(),
            Some(Value::Array(scopes)) => {
                scopes.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(_) => return Err(Error::wrong_type(format!("{} must be a list", key("scopes")))),
        };
        let parameters = section.get("parameters").and_then(Value::as_object).cloned();
        let credential = optional("credential")?.unwrap_or_else(|| name.to_owned());
        orlop_app::check_id("credential", &credential)?;
        Ok(Self {
            name: name.to_owned(),
            device_url: endpoint("device_url")?,
            token_url: endpoint("token_url")?,
            client_id: required("client_id")?,
            client_secret: optional("client_secret")?,
            scopes,
            parameters: parameters.unwrap_or_default(),
            credential,
        })
    }
}

/// The services by name.
fn all(app: &Application) -> Result<Map> {
    let section = app.config().section(super::NAME)?;
    let section = section.and_then(|section| section.as_object().cloned()).unwrap_or_default();
    Ok(section.into_iter().filter(|(_, service)| service.is_object()).collect())
}

/// An address that tokens may go to: `https`, or this machine.
fn secure(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text)
        .map_err(|_| "is no address; write for instance https://login.example/token")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a name or password in it; use client_id and client_secret");
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        _ => Err("has to begin with https://, because tokens go there"),
    }
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

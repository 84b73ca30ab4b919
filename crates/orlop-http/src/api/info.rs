//! What a page or a program has to know before it begins: who it is, what it may send, and which
//! plugins there are.

use super::view::List;
use crate::caller::{Caller, Read};
use crate::extract::Json;
use crate::identity::Right;
use crate::plugin_numbers::{HookNumbers, PluginError};
use orlop_app::{PluginHealth, PluginInfo};
use schemars::JsonSchema;
use serde::Serialize;

/// What a client has to know.
#[derive(Serialize, JsonSchema)]
pub(super) struct Info {
    /// The version of the server.
    version: &'static str,
    /// Who asks.
    user: WhoAsks,
    /// Whether links to read sessions by can be made.
    share_links: bool,
    /// What files may be attached.
    attachments: AttachmentLimits,
    /// The largest body of a request that is no file, in bytes.
    max_body_bytes: usize,
}

/// Who asks, and what they may do.
#[derive(Serialize, JsonSchema)]
struct WhoAsks {
    /// The tenant.
    tenant: String,
    /// The user.
    user: String,
    /// `read`, `chat` or `admin`; each includes those before it.
    right: Option<&'static str>,
}

/// What files may be attached. How many is not limited.
#[derive(Serialize, JsonSchema)]
struct AttachmentLimits {
    /// The largest file, in bytes.
    max_bytes: u64,
    /// The media types that are taken, such as `image/*`; all if there is none.
    types: Option<Vec<String>>,
}

/// A plugin.
#[derive(Serialize, JsonSchema)]
pub(super) struct PluginView {
    /// Its name.
    name: String,
    /// What it is: `provider`, `extension`, `feature`, `tool`, `application`, `host`.
    kinds: Vec<&'static str>,
    /// Its version.
    version: Option<String>,
    /// Where it comes from: `built_in`, `package` or `mcp_server`.
    source: &'static str,
    /// The package it came in, if it came in one.
    package: Option<String>,
    /// `not_started`, `running`, `failed` or `disabled`.
    state: &'static str,
    /// What it was granted, in words.
    grants: Vec<String>,
    /// What only administrators are told; for everybody else there is none.
    details: Option<PluginDetails>,
}

/// What administrators are told of a plugin. Numbers are of this process, over all users.
#[derive(Serialize, JsonSchema)]
struct PluginDetails {
    /// Where its package is.
    place: Option<String>,
    /// Why it cannot be used.
    problem: Option<String>,
    /// Its last failures, the newest first.
    errors: Vec<PluginError>,
    /// What its hooks did.
    hooks: Vec<HookNumbers>,
}

pub(super) async fn info(caller: Caller<Read>) -> Json<Info> {
    let (server, identity) = (&caller.server, &caller.identity);
    Json(Info {
        version: env!("CARGO_PKG_VERSION"),
        user: WhoAsks {
            tenant: identity.scope().tenant().to_owned(),
            user: identity.scope().user().to_owned(),
            right: identity.right().map(Right::as_str),
        },
        share_links: server.shares(),
        attachments: AttachmentLimits {
            max_bytes: server.max_asset_bytes(),
            types: server.asset_types().map(<[String]>::to_vec),
        },
        max_body_bytes: server.limits().body_bytes,
    })
}

pub(super) async fn plugins(caller: Caller<Read>) -> Json<List<PluginView>> {
    let infos = caller.app().plugin_infos().into_iter();
    let all = caller.identity.may(Right::Admin);
    let items = infos.map(|info| {
        let details = all.then(|| {
            let (hooks, errors) = caller.server.metrics().of_plugin(&info.name);
            PluginDetails {
                place: info.place.clone(),
                problem: info.problem.clone(),
                errors,
                hooks,
            }
        });
        PluginView::new(info, details)
    });
    Json(List { items: items.collect() })
}

impl PluginView {
    fn new(info: PluginInfo, details: Option<PluginDetails>) -> Self {
        Self {
            name: info.name,
            kinds: info.kinds,
            version: info.version,
            source: info.source,
            package: info.package,
            state: match info.state {
                PluginHealth::NotStarted => "not_started",
                PluginHealth::Running => "running",
                PluginHealth::Failed => "failed",
                PluginHealth::Disabled => "disabled",
            },
            grants: info.grants,
            details,
        }
    }
}

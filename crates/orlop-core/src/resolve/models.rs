//! Model lists, asked for once per provider, endpoint and credential, and shared between cores
//! that are given the same cache.

use crate::config::{Config, Fingerprint};
use crate::context::{CallContext, Context};
use crate::core::Core;
use crate::hooks::{ConfigInput, Hook, Models};
use crate::plugin::RegisteredProvider;
use orlop_types::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// After a failure so many questions are answered with an empty list before the provider is
/// asked again: a dead endpoint must not cost every request a time-out.
const QUIET_AFTER_FAILURE: u32 = 8;

/// A provider that names no discovery keys has a list for every configuration; beyond this many
/// all are forgotten and asked for again.
const KEPT: usize = 256;

/// Model lists by provider and endpoint. Cloning shares them.
#[derive(Clone, Default)]
pub struct ModelCache(Arc<Mutex<Lists>>);

/// By provider and the part of the configuration that matters to it.
type Lists = HashMap<(String, Fingerprint), Arc<Slot>>;

/// One list; the lock makes the second asker wait for the first one's answer.
type Slot = futures::lock::Mutex<Known>;

#[derive(Default)]
enum Known {
    #[default]
    Nothing,
    Models(Models),
    Failed {
        quiet: u32,
    },
}

impl ModelCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The list, empty if it cannot be had.
    pub(crate) async fn get(
        &self,
        core: &Core,
        provider: &RegisteredProvider,
        config: &Config,
    ) -> Models {
        self.fetch(core, provider, config).await.unwrap_or_default()
    }

    /// The list; `None` if fetching it failed, now or a short while ago.
    pub(crate) async fn fetch(
        &self,
        core: &Core,
        provider: &RegisteredProvider,
        config: &Config,
    ) -> Option<Models> {
        if !provider.provider.manifest.hooks.contains(Hook::GetModels) {
            return Some(Models::default());
        }
        let slot = {
            let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if lists.len() >= KEPT {
                lists.clear();
            }
            lists
                .entry((provider.provider.name().to_owned(), what_matters(provider, config)))
                .or_default()
                .clone()
        };
        let mut known = slot.lock().await;
        match &mut *known {
            Known::Models(models) => return Some(models.clone()),
            Known::Failed { quiet } if *quiet > 0 => {
                *quiet -= 1;
                return None;
            }
            _ => {}
        }
        let ask = ConfigInput { config: config.clone() };
        let cx = Context::new(core.clone(), config.clone(), Arc::new(CallContext::new("core")));
        let answer = core
            .runner
            .try_call(&provider.provider, Hook::GetModels, |p| p.get_models(&ask, &cx))
            .await;
        match answer {
            Ok(models) => {
                let models: Models =
                    Arc::new(models.into_iter().filter(|model| model.contains_key("id")).collect());
                *known = Known::Models(models.clone());
                Some(models)
            }
            Err(error) => {
                tracing::warn!(target: "orlop::core", %error, "the model list could not be fetched; going on without");
                *known = Known::Failed { quiet: QUIET_AFTER_FAILURE };
                None
            }
        }
    }
}

/// The part of the configuration that the list depends on. Only its digest is kept, so a key in
/// it cannot be read back.
fn what_matters(provider: &RegisteredProvider, config: &Config) -> Fingerprint {
    let keys = &provider.provider.manifest.discovery_keys;
    if keys.is_empty() {
        return config.fingerprint();
    }
    let part: Map = keys
        .iter()
        .filter_map(|key| config.get(key).map(|value| (key.clone(), value.clone())))
        .collect();
    Fingerprint::of(&Value::Object(part))
}

//! Which plugins are enabled: tags are resolved round by round until nothing changes.
//!
//! In each round every plugin is judged by the tags of the round before, so the order of
//! registration does not matter. A set of plugins that keep switching each other on and off has
//! no such end; then all that were on at some time start together, and rounds follow that only
//! switch off.

use crate::config::Config;
use crate::context::Context;
use crate::core::{Core, Plugins};
use crate::hooks::{EnabledInput, Extension, Feature, Hook, Models, Plugin, TagsInput, Tool};
use crate::plugin::{Manifest, Registered, RegisteredProvider};
use orlop_types::Result;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) struct Enabled {
    pub(super) extensions: Vec<Arc<Registered<dyn Extension>>>,
    pub(super) features: Vec<Arc<Registered<dyn Feature>>>,
    pub(super) tools: Vec<Arc<Registered<dyn Tool>>>,
    pub(super) tags: Vec<String>,
}

impl Enabled {
    /// Without a provider there is nothing to judge by: all features and tools, no tags.
    pub(super) fn everything(plugins: &Plugins) -> Self {
        Self {
            extensions: Vec::new(),
            features: plugins.features.clone(),
            tools: plugins.tools.clone(),
            tags: Vec::new(),
        }
    }
}

/// A plugin that may take part, whatever its kind.
enum Candidate {
    Extension(Arc<Registered<dyn Extension>>),
    Feature(Arc<Registered<dyn Feature>>),
    Tool(Arc<Registered<dyn Tool>>),
}

macro_rules! on_plugin {
    ($candidate:expr, $plugin:ident => $body:expr) => {
        match $candidate {
            Candidate::Extension($plugin) => $body,
            Candidate::Feature($plugin) => $body,
            Candidate::Tool($plugin) => $body,
        }
    };
}

/// How many enabled plugins (the provider included) contribute each tag, in order of appearance.
struct TagPool<'a> {
    order: Vec<&'a str>,
    count: HashMap<&'a str, usize>,
}

impl<'a> TagPool<'a> {
    fn new(provider: &'a [String], others: &'a [Vec<String>], on: &[bool]) -> Self {
        let mut pool = Self { order: Vec::new(), count: HashMap::new() };
        let enabled = others.iter().zip(on).filter(|(_, on)| **on).flat_map(|(own, _)| own);
        for tag in provider.iter().chain(enabled) {
            let count = pool.count.entry(tag).or_insert(0);
            if *count == 0 {
                pool.order.push(tag);
            }
            *count += 1;
        }
        pool
    }

    fn tags(&self) -> Vec<String> {
        self.order.iter().map(|tag| (*tag).to_owned()).collect()
    }

    /// Whether the tags let a plugin run. Its own tags do not count for or against itself.
    fn allows(&self, manifest: &Manifest, own: &[String], on: bool) -> bool {
        let has = |tag: &String| {
            let mine = if on { own.iter().filter(|own| *own == tag).count() } else { 0 };
            self.count.get(tag.as_str()).is_some_and(|count| *count > mine)
        };
        manifest.required_tags.iter().all(has) && !manifest.forbidden_tags.iter().any(has)
    }
}

impl Core {
    pub(super) async fn enabled_for(
        &self,
        provider: &RegisteredProvider,
        config: &Config,
        models: &Models,
        cx: &Context,
    ) -> Result<Enabled> {
        let ask = TagsInput { config: config.clone(), models: models.clone() };
        let provider_tags = self.tags_of(&provider.provider, &ask, cx).await?;
        let extensions = provider.extensions.iter().cloned().map(Candidate::Extension);
        let features = self.plugins.features.iter().cloned().map(Candidate::Feature);
        let tools = self.plugins.tools.iter().cloned().map(Candidate::Tool);
        let candidates: Vec<Candidate> = extensions.chain(features).chain(tools).collect();
        let mut own_tags = Vec::with_capacity(candidates.len());
        for candidate in &candidates {
            own_tags.push(on_plugin!(candidate, plugin => self.tags_of(plugin, &ask, cx).await?));
        }

        let mut on = vec![false; candidates.len()];
        // More rounds than plugins without an end means that some switch each other on and off.
        // They are watched for as many rounds again, so that which of them happen to be on when
        // patience ends, which the number of all plugins decides, makes no difference.
        let patience = candidates.len() + 2;
        let mut restless = vec![false; candidates.len()];
        for round in 0.. {
            let pool = TagPool::new(&provider_tags, &own_tags, &on);
            let ask =
                EnabledInput { config: config.clone(), tags: pool.tags(), models: models.clone() };
            let mut next = Vec::with_capacity(on.len());
            for (index, candidate) in candidates.iter().enumerate() {
                let may_be_on = round < 2 * patience || on[index];
                next.push(
                    may_be_on
                        && on_plugin!(candidate, plugin => {
                            pool.allows(&plugin.manifest, &own_tags[index], on[index])
                                && self.wants_on(plugin, &ask, cx).await?
                        }),
                );
            }
            if next == on {
                break;
            }
            on = next;
            if round >= patience {
                restless.iter_mut().zip(&on).for_each(|(seen, on)| *seen |= on);
            }
            if round + 1 == 2 * patience {
                tracing::warn!(target: "orlop::core", "plugins switch each other on and off by their tags; those that cannot stand together are off");
                on.clone_from(&restless);
            }
        }
        let tags = TagPool::new(&provider_tags, &own_tags, &on).tags();
        let mut enabled = Enabled { extensions: vec![], features: vec![], tools: vec![], tags };
        for (candidate, _) in candidates.into_iter().zip(on).filter(|(_, on)| *on) {
            match candidate {
                Candidate::Extension(plugin) => enabled.extensions.push(plugin),
                Candidate::Feature(plugin) => enabled.features.push(plugin),
                Candidate::Tool(plugin) => enabled.tools.push(plugin),
            }
        }
        Ok(enabled)
    }

    async fn tags_of<P: Plugin + ?Sized>(
        &self,
        plugin: &Registered<P>,
        ask: &TagsInput,
        cx: &Context,
    ) -> Result<Vec<String>> {
        self.runner.call(plugin, Hook::GetTags, |p| p.get_tags(ask, cx)).await
    }

    async fn wants_on<P: Plugin + ?Sized>(
        &self,
        plugin: &Registered<P>,
        ask: &EnabledInput,
        cx: &Context,
    ) -> Result<bool> {
        let opinion = self.runner.call(plugin, Hook::IsEnabled, |p| p.is_enabled(ask, cx)).await?;
        Ok(opinion != Some(false))
    }
}

//! What plugins wish for in `before` and `after`, as far as nothing comes of it.

use crate::description::Described;
use crate::package::Package;
use orlop_app::Plugins;
use orlop_core::Manifest;
use orlop_core::order::arrange;
use orlop_core::types::nearest::nearest;
use orlop_core::types::protocol::PluginDescription;

/// The plugins that a wish can be about, each with its kind.
#[derive(Debug, Clone, Default)]
pub struct Neighbours(Vec<(String, Manifest)>);

impl Neighbours {
    /// All plugins there are.
    pub fn of(plugins: &Plugins) -> Self {
        let all = plugins.manifests().into_iter();
        Self(all.map(|(kind, manifest)| (kind.to_owned(), manifest)).collect())
    }

    /// The wishes of the plugins of a package that nothing comes of, in words: kind and name of the
    /// plugin, and why.
    pub fn unheard(&self, package: &Package, held: &[PluginDescription]) -> Vec<(String, String)> {
        let mut told = Vec::new();
        for plugin in held {
            let is_own = |kind: &str, name: &str| {
                held.iter().any(|own| own.kind == kind && own.name == name)
            };
            let others = self.0.iter().filter(|(kind, _)| *kind == plugin.kind);
            let others = others.filter(|(kind, manifest)| !is_own(kind, &manifest.name));
            let own = held.iter().filter(|own| own.kind == plugin.kind);
            let mut all: Vec<Manifest> = others.map(|(_, manifest)| manifest.clone()).collect();
            all.extend(own.map(|own| own.manifest(package)));
            let label = format!("{} {}", plugin.kind, plugin.name);
            let manifest = plugin.manifest(package);
            let mut words = unknown_neighbours(&plugin.kind, &manifest, &all);
            // A circle in which it is not is somebody else's.
            let circles = arrange(all, |manifest| manifest).1.into_iter();
            let own_circles = circles.filter(|circle| circle.0.contains(&plugin.name));
            words.extend(own_circles.map(|circle| {
                format!("it wants to run before others that want to run before it: {circle}; that is left out of account")
            }));
            told.extend(words.into_iter().map(|words| (label.clone(), words)));
        }
        told
    }
}

/// The wishes of a plugin about plugins of its kind that are not there.
pub fn unknown_neighbours(kind: &str, manifest: &Manifest, all: &[Manifest]) -> Vec<String> {
    let names = || all.iter().map(|held| held.name.as_str()).filter(|held| *held != manifest.name);
    let before = manifest.before.iter().map(|name| ("before", name));
    let after = manifest.after.iter().map(|name| ("after", name));
    let unknown = before.chain(after).filter(|(_, wished)| !names().any(|held| held == *wished));
    let in_words = |(word, wished): (&str, &String)| {
        let hint = nearest(wished, names())
            .map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
        format!("it wants to run {word} \"{wished}\", and there is no {kind} of that name{hint}")
    };
    unknown.map(in_words).collect()
}

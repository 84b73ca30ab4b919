//! The order plugins of one kind run in: by priority, then as registered, and within that as
//! `before` and `after` of their manifests say.

use crate::plugin::Manifest;

/// Which plugins wait for each other in a circle; their wishes do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circle(pub Vec<String>);

impl std::fmt::Display for Circle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.join(" before "))
    }
}

/// Puts plugins in order. They come sorted by priority and registration, and stay so as far as
/// nobody wishes otherwise. Wishes about plugins that are not there are no wishes; those that make
/// a circle are told and left out.
pub fn arrange<T>(plugins: Vec<T>, manifest: impl Fn(&T) -> &Manifest) -> (Vec<T>, Vec<Circle>) {
    if plugins
        .iter()
        .all(|plugin| manifest(plugin).before.is_empty() && manifest(plugin).after.is_empty())
    {
        return (plugins, Vec::new());
    }
    let names: Vec<String> = plugins.iter().map(|plugin| manifest(plugin).name.clone()).collect();
    let place = |name: &String| names.iter().position(|held| held == name);
    // Who has to come before each of them.
    let mut first: Vec<Vec<usize>> = vec![Vec::new(); plugins.len()];
    for (index, plugin) in plugins.iter().enumerate() {
        let manifest = manifest(plugin);
        first[index].extend(manifest.after.iter().filter_map(place));
        for later in manifest.before.iter().filter_map(place) {
            first[later].push(index);
        }
    }
    let (mut order, mut circles) = (Vec::with_capacity(plugins.len()), Vec::new());
    let mut left: Vec<usize> = (0..plugins.len()).collect();
    while !left.is_empty() {
        let free =
            left.iter().position(|index| first[*index].iter().all(|before| !left.contains(before)));
        if free.is_none() {
            circles.push(circle(&left, &first, &names));
        }
        order.push(left.remove(free.unwrap_or(0)));
    }
    let mut held: Vec<Option<T>> = plugins.into_iter().map(Some).collect();
    (order.into_iter().filter_map(|index| held[index].take()).collect(), circles)
}

/// One circle among those that are left: whoever waits, waits for somebody.
fn circle(left: &[usize], first: &[Vec<usize>], names: &[String]) -> Circle {
    let mut path = vec![left[0]];
    loop {
        let last = path[path.len() - 1];
        let next = first[last].iter().find(|before| left.contains(before));
        let Some(&next) = next else { break };
        if let Some(start) = path.iter().position(|held| *held == next) {
            path.drain(..start);
            path.push(next);
            break;
        }
        path.push(next);
    }
    path.reverse();
    Circle(path.into_iter().map(|index| names[index].clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arranges `name<before>after` with commas; gives the order and the circles.
    fn arranged(plugins: &[&str]) -> (String, Vec<String>) {
        let manifests: Vec<Manifest> = plugins
            .iter()
            .map(|text| {
                let mut parts = text.split(['<', '>']);
                let mut manifest = Manifest::new(parts.next().unwrap(), "1");
                let names = |part: Option<&str>| {
                    let names = part.unwrap_or_default().split(',').filter(|name| !name.is_empty());
                    names.map(str::to_owned).collect::<Vec<_>>()
                };
                manifest.before = names(parts.next());
                manifest.after = names(parts.next());
                manifest
            })
            .collect();
        let (order, circles) = arrange(manifests, |manifest| manifest);
        let names: Vec<String> = order.into_iter().map(|manifest| manifest.name).collect();
        (names.join(" "), circles.iter().map(Circle::to_string).collect())
    }

    #[test]
    fn wishes_move_only_those_they_are_about() {
        assert_eq!(arranged(&["a", "b", "c"]).0, "a b c");
        assert_eq!(arranged(&["a", "b", "c<a"]).0, "b c a");
        assert_eq!(arranged(&["a<>c", "b", "c"]).0, "b c a");
        assert_eq!(arranged(&["a<nobody>somebody", "b"]).0, "a b");
        assert_eq!(arranged(&["a<>b", "b<>c", "c"]).0, "c b a");
    }

    #[test]
    fn circles_are_told_and_everybody_runs_all_the_same() {
        let (order, circles) = arranged(&["x", "a<b", "b<a", "c"]);
        assert_eq!(order, "x c a b");
        assert_eq!(circles, ["a before b before a"]);
        assert_eq!(arranged(&["a<a", "b"]), ("b a".to_owned(), vec!["a before a".to_owned()]));
        let (order, circles) = arranged(&["a<b", "b<c", "c<a"]);
        assert_eq!((order.split(' ').count(), circles.len()), (3, 1));
    }
}

//! `orlop plugin`: packages of plugins, added, looked at, worked on and removed.

mod begin;
mod consent;
mod develop;
mod explain;
mod info;
mod replay;
mod source;
mod switch;
mod test;

pub(super) use develop::dev;
pub(super) use replay::record;

use crate::cli::{Plugin, PluginAdd};
use crate::exit::Failure;
use crate::output;
use crate::workplace::Workplace;
use consent::Consent;
use orlop_app::ui::plain_line;
use orlop_core::types::nearest::nearest;
use orlop_core::{Error, Manifest, Map};
use orlop_runtime::kit::doubts;
use orlop_runtime::{
    Description, Entry, Installed, LeftOut, Misnamed, Neighbours, Package, Run, unknown_neighbours,
};
use serde_json::json;
use std::process::ExitCode;

pub(super) async fn run(workplace: Workplace, command: Plugin) -> Result<ExitCode, Failure> {
    match command {
        Plugin::New(new) => begin::run(&workplace, new),
        Plugin::Test(options) => test::run(&workplace, options).await,
        Plugin::Add(add) => self::add(&workplace, add).await,
        Plugin::Accept { name, yes } => accept(&workplace, &name, yes).await,
        Plugin::Remove { name } => remove(&workplace, &name),
        Plugin::Enable { name, project } => switch::run(&workplace, &name, project, true),
        Plugin::Disable { name, project } => switch::run(&workplace, &name, project, false),
        Plugin::Info { name, json } => info::run(&workplace, &name, json),
        Plugin::List { order: true, json } => list_in_order(&workplace, json),
        Plugin::List { order: false, json } => list(&workplace, json),
        Plugin::Replay(replay) => replay::replay(&workplace, replay).await,
        Plugin::Explain(explain) => explain::run(&workplace, explain).await,
        // They begin before there is a workplace.
        Plugin::Dev(_) | Plugin::Record(_) => {
            Err(Error::internal("this command was begun too late").into())
        }
    }
}

async fn add(workplace: &Workplace, add: PluginAdd) -> Result<ExitCode, Failure> {
    let home = workplace.locations.home();
    let installed = Installed::read(home)?;
    let source::Brought { folder, is_copy } = source::bring(&add.source, home, &installed).await?;
    // From the start under the name it will have: what it keeps lies in a folder of that name.
    let named = Package::read(&folder).and_then(|package| match &add.name {
        Some(name) => package.named(name),
        None if package.name == "_" => Err(Error::bad_argument(format!(
            "{} has no plain letter or digit in its name that a plugin could be called by; give it a name with --name",
            add.source
        ))),
        None => Ok(package),
    });
    let package = match named {
        Ok(package) => package,
        Err(error) => {
            source::discard(&folder, is_copy, home);
            return Err(error.into());
        }
    };
    let name = package.name.clone();
    let elsewhere = installed.get(&name).filter(|held| held.path != folder && !is_copy);
    if let Some(held) = elsewhere {
        let text = format!(
            "a plugin \"{name}\" is there already, from {}; remove it first, or give this one another name with --name",
            held.source
        );
        return Err(Error::conflict(text).into());
    }
    let consent = Consent {
        name: &name,
        package: &package,
        fetched: is_copy.then_some(add.source.as_str()),
        is_granted: installed.accepts(&package),
        is_confined: is_confined(),
    };
    let given = consent.given(add.yes).await;
    if !matches!(given, Ok(true)) {
        source::discard(&folder, is_copy, home);
        given?;
        return Err(Failure::usage(format!("\"{name}\" was not added")));
    }
    let (description, misnamed) = match held_by(workplace, &package) {
        Ok(held) => held,
        Err(error) => {
            source::discard(&folder, is_copy, home);
            return Err(error.into());
        }
    };
    Installed::change(home, |installed| {
        installed.accept(&package);
        installed.add(&name, Entry { path: folder, source: add.source, is_copy });
        Ok(())
    })?;
    if let Run::Bundle(bundle) = &package.run {
        for problem in &bundle.problems {
            output::tell(&plain_line(&format!("orlop: not used: {problem}")));
        }
    }
    output::line(&format!("added {name}: {}", held_in_words(&package, &description)))?;
    let misnamed = misnamed.iter().map(ToString::to_string);
    let unheard = Neighbours::of(&workplace.plugins).unheard(&package, &description.plugins);
    let unheard = unheard.into_iter().map(|(plugin, why)| format!("{plugin}: {why}"));
    for doubt in misnamed.chain(description.warnings.iter().cloned()).chain(unheard) {
        output::tell(&plain_line(&format!("orlop: {doubt}")));
    }
    for off in switch::off(workplace).into_iter().filter(|off| off.name == name) {
        let text = format!(
            "orlop: {name} is off: {}; `orlop plugin enable {name}` switches it on",
            off.reason
        );
        output::tell(&plain_line(&text));
    }
    if description.plugins.iter().any(|held| held.hooks.iter().any(|hook| hook == "get_actions")) {
        // It is added, whatever comes of the look.
        for doubt in doubts(package, workplace.config.env()).await.unwrap_or_default() {
            output::tell(&plain_line(&format!("orlop: {doubt}")));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the kernel keeps plugins within their grants.
fn is_confined() -> bool {
    let support = orlop_app::confine::support();
    support.is_there() && support.network
}

/// Starts a package once to hear what it holds, and what of that cannot have its name.
fn held_by(
    workplace: &Workplace,
    package: &Package,
) -> Result<(Description, Vec<Misnamed>), Error> {
    let mut runtime = workplace.runtime.clone();
    let description = runtime.add(package.clone(), Map::new())?.clone();
    let mut misnamed = runtime.misnamed(&workplace.names);
    misnamed.retain(|it| it.package == package.name);
    Ok((description, misnamed))
}

/// Packages and plugins of packages that are not in use, and why.
fn not_in_use(workplace: &Workplace) -> Vec<LeftOut> {
    let left_out = workplace.left_out.iter().map(|left| {
        let reason = format!("the package was left out: {}", left.reason);
        LeftOut { name: left.name.clone(), reason }
    });
    let misnamed = workplace.runtime.misnamed(&workplace.names);
    let misnamed = misnamed.into_iter().map(|it| LeftOut { reason: it.to_string(), name: it.name });
    left_out.chain(misnamed).chain(switch::off(workplace)).collect()
}

async fn accept(workplace: &Workplace, name: &str, yes: bool) -> Result<ExitCode, Failure> {
    let home = workplace.locations.home();
    let installed = Installed::read(home)?;
    let configured = workplace.config.plugin(name).ok().and_then(|entry| entry.path);
    let path = configured.or_else(|| installed.get(name).map(|entry| entry.path.clone()));
    let path = path.ok_or_else(|| unknown(name, &installed))?;
    let package = Package::read(&path)?.named(name)?;
    if installed.accepts(&package) {
        output::line(&format!("{name} has all it asks for"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let consent = Consent {
        name,
        package: &package,
        fetched: None,
        is_granted: false,
        is_confined: is_confined(),
    };
    if !consent.given(yes).await? {
        return Err(Failure::usage(format!("\"{name}\" stays without")));
    }
    Installed::change(home, |installed| {
        installed.accept(&package);
        Ok(())
    })?;
    output::line(&format!("{name} may now do what it asks for"))?;
    Ok(ExitCode::SUCCESS)
}

fn remove(workplace: &Workplace, name: &str) -> Result<ExitCode, Failure> {
    let entry = Installed::change(workplace.locations.home(), |installed| {
        installed.remove(name).ok_or_else(|| unknown(name, installed))
    })?;
    source::discard(&entry.path, entry.is_copy, workplace.locations.home());
    output::line(&format!("removed {name}"))?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str, installed: &Installed) -> Error {
    let known: Vec<&str> = installed.packages().map(|(name, _)| name).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Error::not_found(format!("no plugin \"{name}\" was added; there are: {known}"))
}

/// What to say of a name that neither a package nor a plugin has.
fn unknown_among_all(workplace: &Workplace, installed: &Installed, name: &str) -> Error {
    let shipped = workplace.plugins.manifests().into_iter().map(|(_, held)| held.name);
    let added = installed.packages().map(|(name, _)| name.to_owned());
    let known: Vec<String> = shipped.chain(added).collect();
    let meant = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "`orlop plugin list --order` lists them".to_owned(),
    };
    Error::not_found(format!("there is no plugin \"{name}\"; {meant}"))
}

fn list(workplace: &Workplace, as_json: bool) -> Result<ExitCode, Failure> {
    let packages: Vec<_> = workplace.runtime.packages().collect();
    let misnamed = workplace.runtime.misnamed(&workplace.names);
    let off = switch::off(workplace);
    if as_json {
        let all: Vec<_> = packages
            .iter()
            .map(|(package, description)| {
                json!({
                    "name": package.name, "version": package.version, "folder": package.folder,
                    "grants": package.grants, "plugins": description.plugins,
                })
            })
            .collect();
        let packages =
            workplace.left_out.iter().map(|it| json!({ "name": it.name, "reason": it.reason }));
        let plugins =
            misnamed.iter().map(|it| json!({ "name": it.name, "reason": it.to_string() }));
        let left_out: Vec<_> = packages.chain(plugins).collect();
        let off: Vec<_> =
            off.iter().map(|off| json!({ "name": off.name, "reason": off.reason })).collect();
        return Ok(output::json(&json!({ "packages": all, "left_out": left_out, "off": off }))?);
    }
    let mut rows: Vec<Vec<String>> = packages
        .iter()
        .map(|(package, description)| {
            let folder = package.folder.display().to_string();
            let mut holds = held_in_words(package, description);
            for Misnamed { kind, name, why, .. } in
                misnamed.iter().filter(|it| it.package == package.name)
            {
                holds += &format!("; left out: {kind} {name}, because {why}; give it another name");
            }
            vec![package.name.clone(), package.version.clone(), holds, folder]
        })
        .collect();
    for left in &workplace.left_out {
        rows.push(vec![
            left.name.clone(),
            "-".to_owned(),
            format!("left out: {}", left.reason),
            String::new(),
        ]);
    }
    for LeftOut { name, reason } in off {
        rows.push(vec![name, "-".to_owned(), format!("off: {reason}"), String::new()]);
    }
    if rows.is_empty() {
        output::tell("no plugins beside those that ship; `orlop plugin add PATH` adds one");
    }
    Ok(output::table(&["NAME", "VERSION", "HOLDS", "FOLDER"], &rows)?)
}

fn list_in_order(workplace: &Workplace, as_json: bool) -> Result<ExitCode, Failure> {
    let order = workplace.plugins.order();
    if as_json {
        let kinds: Vec<_> = order
            .iter()
            .map(|(kind, manifests, circles)| {
                let plugins: Vec<_> = manifests
                    .iter()
                    .map(|held| json!({ "name": held.name, "priority": held.priority, "before": held.before, "after": held.after }))
                    .collect();
                let circles: Vec<String> = circles.iter().map(ToString::to_string).collect();
                json!({ "kind": kind, "plugins": plugins, "circles": circles, "unknown": unheard(kind, manifests) })
            })
            .collect();
        return Ok(output::json(&kinds)?);
    }
    let mut rows = Vec::new();
    for (kind, manifests, circles) in &order {
        for held in manifests {
            let wishes = |word: &str, names: &[String]| match names.is_empty() {
                true => String::new(),
                false => format!("{word} {} ", names.join(", ")),
            };
            let wishes = wishes("before", &held.before) + &wishes("after", &held.after);
            let priority = held.priority.to_string();
            rows.push(vec![
                (*kind).to_owned(),
                held.name.clone(),
                priority,
                wishes.trim_end().to_owned(),
            ]);
        }
        for unheard in unheard(kind, manifests) {
            output::tell(&plain_line(&format!("orlop: {unheard}")));
        }
        for circle in circles {
            output::tell(&format!(
                "orlop: {kind} plugins want to run before each other: {}",
                plain_line(&circle.to_string())
            ));
        }
    }
    let code = output::table(&["KIND", "NAME", "PRIORITY", "WISHES"], &rows)?;
    output::line(
        "\nThey run from top to bottom. Of features and tools the lower priority runs first, of host plugins the higher; others run in the order in which they came.",
    )?;
    Ok(code)
}

/// Wishes about plugins that are not there.
fn unheard(kind: &str, manifests: &[Manifest]) -> Vec<String> {
    let each = manifests.iter().flat_map(|held| {
        let words = unknown_neighbours(kind, held, manifests).into_iter();
        words.map(move |words| format!("{kind} {}: {words}", held.name))
    });
    each.collect()
}

fn held_in_words(package: &Package, description: &Description) -> String {
    match &package.run {
        Run::Bundle(bundle) => bundle.in_words(),
        _ => in_words(description),
    }
}

fn in_words(description: &Description) -> String {
    let each = description.plugins.iter().map(|plugin| format!("{} {}", plugin.kind, plugin.name));
    each.collect::<Vec<_>>().join(", ")
}

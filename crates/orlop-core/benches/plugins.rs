//! What plugins cost: resolving a hundred of them, and a turn with none to a hundred no-op ones.

use divan::Bencher;
use futures::executor::block_on;
use orlop_core::{
    Change, Config, Core, Message, RequestOptions, Session, StateChange,
    hooks::{FinalizeChange, RequestChange},
};
use orlop_testkit::scripted::{
    ScriptedFeature, ScriptedProvider, ScriptedReply, config, core_with, native_session,
};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    divan::main();
}

/// A feature that implements every hook of the request path and changes nothing.
fn no_op(index: usize) -> ScriptedFeature {
    ScriptedFeature::new(&format!("feature_{index}"))
        .init(|_, _| Ok(StateChange::Keep))
        .get_tags(|_, _| Ok(Vec::new()))
        .is_enabled(|_, _| Ok(None))
        .initialize_request(|_, _| Ok(RequestChange::default()))
        .to_native_messages(|_, _| Ok(Change::Keep))
        .from_native_messages(|_, _| Ok(Change::Keep))
        .finalize(|_, _| Ok(FinalizeChange::default()))
        .get_actions(|_, _| Ok(Vec::new()))
}

fn scene(features: usize) -> (Core, ScriptedProvider, Config, Session) {
    let provider = ScriptedProvider::default();
    let made = block_on(async {
        let mut core = core_with(&provider)?;
        for index in 0..features {
            core.register_feature(Arc::new(no_op(index)))?;
        }
        let config = config(json!({ "provider": "scripted", "model": "m" }));
        let session = native_session(&core, &[Message::user("hello")], &config).await?;
        Ok::<_, orlop_core::Error>((core, config, session))
    });
    match made {
        Ok((core, config, session)) => (core, provider, config, session),
        Err(error) => {
            eprintln!("the benchmark could not be set up: {error}");
            std::process::exit(1);
        }
    }
}

#[divan::bench(args = [0, 10, 100])]
fn resolve_anew(bencher: Bencher<'_, '_>, features: usize) {
    let (core, _, _, _) = scene(features);
    let run = AtomicU64::new(0);
    bencher.bench(|| {
        let run = run.fetch_add(1, Ordering::Relaxed);
        let config = config(json!({ "provider": "scripted", "model": "m", "run": run }));
        block_on(core.plugins_for(&config))
    });
}

#[divan::bench(args = [0, 1, 10, 100])]
fn turn(bencher: Bencher<'_, '_>, features: usize) {
    let (core, provider, config, session) = scene(features);
    bencher
        .with_inputs(|| {
            provider.reply(ScriptedReply::text(&["hi"]));
        })
        .bench_values(|()| {
            block_on(core.send_request(&session, &config, RequestOptions::default()))
        });
}

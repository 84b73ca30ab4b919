//! How a process begins and ends: with another version of the protocol, asked to go, or left alone.

use super::broken;
use crate::kit::bench::{BEGINNING, Bench};
use crate::kit::probe::{Probe, Wrong};
use crate::kit::report::{Finding, Report, Verdict, short};
use serde_json::json;
use std::time::Duration;

/// How long a process that was told to stop may go on.
const GRACE: Duration = Duration::from_secs(2);

pub(in crate::kit) fn check(bench: &mut Bench, description: &Description, report: &mut Report) {
    report.add("package", "refuses a protocol it does not speak", other_protocol(bench));
    let (same, gone) = match bench.begin() {
        Ok((probe, again)) => (same(&again, description), shutdown(probe)),
        Err(wrong) => {
            let expected = "that it starts a second time";
            (broken(&wrong, expected), broken(&wrong, expected))
        }
    };
    report.add("package", "describes itself the same each time", same);
    report.add("package", "ends when it is asked to", gone);
    report.add("package", "ends when the host is gone", hang_up(bench));
}

fn same(again: &Description, description: &Description) -> Verdict {
    if again == description {
        return Verdict::Ok;
    }
    let json = |it: &Description| serde_json::to_value(it).as_ref().map(short).unwrap_or_default();
    Finding::new(
        json(again),
        json(description),
        "what it holds is remembered from one run: let it depend on nothing but its files",
    )
    .into()
}

fn other_protocol(bench: &Bench) -> Verdict {
    let mut introduction = bench.introduction();
    introduction["protocol"] = json!(99);
    let asked =
        bench.fresh().and_then(|mut probe| probe.ask("initialize", &introduction, BEGINNING));
    match asked {
        Err(Wrong::Refused { .. }) => Verdict::Ok,
        // It says which one it speaks, and the host ends it.
        Ok(answered) if answered.outcome["protocol"] != json!(99) => Verdict::Ok,
        Ok(_) => Finding::new(
            "it says it speaks protocol 99",
            "an error, or the protocol it speaks",
            "compare `protocol` of initialize with your own",
        )
        .into(),
        Err(wrong) => broken(&wrong, "an error, or the protocol it speaks"),
    }
}

fn shutdown(mut probe: Probe) -> Verdict {
    if let Err(wrong) = probe.ask("shutdown", &json!({}), GRACE) {
        return broken(&wrong, "{} as the answer to shutdown");
    }
    ended(probe.ends_within(GRACE), "after shutdown")
}

/// The process that answered all hooks: what they began must not keep it.
fn hang_up(bench: &mut Bench) -> Verdict {
    match bench.probe() {
        Ok(probe) => {
            probe.hang_up();
            ended(probe.ends_within(GRACE), "after its standard input was closed")
        }
        Err(wrong) => broken(&wrong, "that it starts"),
    }
}

fn ended(has_ended: bool, when: &str) -> Verdict {
    match has_ended {
        true => Verdict::Ok,
        false => Finding::new(
            format!("it still runs 2 s {when}"),
            "that it ends by itself",
            "end threads, timers and children of the plugin when it is told to stop",
        )
        .into(),
    }
}
use orlop_core::types::protocol::Description;

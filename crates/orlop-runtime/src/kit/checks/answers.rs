//! Every hook that a plugin has is called with a sample, unless it does things that only an example
//! should ask for; and every answer has the form that the hook table says.

use crate::kit::bench::{Bench, Subject};
use crate::kit::report::{Finding, Report, Verdict};
use crate::kit::samples;
use orlop_core::Map;
use orlop_core::hooks::Hook;

/// Hooks that reach out into the world, or need an input that makes sense to this plugin alone.
pub(super) const BY_EXAMPLE: &[Hook] = &[
    Hook::GetModels,
    Hook::CallApi,
    Hook::StreamApi,
    Hook::ExecuteTool,
    Hook::StreamTool,
    Hook::FormatToolResult,
    Hook::ToDisplayFormat,
    Hook::FormatToolCallPreview,
    Hook::ExtensionExecuteAction,
    Hook::FeatureExecuteAction,
    Hook::ApplicationExecuteAction,
    Hook::AttachmentParts,
    Hook::AttachmentHandler,
    Hook::ApplyCompletion,
];

/// Calls hooks that were not called yet.
pub(in crate::kit) fn check(bench: &mut Bench, subjects: &[Subject]) {
    for subject in subjects {
        let mut hooks = subject.hooks();
        // What begins comes before the rest, and what ends after it.
        hooks.sort_by_key(|hook| match hook {
            Hook::Start | Hook::OnRequestStart => 0,
            Hook::OnRequestEnd => 2,
            Hook::Stop => 3,
            _ => 1,
        });
        for hook in hooks {
            if BY_EXAMPLE.contains(&hook) || bench.seen.contains_key(&(subject.label.clone(), hook))
            {
                continue;
            }
            // What is wrong with the answer is kept and told below.
            let args = samples::args(hook, subject, &Map::new());
            let _ = bench.effect(subject, hook, &args);
        }
    }
}

/// One line a hook.
pub(in crate::kit) fn tell(bench: &Bench, subjects: &[Subject], report: &mut Report) {
    for subject in subjects {
        for hook in subject.hooks() {
            let verdict = match bench.seen.get(&(subject.label.clone(), hook)) {
                // A stream stands for the blocking form, which nobody asks where there is one.
                None if hook == Hook::ExecuteTool && subject.has("stream_tool").is_some() => {
                    Verdict::skipped("stream_tool stands for it")
                }
                None => Verdict::skipped("no example calls it"),
                Some(None) => Verdict::Ok,
                Some(Some((seen, fix))) => {
                    Finding::new(seen, format!("{}, or null", hook.spec().outcome), *fix).into()
                }
            };
            report.add(
                &subject.label,
                format!("{} answers as its schema says", hook.name()),
                verdict,
            );
        }
    }
}

//! The trace of a request as spans: one for the turn, and below it one for each model call, each
//! tool that ran, and, if they are wanted, each hook of a plugin.
//!
//! The ids of the turn's own span follow from its request, so that whoever goes on with a turn
//! after a restart adds to the same trace.

use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyKind;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use orlop_app::{Changed, RanIn, RanTo, Traced, TracedHook};
use orlop_core::types::app_event::ModelName;
use orlop_core::{Map, Value};
use sha2::{Digest, Sha256};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The spans of what ran. A caller that does not want its trace recorded gets none.
pub(crate) fn of(request: &RanIn<'_>, trace: &[Traced], hooks: bool) -> Vec<Span> {
    let Some(place) = Place::of(request) else { return Vec::new() };
    let wanted = |entry: &&Traced| hooks || matches!(entry, Traced::Note(_)) || entry.is_failed();
    let below = trace.iter().filter(wanted).filter_map(|entry| place.below(request, entry));
    let mut spans: Vec<Span> = below.collect();
    spans.extend(request.ended.map(|ended| place.turn(request, &ended)));
    spans
}

/// Where the spans of a turn belong.
struct Place {
    trace: Vec<u8>,
    /// The turn's own span.
    turn: Vec<u8>,
    /// The span of who called.
    caller: Vec<u8>,
}

impl Place {
    fn of(request: &RanIn<'_>) -> Option<Self> {
        let name = format!("{} {}", request.scope, request.request_id);
        let digest = Sha256::digest(name.as_bytes());
        let (own, turn) = (digest[..16].to_vec(), digest[16..24].to_vec());
        let Some(parent) = request.trace_parent else {
            return Some(Self { trace: own, turn, caller: Vec::new() });
        };
        // version-trace-span-flags, which the surface has looked at.
        let mut parts = parent.split('-').skip(1);
        let (trace, caller) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
        let sampled = bytes(parts.next()?)?.first().is_some_and(|flags| flags & 1 == 1);
        sampled.then_some(Self { trace, turn, caller })
    }

    fn turn(&self, request: &RanIn<'_>, ended: &RanTo<'_>) -> Span {
        let mut attributes = vec![
            string("gen_ai.operation.name", "invoke_agent"),
            string("gen_ai.provider.name", provider(ended.model)),
            string("gen_ai.agent.id", request.agent_id),
            string("gen_ai.agent.name", request.agent_id),
            string("gen_ai.conversation.id", request.session_id),
            string("orlop.request_id", request.request_id),
            string("orlop.tenant", request.scope.tenant()),
        ];
        attributes
            .extend(ended.model.model.as_deref().map(|it| string("gen_ai.request.model", it)));
        attributes.extend(counts(ended.usage));
        Span {
            span_id: self.turn.clone(),
            parent_span_id: self.caller.clone(),
            name: format!("invoke_agent {}", request.agent_id),
            ..self.span(request.began, ended.after, SpanKind::Internal, attributes, ended.error)
        }
    }

    fn below(&self, request: &RanIn<'_>, entry: &Traced) -> Option<Span> {
        let (start, took) = match entry {
            Traced::Hook(hook) => (hook.start_us, hook.duration_us),
            Traced::Note(note) => (note.start_us, note.duration_us),
        };
        let start = request.began + Duration::from_micros(start);
        let took = Duration::from_micros(took);
        let (name, kind, mut attributes) = match entry {
            Traced::Hook(hook) => hook_span(hook),
            Traced::Note(note) if note.kind == "model_call" => model_call(note.detail.as_object()?),
            Traced::Note(note) if note.kind == "tool_call" => tool_call(note.detail.as_object()?),
            Traced::Note(_) => return None,
        };
        attributes.push(string("gen_ai.conversation.id", request.session_id));
        let error = entry.is_failed().then_some("error");
        Some(Span {
            span_id: uuid::Uuid::new_v4().as_bytes()[..8].to_vec(),
            parent_span_id: self.turn.clone(),
            name,
            ..self.span(start, took, kind, attributes, error)
        })
    }

    fn span(
        &self,
        start: SystemTime,
        took: Duration,
        kind: SpanKind,
        mut attributes: Vec<KeyValue>,
        error: Option<&str>,
    ) -> Span {
        attributes.extend(error.map(|error| string("error.type", error)));
        let code = if error.is_some() { StatusCode::Error } else { StatusCode::Unset };
        Span {
            trace_id: self.trace.clone(),
            // Sampled, and said to be so.
            flags: 1,
            kind: kind.into(),
            start_time_unix_nano: nanos(start),
            end_time_unix_nano: nanos(start + took),
            attributes,
            status: Some(Status { code: code.into(), message: String::new() }),
            ..Span::default()
        }
    }
}

type Told = (String, SpanKind, Vec<KeyValue>);

fn model_call(detail: &Map) -> Told {
    let name = ModelName {
        provider: detail.get("provider").and_then(Value::as_str).map(str::to_owned),
        model: detail.get("model").and_then(Value::as_str).map(str::to_owned),
    };
    let model = name.model.clone().unwrap_or_default();
    let mut attributes = vec![
        string("gen_ai.operation.name", "chat"),
        string("gen_ai.provider.name", provider(&name)),
        string("gen_ai.request.model", &model),
    ];
    let answered = text(detail, "response_model");
    if !answered.is_empty() {
        attributes.push(string("gen_ai.response.model", answered));
    }
    let reason = text(detail, "finish_reason");
    if !reason.is_empty() {
        let reasons = ArrayValue { values: vec![any(AnyKind::StringValue(reason.to_owned()))] };
        attributes.push(pair("gen_ai.response.finish_reasons", AnyKind::ArrayValue(reasons)));
    }
    let usage = detail.get("usage").and_then(Value::as_object);
    attributes.extend(usage.into_iter().flat_map(counts));
    (format!("chat {model}").trim().to_owned(), SpanKind::Client, attributes)
}

fn tool_call(detail: &Map) -> Told {
    let tool = text(detail, "tool");
    let attributes = vec![
        string("gen_ai.operation.name", "execute_tool"),
        string("gen_ai.tool.name", tool),
        string("gen_ai.tool.type", "function"),
        string("gen_ai.tool.call.id", text(detail, "call_id")),
    ];
    (format!("execute_tool {tool}").trim().to_owned(), SpanKind::Internal, attributes)
}

fn hook_span(ran: &TracedHook) -> Told {
    let mut attributes = vec![
        string("orlop.plugin.name", &ran.plugin),
        string("orlop.plugin.kind", ran.plugin_kind),
        string("orlop.hook.name", ran.hook),
    ];
    // What it changed may be what somebody said; that it did is not.
    let changed = matches!(ran.change, Changed::To(_));
    attributes.push(pair("orlop.hook.changed", AnyKind::BoolValue(changed)));
    let said = [("orlop.action", &ran.action), ("orlop.lifecycle", &ran.lifecycle)];
    attributes.extend(said.into_iter().filter_map(|(key, said)| Some(string(key, said.as_ref()?))));
    (format!("{} {}", ran.plugin, ran.hook), SpanKind::Internal, attributes)
}

/// What a model server counted, under the names of the conventions.
fn counts(usage: &Map) -> Vec<KeyValue> {
    let count = |(key, name): (&str, &str)| {
        let count = i64::try_from(usage.get(key)?.as_u64()?).ok()?;
        Some(pair(name, AnyKind::IntValue(count)))
    };
    let known = [
        ("input_tokens", "gen_ai.usage.input_tokens"),
        ("output_tokens", "gen_ai.usage.output_tokens"),
        ("cache_read_tokens", "gen_ai.usage.cache_read.input_tokens"),
        ("cache_write_tokens", "gen_ai.usage.cache_creation.input_tokens"),
        ("reasoning_tokens", "gen_ai.usage.reasoning.output_tokens"),
    ];
    let cost = usage.get("cost").and_then(Value::as_f64);
    let cost = cost.map(|cost| pair("orlop.cost_dollars", AnyKind::DoubleValue(cost)));
    known.into_iter().filter_map(count).chain(cost).collect()
}

/// The provider as the conventions call it; ours where they know none.
fn provider(name: &ModelName) -> &str {
    match name.provider.as_deref() {
        Some("openai_compatible" | "openai_responses") => "openai",
        Some("gemini") => "gcp.gemini",
        Some(other) => other,
        None => "orlop",
    }
}

fn text<'a>(fields: &'a Map, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn string(key: &str, value: &str) -> KeyValue {
    pair(key, AnyKind::StringValue(value.to_owned()))
}

fn pair(key: &str, value: AnyKind) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(any(value)), ..KeyValue::default() }
}

fn any(value: AnyKind) -> AnyValue {
    AnyValue { value: Some(value) }
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Bytes written in hex.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    (0..hex.len()).step_by(2).map(digits).collect()
}

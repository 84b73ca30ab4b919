//! What holds for any session after any operations, and for any text somebody tries to import.

use futures::executor::block_on;
use orlop_core::hooks::RequestChange;
use orlop_core::session::patch_native_metadata;
use orlop_core::*;
use orlop_testkit::scripted::{
    Mapping, ScriptedFeature, ScriptedProvider, ScriptedReply, config, core_with,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use serde_json::json;
use std::sync::Arc;

fn bounded(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    }
}

// What sessions are made of.

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,8}",
        "\\PC{0,8}",
        select(vec!["", "\u{0}\n\"\\", "é\u{301}🦀", "_metadata", "{\"a\":1}"])
            .prop_map(str::to_owned),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,4}",
        1 => select(vec!["", "native_indices", "_metadata", "tool_calls", "é"]).prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => text().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn content() -> impl Strategy<Value = Value> {
    prop_oneof![3 => text().prop_map(Value::from), 1 => value()]
}

fn object() -> impl Strategy<Value = Map> {
    vec((key(), value()), 0..3).prop_map(|fields| fields.into_iter().collect())
}

fn role() -> impl Strategy<Value = Role> {
    select(vec![Role::System, Role::User, Role::Assistant, Role::Tool])
}

fn message() -> impl Strategy<Value = Message> {
    let optional = (vec(object(), 0..3), prop::option::weighted(0.3, object()));
    let calls = prop::option::weighted(0.3, vec(object(), 0..3));
    (role(), content(), object(), optional, calls).prop_map(
        |(role, content, metadata, (parts, result), calls)| {
            let mut message =
                Message::new(role, content).with_metadata(metadata).with_multipart_content(parts);
            if let Some(result) = result {
                message = message.with_tool_result(result);
            }
            if let Some(calls) = calls {
                message = message.with_metadata_entry("tool_calls", json!(calls));
            }
            message
        },
    )
}

/// A native item as the scripted provider answers with: one message, part of the next message, or
/// two messages.
fn native_item() -> impl Strategy<Value = Value> {
    let say = (role(), content(), prop::option::weighted(0.3, object())).prop_map(
        |(role, say, internal)| match internal {
            None => json!({"who": role, "say": say}),
            Some(internal) => json!({"who": role, "say": say, "_metadata": internal}),
        },
    );
    prop_oneof![
        3 => say,
        1 => content().prop_map(|think| json!({ "think": think })),
        1 => (content(), content()).prop_map(|(first, second)| json!({"pair": [first, second]})),
    ]
}

// What can be done to them.

#[derive(Debug, Clone)]
enum Step {
    Add(Message, Option<Index>),
    Modify(Index, Value),
    Slice { start: Option<i64>, end: Option<i64>, remove: Vec<i64>, native: bool },
    Fork(i64),
    Join { earlier: Index, first: bool, native: bool },
    Rebuild,
    RebuildSome(Index, Index),
    Request(Vec<Value>),
    ExportImport,
    PatchMetadata(Map),
    PatchNative(Vec<i64>, Map),
}

fn step() -> impl Strategy<Value = Step> {
    let bound = || prop::option::of(-5..8_i64);
    prop_oneof![
        4 => (message(), prop::option::of(any::<Index>())).prop_map(|(m, at)| Step::Add(m, at)),
        2 => (any::<Index>(), content()).prop_map(|(at, content)| Step::Modify(at, content)),
        2 => (bound(), bound(), vec(-5..8_i64, 0..3), prop::bool::weighted(0.9)).prop_map(
            |(start, end, remove, native)| Step::Slice { start, end, remove, native }
        ),
        1 => (-5..8_i64).prop_map(Step::Fork),
        1 => (any::<Index>(), any::<bool>(), prop::bool::weighted(0.9))
            .prop_map(|(earlier, first, native)| Step::Join { earlier, first, native }),
        2 => Just(Step::Rebuild),
        1 => any::<(Index, Index)>().prop_map(|(start, end)| Step::RebuildSome(start, end)),
        4 => vec(native_item(), 0..4).prop_map(Step::Request),
        1 => Just(Step::ExportImport),
        1 => object().prop_map(Step::PatchMetadata),
        1 => (vec(-2..8_i64, 0..3), object()).prop_map(|(at, patch)| Step::PatchNative(at, patch)),
    ]
}

/// A core and what its plugins do.
#[derive(Debug, Clone, Copy)]
struct Setting {
    /// Whether the provider says which items a message came from.
    reports: bool,
    /// Whether a feature puts a system message first.
    rules: bool,
}

fn setting() -> impl Strategy<Value = Setting> {
    (prop::bool::weighted(0.7), prop::bool::weighted(0.3))
        .prop_map(|(reports, rules)| Setting { reports, rules })
}

const RULES: &str = "the rules";

fn is_rules(item: &NativeItem) -> bool {
    item.get("who") == Some(&json!("system")) && item.get("say") == Some(&json!(RULES))
}

struct World {
    core: Core,
    provider: ScriptedProvider,
    config: Config,
    setting: Setting,
}

impl World {
    fn new(setting: Setting) -> Self {
        let mapping = if setting.reports { Mapping::Reported } else { Mapping::Missing };
        let provider = ScriptedProvider::default().mapping(mapping);
        let mut core = core_with(&provider).unwrap();
        if setting.rules {
            let rules = ScriptedFeature::new("rules").initialize_request(|input, _| {
                if input.native_messages.iter().any(is_rules) {
                    return Ok(RequestChange::default());
                }
                let rules = vec![json!({"who": "system", "say": RULES}).into()];
                Ok(RequestChange::native(Change::insert(0, rules)))
            });
            core.register_feature(Arc::new(rules)).unwrap();
        }
        Self { core, provider, config: config(json!({"model": "m"})), setting }
    }

    /// Does `step` to the last of `sessions`, checks what is special about it, and gives the
    /// sessions that came of it. `None` where the operation rightly refused.
    fn take(&self, step: &Step, sessions: &[Session]) -> Option<Vec<Session>> {
        let (core, config) = (&self.core, &self.config);
        let session = sessions.last().unwrap();
        let count = session.messages().len();
        let before = essence(session);
        let here = CallContext::default();
        let given = |native: bool| native.then_some(config);
        Some(vec![match step {
            Step::Add(message, at) => {
                let at = at.map_or(count, |at| at.index(count + 1));
                let place = at.checked_sub(1).map_or(Place::Start, Place::After);
                let new = NewMessage::from(message.clone()).at(place);
                let grown = block_on(core.add_message(session, new, config)).unwrap();
                let mut expected = before;
                expected.insert(at, essence_of(message));
                assert_eq!(essence(&grown), expected);
                grown
            }
            Step::Modify(at, content) => {
                if count == 0 {
                    return None;
                }
                let at = at.index(count);
                let is_tool = session.messages().get(at).unwrap().role() == Role::Tool;
                let modify =
                    core.modify_message(session, at as i64, content.clone(), config, &here);
                let outcome = block_on(modify);
                if is_tool {
                    assert_eq!(outcome.unwrap_err().class(), ErrorClass::BadArgument);
                    return None;
                }
                let mut expected = before;
                expected[at]["content"] = content.clone();
                assert_eq!(essence(outcome.as_ref().unwrap()), expected);
                outcome.unwrap()
            }
            Step::Slice { start, end, remove, native } => {
                let slice = Slice { start: *start, end: *end, remove: remove.clone() };
                let one = block_on(core.slice_session(session, slice.clone(), given(*native)));
                let cut = block_on(core.split_session(session, slice, given(*native)));
                assert_eq!(cut.kept, one);
                let (kept, removed) = (essence(&cut.kept), essence(&cut.removed));
                assert_eq!(kept.len() + removed.len(), count);
                assert!(is_merge(&before, &kept, &removed), "{before:?} {kept:?} {removed:?}");
                return Some(vec![cut.removed, cut.kept]);
            }
            Step::Fork(upto) => {
                let fork = block_on(core.fork_session(session, *upto, Some("f"), Some(config)));
                assert_eq!(essence(&fork), before[..fork.messages().len()]);
                fork
            }
            Step::Join { earlier, first, native } => {
                let other = earlier.get(sessions);
                let (prefix, suffix) = if *first { (other, session) } else { (session, other) };
                let joined = block_on(core.join_sessions(prefix, suffix, given(*native))).unwrap();
                assert_eq!(essence(&joined), [essence(prefix), essence(suffix)].concat());
                joined
            }
            Step::Rebuild => {
                let rebuild = core.rebuild_native_history(session, Some(config), None, None, &here);
                let rebuilt = block_on(rebuild).unwrap();
                assert!(rebuilt.native().is_some());
                assert_eq!(essence(&rebuilt), self.with_rules(before));
                rebuilt
            }
            Step::RebuildSome(start, end) => {
                let (start, end) = (start.index(count + 1) as i64, end.index(count + 1) as i64);
                let (start, end) = (Some(start), Some(end));
                let rebuild = core.rebuild_native_history(session, Some(config), start, end, &here);
                match block_on(rebuild) {
                    Ok(rebuilt) => {
                        assert_eq!(essence(&rebuilt), self.with_rules(before));
                        rebuilt
                    }
                    Err(error) => {
                        let class = error.class();
                        assert!([ErrorClass::BadArgument, ErrorClass::BadState].contains(&class));
                        return None;
                    }
                }
            }
            Step::Request(items) => {
                self.provider.reply(ScriptedReply::items(self.possible(items)));
                let options = RequestOptions::default();
                let response = block_on(core.send_request(session, config, options)).unwrap();
                let finals: Vec<Value> = response.messages.iter().map(essence_of).collect();
                let expected = [self.with_rules(before), finals].concat();
                assert_eq!(essence(&response.session), expected);
                response.session
            }
            Step::ExportImport => {
                let text = session.export("json").unwrap();
                Session::import(&text, "json").unwrap()
            }
            Step::PatchMetadata(patch) => {
                let patched = session.with_metadata_patch(patch);
                assert_eq!(essence(&patched), before);
                patched
            }
            Step::PatchNative(at, patch) => {
                let items = session.native()?.items();
                let patched = patch_native_metadata(items, at, patch);
                assert_eq!(wires(&patched), wires(items));
                return None;
            }
        }])
    }

    /// Items whose mapping can be told from their number: without a report, two messages of one
    /// item and one message of two would pass for two of one each.
    fn possible(&self, items: &[Value]) -> Vec<Value> {
        let alone = |item: &Value| match item.get("pair") {
            Some(pair) if !self.setting.reports => json!({"who": "assistant", "say": pair[0]}),
            _ => item.clone(),
        };
        items.iter().map(alone).collect()
    }

    /// What initialisation makes of messages.
    fn with_rules(&self, mut messages: Vec<Value>) -> Vec<Value> {
        let rules = essence_of(&Message::system(RULES));
        let has_rules = |message: &Value| {
            message["role"] == rules["role"] && message["content"] == rules["content"]
        };
        if self.setting.rules && !messages.iter().any(has_rules) {
            messages.insert(0, rules);
        }
        messages
    }
}

fn wires(items: &Seq<NativeItem>) -> Vec<&str> {
    items.iter().map(NativeItem::wire).collect()
}

/// What a message says, without metadata that need not survive a rebuild.
fn essence_of(message: &Message) -> Value {
    let mut json = message.to_json();
    json["metadata"] = json!({ "tool_calls": json["metadata"].get("tool_calls") });
    json
}

fn essence(session: &Session) -> Vec<Value> {
    session.messages().iter().map(essence_of).collect()
}

/// Whether `whole` consists of `one` and `other`, each in order.
fn is_merge(whole: &[Value], one: &[Value], other: &[Value]) -> bool {
    match whole.split_first() {
        None => one.is_empty() && other.is_empty(),
        Some((first, rest)) => {
            (one.first() == Some(first) && is_merge(rest, &one[1..], other))
                || (other.first() == Some(first) && is_merge(rest, one, &other[1..]))
        }
    }
}

/// What holds for every session that the core made.
fn assert_sound(session: &Session) {
    session.verify().unwrap();
    let items = session.native().map_or(0, |native| native.items().len());
    for message in session.messages().iter() {
        let mapping = message.native_indices();
        assert!(!mapping.is_malformed());
        assert!(mapping.positions().unwrap_or_default().iter().all(|&at| at < items));
        if session.native().is_none() {
            assert_eq!(mapping, &NativeIndices::Absent);
        }
    }
    assert_eq!(&Session::from_json(session.to_json()).unwrap(), session);
    assert_eq!(&Session::import(&session.export("json").unwrap(), "json").unwrap(), session);
}

/// Takes `steps` from an empty session on; every session on the way is sound, and none changes
/// when the next one is made. Gives the last.
fn walk(world: &World, steps: &[Step]) -> Session {
    let mut sessions = vec![Session::new("s")];
    for step in steps {
        let before = sessions.last().unwrap().export("json").unwrap();
        let made = world.take(step, &sessions);
        assert_eq!(sessions.last().unwrap().export("json").unwrap(), before, "{step:?}");
        for session in made.into_iter().flatten() {
            assert_sound(&session);
            if session.messages().len() < 40 {
                sessions.push(session);
            }
        }
    }
    sessions.pop().unwrap()
}

proptest! {
    #![proptest_config(bounded(64))]

    // covers: A-02, A-04, A-05, A-16
    #[test]
    fn every_operation_gives_a_sound_session_and_leaves_its_input_alone(
        setting in setting(),
        steps in vec(step(), 1..12),
    ) {
        walk(&World::new(setting), &steps);
    }

    #[test] // B-49
    fn a_session_split_anywhere_joins_to_what_it_was(
        setting in setting(),
        steps in vec(step(), 1..6),
        last in vec(native_item(), 1..4),
    ) {
        let world = World::new(setting);
        let session = walk(&world, &steps);
        let session = world.take(&Step::Request(last), &[session]).unwrap().pop().unwrap();
        let native = session.native().unwrap().items();
        let mut owners = vec![0; native.len()];
        let mapped: Vec<_> = session.messages().iter().map(|m| m.native_indices().positions()).collect();
        mapped.iter().flatten().flatten().for_each(|&at| owners[at] += 1);
        let all_owned = owners.iter().all(|owners| *owners > 0) && mapped.iter().all(Option::is_some);
        let (core, config) = (&world.core, Some(&world.config));
        for at in 0..session.messages().len() {
            let cut = block_on(core.split_session(&session, Slice::range(0, at as i64), config));
            let joined = block_on(core.join_sessions(&cut.kept, &cut.removed, config)).unwrap();
            assert_sound(&joined);
            prop_assert_eq!(essence(&joined), essence(&session));
            let owned_by = |messages: &[Option<Vec<usize>>]| -> Vec<usize> {
                messages.iter().flatten().flatten().copied().collect()
            };
            let (kept, removed) = (owned_by(&mapped[..at]), owned_by(&mapped[at..]));
            let none_shared = !kept.iter().any(|item| removed.contains(item));
            if all_owned && none_shared {
                prop_assert_eq!(joined.native().unwrap().items(), native);
            }
        }
    }
}

// What outsiders may hand in.

/// Text that looks like a part of a session and often is none.
fn splinter() -> impl Strategy<Value = String> {
    let odd = [
        "",
        "null",
        "[]",
        "{}",
        "{",
        "]",
        ",",
        "\"",
        "\"x\"",
        "-1",
        "1e5",
        "1e400",
        "-0",
        "01",
        "18446744073709551615",
        "[18446744073709551615,18446744073709551614]",
        "[0,1,2,0]",
        "[[[[",
        "\"\\ud800\"",
        "\"\\ud83e\\udd80\"",
        "\\u0000",
        "\u{feff}",
        "🦀",
        "\"_metadata\":{\"k\":1},",
        "\"_\\u006detadata\":{},",
        "\"_metadata\":5,",
        "\"native_indices\":[0],",
        "\"native_messages\":[{}],",
        "\"native_messages\":\"x\",",
        "\"role\":\"robot\",",
        "\"multipart_content\":[{}],",
        "\"tool_result\":1,",
    ];
    prop_oneof![
        2 => select(odd.to_vec()).prop_map(str::to_owned),
        1 => value().prop_map(|value| value.to_string()),
        1 => "\\PC{0,4}",
    ]
}

/// Puts `splinter` in the place of a piece of `text`.
fn with_splinter(text: &str, (at, len, splinter): &(Index, usize, String)) -> String {
    let boundaries: Vec<usize> =
        text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let start = at.index(boundaries.len());
    let end = (start + len).min(boundaries.len() - 1);
    format!("{}{splinter}{}", &text[..boundaries[start]], &text[boundaries[end]..])
}

/// Puts `value` at a random place of a JSON tree.
fn put(tree: &mut Value, path: &[Index], value: Value) {
    let inner = match (path.split_first(), &mut *tree) {
        (Some((step, rest)), Value::Array(items)) if !items.is_empty() => {
            let at = step.index(items.len());
            items.get_mut(at).map(|inner| (inner, rest))
        }
        (Some((step, rest)), Value::Object(fields)) if !fields.is_empty() => {
            let at = step.index(fields.len());
            fields.values_mut().nth(at).map(|inner| (inner, rest))
        }
        _ => None,
    };
    match inner {
        Some((inner, rest)) => put(inner, rest, value),
        None => *tree = value,
    }
}

/// Importing `text` does not panic. What is accepted stays the same from then on, and no operation
/// on it panics or leaves native history that does not belong to the messages.
fn check_import(text: &str) {
    let session = match Session::import(text, "json") {
        Ok(session) => session,
        Err(error) => {
            assert!([ErrorClass::BadArgument, ErrorClass::WrongType].contains(&error.class()));
            return;
        }
    };
    assert_eq!(Session::import(&session.export("json").unwrap(), "json").unwrap(), session);
    let again = Session::from_json(session.to_json()).unwrap();
    assert_eq!(essence(&again), essence(&session));

    let world = World::new(Setting { reports: true, rules: false });
    let (core, config, here) = (&world.core, &world.config, CallContext::default());
    let last = session.messages().len() as i64;
    let middle = NewMessage::from(Message::user("x")).at(Place::Start);
    let mut made = vec![
        block_on(core.add_message(&session, Message::user("x"), config)),
        block_on(core.add_message(&session, middle, config)),
        block_on(core.modify_message(&session, 0, "x", config, &here)),
        block_on(core.join_sessions(&session, &session, Some(config))),
        block_on(core.rebuild_native_history(&session, Some(config), None, None, &here)),
        block_on(core.rebuild_native_history(&session, Some(config), Some(0), Some(1), &here)),
    ];
    for slice in [Slice::range(0, last - 1), Slice::range(1, None), Slice::without([0])] {
        let cut = block_on(core.split_session(&session, slice, Some(config)));
        made.extend([Ok(cut.kept), Ok(cut.removed)]);
    }
    for made in made.into_iter().flatten().filter(|made| *made != session) {
        made.verify().unwrap();
        assert_eq!(Session::import(&made.export("json").unwrap(), "json").unwrap(), made);
    }
}

proptest! {
    #![proptest_config(bounded(128))]

    #[test] // B-27, B-61
    fn arbitrary_text_is_read_or_refused(
        text in prop_oneof![splinter(), vec(splinter(), 0..6).prop_map(|all| all.concat())],
        id in value(),
        messages in vec(value(), 0..3),
        metadata in value(),
    ) {
        check_import(&text);
        check_import(&json!({"session_id": id, "messages": messages, "metadata": metadata}).to_string());
        check_import(&format!(r#"{{"session_id":"s","messages":[],"metadata":{{"native_messages":[{text}]}}}}"#));
    }

    #[test] // B-27, B-61
    fn a_damaged_session_is_read_or_refused(
        setting in setting(),
        steps in vec(step(), 1..6),
        replaced in vec((vec(any::<Index>(), 1..6), value()), 0..3),
        splinters in vec((any::<Index>(), 0..6_usize, splinter()), 0..3),
    ) {
        let session = walk(&World::new(setting), &steps);
        let mut tree = session.to_json();
        for (path, value) in replaced {
            put(&mut tree, &path, value);
        }
        check_import(&tree.to_string());
        let text = session.export("json").unwrap();
        check_import(&splinters.iter().fold(text, |text, splinter| with_splinter(&text, splinter)));
    }
}

//! What a message carries of the files that came with it: pictures for models that see, text as
//! text, the text of a PDF, and of anything else a line that says what it is.

pub(crate) mod pdf;

use base64::Engine;
use orlop_app::Application;
use orlop_core::hooks::{AttachmentPartsInput, FileInfo, Hook, HookSet, ToNativeInput};
use orlop_core::{
    Answer, CallContext, Change, Config, Context, Error, Feature, Manifest, Map, Message,
    NativeItem, Plugin, Value,
};
use serde_json::json;

/// Pictures that model servers take.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// How much of a text, and how large a picture, goes into a message, in bytes.
pub(crate) const MAX_TEXT: u64 = 256 * 1024;
const MAX_PICTURE: u64 = 5 * 1024 * 1024;

/// The feature. It shapes each file once, when it comes.
pub struct Attachments;

impl Plugin for Attachments {
    fn manifest(&self) -> Manifest {
        let bytes = |default: u64, description: &str| json!({ "type": "integer", "minimum": 0, "default": default, "description": description });
        Manifest::new("attachments", "1.0.0")
            .priority(1)
            .without_models()
            .only(HookSet::of(&[Hook::AttachmentParts, Hook::FeatureToNative]))
            .config(
                "attachments.max_text",
                bytes(MAX_TEXT, "How much of a text goes into a message, in bytes."),
            )
            .config(
                "attachments.max_picture",
                bytes(MAX_PICTURE, "How large a picture in a message may be, in bytes."),
            )
    }
}

impl Feature for Attachments {
    fn attachment_parts<'a>(
        &'a self,
        input: &'a AttachmentPartsInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        Answer::later(async move {
            let limit = |key: &str, default: u64| setting(&input.config, key).unwrap_or(default);
            let limits = Limits {
                text: limit("max_text", MAX_TEXT),
                picture: limit("max_picture", MAX_PICTURE),
                sees: sees(cx),
            };
            let (_, bytes) = Application::of(cx)?.read_asset(&input.file.id).await?;
            let file = input.file.clone();
            // Reading a PDF takes its time.
            let shaped = tokio::task::spawn_blocking(move || parts_of(&file, &bytes, &limits));
            shaped.await.map_err(|error| Error::internal(format!("a file was not read: {error}")))
        })
    }

    fn to_native_messages<'a>(
        &'a self,
        input: &'a ToNativeInput,
        cx: &'a Context,
    ) -> Answer<'a, Change<NativeItem>> {
        if sees(cx) || !input.messages.iter().any(shows_picture) {
            return Answer::default();
        }
        Answer::later(async move {
            let messages = input.messages.iter().map(without_pictures).collect();
            let context = CallContext::new("attachments");
            let items = cx.core().core_messages_to_native(messages, cx.config(), &context).await?;
            Ok(Change::Replace(items))
        })
    }
}

struct Limits {
    text: u64,
    picture: u64,
    sees: bool,
}

fn setting(config: &Config, key: &str) -> Option<u64> {
    config.get("attachments").and_then(|section| section.get(key)).and_then(Value::as_u64)
}

/// Whether the model takes pictures.
fn sees(cx: &Context) -> bool {
    cx.tags().iter().any(|tag| tag == "vision" || tag == "images")
}

fn parts_of(file: &FileInfo, bytes: &[u8], limits: &Limits) -> Vec<Map> {
    let FileInfo { name, media_type, size, .. } = file;
    let kind = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let told = |why: &str| {
        vec![text_part(format!("File {name} ({media_type}, {size} bytes) is attached, but {why}"))]
    };
    if PICTURES.contains(&kind.as_str()) {
        if !limits.sees {
            return told("the model in use does not take pictures.");
        }
        if *size > limits.picture {
            let most = limits.picture;
            return told(&format!(
                "a picture in a message may have {most} bytes at most; make it smaller."
            ));
        }
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        let url = format!("data:{kind};base64,{data}");
        let picture = json!({ "type": "image_url", "image_url": { "url": url } });
        return vec![
            text_part(format!("Picture {name}:")),
            picture.as_object().cloned().unwrap_or_default(),
        ];
    }
    if kind.starts_with("image/") && kind != "image/svg+xml" {
        return told("models do not take pictures of this type; convert it to PNG or JPEG.");
    }
    if kind == "application/pdf" || bytes.starts_with(b"%PDF-") {
        return match pdf::read(bytes, usize::try_from(limits.text).unwrap_or(usize::MAX)) {
            Ok(read) => {
                let pages = if read.pages == 1 {
                    "1 page".to_owned()
                } else {
                    format!("{} pages", read.pages)
                };
                let cut = read.cut.map(|why| format!("\n[the rest is left out: {why}]"));
                let text = format!(
                    "Text of {name} ({pages}):\n{}{}",
                    fenced(&read.text, ""),
                    cut.unwrap_or_default()
                );
                vec![text_part(text)]
            }
            Err(why) => told(&format!("its text cannot be read: {why}.")),
        };
    }
    match text_in(bytes, &kind) {
        Some(text) => vec![text_part(file_text(name, &text, limits.text))],
        None => told(
            "it is neither text nor a picture nor a PDF, and its content is not in the message.",
        ),
    }
}

fn text_part(text: String) -> Map {
    Map::from_iter([("type".to_owned(), "text".into()), ("text".to_owned(), text.into())])
}

/// A text with its name and in a fence, cut where it is too long.
fn file_text(name: &str, text: &str, most: u64) -> String {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let shown = &text[..text.floor_char_boundary(most)];
    let language = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let language = if language.chars().all(char::is_alphanumeric) { language } else { "" };
    let mut said = format!("File {name}:\n{}", fenced(shown, language));
    if shown.len() < text.len() {
        said.push_str(&format!("\n[{} bytes more are left out]", text.len() - shown.len()));
    }
    said
}

/// Text in a fence that nothing in it closes.
fn fenced(text: &str, language: &str) -> String {
    let mut runs = text.split(|c| c != '`').map(str::len);
    let longest = runs.by_ref().max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    let text = text.strip_suffix('\n').unwrap_or(text);
    format!("{fence}{language}\n{text}\n{fence}")
}

/// The text that bytes are, if they are one.
fn text_in(bytes: &[u8], kind: &str) -> Option<String> {
    let units = |from: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| from([pair[0], pair[1]]));
        String::from_utf16(&units.collect::<Vec<_>>()).ok()
    };
    let text = match bytes {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Some(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned()),
            // An old text in another encoding: most of it can be read.
            Err(_) if kind.starts_with("text/") => {
                Some(bytes.iter().map(|byte| char::from(*byte)).collect())
            }
            Err(_) => None,
        },
    };
    text.filter(|text| !text.contains('\0'))
}

fn is_picture(part: &Map) -> bool {
    let kind = part.get("type").and_then(Value::as_str);
    matches!(kind, Some("image_url" | "image" | "input_image"))
}

fn shows_picture(message: &Message) -> bool {
    message.multipart_content().iter().any(is_picture)
}

/// The message for a model that does not see.
fn without_pictures(message: &Message) -> Message {
    let shown = |part: &Map| match is_picture(part) {
        true => text_part("[a picture is here that the model in use does not take]".to_owned()),
        false => part.clone(),
    };
    let parts = message.multipart_content().iter().map(shown).collect();
    message.clone().with_multipart_content(parts)
}

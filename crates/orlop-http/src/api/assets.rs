//! Files to attach: they come as multipart forms and go straight to disk.

use super::file::File;
use super::view::{AssetView, OfSession};
use crate::caller::{self, Caller, Chat};
use crate::extract::{Created, Nothing, Path, Query, slow};
use crate::problem::Problem;
use crate::route::{Input, Operation};
use crate::server::Server;
use axum::extract::multipart::{Field, Multipart, MultipartError};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode};
use bytes::{Buf, Bytes};
use orlop_app::assets::Upload;
use orlop_core::{Error, ErrorClass};
use serde_json::json;
use std::io::{ErrorKind, Read};
use tokio::sync::mpsc;

impl Input for HeaderMap {
    fn describe(_: &mut Operation<'_>) {}
}

/// How much longer than a body of JSON a file may take.
const PATIENCE: u32 = 20;

/// How much a form is larger than the file in it.
const FORM: u64 = 64 * 1024;

pub(super) async fn put(
    caller: Caller<Chat>,
    Query(of): Query<OfSession>,
    mut form: Form,
) -> Result<Created<AssetView>, Problem> {
    let time = caller.server.limits().client_timeout * PATIENCE;
    let stored = tokio::time::timeout(time, async {
        let field = form.0.next_field().await.map_err(broken)?;
        let field = field.filter(|field| field.name() == Some("file")).ok_or_else(|| {
            Error::bad_argument("the form has no file; send one as the field \"file\"")
        })?;
        let upload =
            Upload::new(field.file_name().unwrap_or("file").to_owned(), field.content_type());
        store(&caller, of.session_id.as_deref(), upload, field).await
    });
    let record = stored.await.map_err(|_| slow(time))??;
    Ok(Created(record))
}

/// Passes the bytes on as they come; nothing is held but what is on its way.
async fn store(
    caller: &Caller<Chat>,
    session: Option<&str>,
    upload: Upload,
    mut field: Field<'_>,
) -> Result<AssetView, Problem> {
    let (sender, pieces) = mpsc::channel::<Bytes>(4);
    let app = caller.app();
    let kept = app.put_asset_from(session, upload, Pieces { pieces, held: Bytes::new() });
    let most = caller.server.max_asset_bytes();
    let sent = async move {
        let mut size = 0;
        loop {
            let piece = match field.chunk().await {
                Ok(Some(piece)) => piece,
                Ok(None) => {
                    let _ = sender.send(END).await;
                    return None;
                }
                Err(error) => return Some(broken(error)),
            };
            size += piece.len() as u64;
            if size > most {
                return Some(Problem::too_large(format!(
                    "the file is larger than {most} bytes; send a smaller one, or raise assets.max_bytes"
                )));
            }
            // Whoever keeps the file may have seen enough of it.
            if !piece.is_empty() && sender.send(piece).await.is_err() {
                return None;
            }
        }
    };
    let (kept, problem) = tokio::join!(kept, sent);
    match problem {
        Some(problem) => Err(problem),
        None => Ok(kept.map_err(refused)?.into()),
    }
}

/// A file of a type that is not taken here is told apart from what is wrong with it.
fn refused(error: Error) -> Problem {
    match error.class() {
        ErrorClass::WrongType => Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            error.message(),
        ),
        _ => error.into(),
    }
}

/// The last piece of a file. One that ends without it broke off, and is not kept.
const END: Bytes = Bytes::new();

/// Pieces of a file, read where that may block.
struct Pieces {
    pieces: mpsc::Receiver<Bytes>,
    held: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.held.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) if piece.is_empty() => {
                    self.pieces.close();
                    return Ok(0);
                }
                Some(piece) => self.held = piece,
                None => return Err(ErrorKind::UnexpectedEof.into()),
            }
        }
        (&mut self.held).reader().read(buffer)
    }
}

fn broken(error: MultipartError) -> Problem {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large(
            "the file is larger than assets.max_bytes allows; send a smaller one",
        ),
        _ => Error::bad_argument(format!(
            "the form cannot be read: {}; send one file as multipart/form-data",
            error.body_text()
        ))
        .into(),
    }
}

/// A multipart form.
pub(super) struct Form(Multipart);

impl FromRequest<Server> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, server: &Server) -> Result<Self, Problem> {
        let most = server.max_asset_bytes().saturating_add(FORM);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut request = request;
        axum::extract::DefaultBodyLimit::max(most).apply(&mut request);
        let form = Multipart::from_request(request, server).await.map_err(|error| {
            Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                format!("{}; send the file as multipart/form-data", error.body_text()),
            )
        })?;
        Ok(Self(form))
    }
}

impl Input for Form {
    fn describe(operation: &mut Operation<'_>) {
        let schema = json!({
            "type": "object", "required": ["file"],
            "properties": { "file": { "type": "string", "format": "binary" } },
        });
        operation.takes("multipart/form-data", schema, true);
    }
}

pub(super) async fn get(
    caller: Caller<caller::Read>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<File, Problem> {
    let (record, file) = caller.app().open_asset(&id).await?;
    File::new(record, file, &headers)
}

pub(super) async fn delete(
    caller: Caller<Chat>,
    Path(id): Path<String>,
) -> Result<Nothing, Problem> {
    caller.app().delete_asset(&id).await?;
    Ok(Nothing)
}

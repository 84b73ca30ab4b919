//! Fields that a server refused and answered without, so that the refusal is paid for once.

use super::{Wire, base_url};
use orlop_core::hooks::ModelRequest;
use orlop_types::Error;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What which server refuses, as long as the provider lives. Cloning shares it.
#[derive(Debug, Clone, Default)]
pub(super) struct Refused(Arc<Mutex<BTreeSet<Refusal>>>);

/// The address of a server, and a field that it does not take.
type Refusal = (String, &'static str);

impl Refused {
    /// The request without the fields that its server is known to refuse.
    pub(super) fn spared<W: Wire>(&self, mut input: ModelRequest) -> ModelRequest {
        if W::OPTIONAL.iter().any(|field| input.state.request.contains_key(*field)) {
            let server = base_url::<W>(&input.state.config).to_owned();
            for (_, field) in self.known().iter().filter(|(refusing, _)| *refusing == server) {
                input.state.request.shift_remove(*field);
            }
        }
        input
    }

    /// Keeps in mind that the server of this request does not take this field.
    pub(super) fn remember<W: Wire>(&self, input: &ModelRequest, field: &'static str) {
        self.known().insert((base_url::<W>(&input.state.config).to_owned(), field));
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<Refusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The optional field of the request that the server refuses, if it names one.
pub(super) fn refused_field<W: Wire>(
    input: &ModelRequest,
    refusal: &Error,
) -> Option<&'static str> {
    let body = refusal.provider_body()?;
    let is_named = |field: &&str| input.state.request.contains_key(*field) && body.contains(*field);
    let is_refused = matches!(refusal.provider_status(), Some(400 | 422));
    W::OPTIONAL.iter().copied().find(is_named).filter(|_| is_refused)
}

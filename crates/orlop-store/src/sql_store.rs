//! The contract of a store, kept by handing each operation to a thread that owns a connection.

use crate::database::{Access, Dialect, Tx, params};
use crate::workers::Workers;
use crate::{
    assets, changes, commit, events, leases, plugin_states, search, sessions, shares, turns,
};
use orlop_app::Scope;
use orlop_app::store::{
    Acquired, AssetRecord, ChangeNote, Commit, Committed, EventQuery, Head, Hit, Lease, ListQuery,
    NewEvent, Numbers, Outline, Page, PluginState, SearchQuery, ShareRecord, Store, StoreHealth,
    Stored, StoredChange, StoredSession, TurnRecord,
};
use orlop_core::types::app_event::Event;
use orlop_core::{Map, Message, Result, Value};
use std::marker::PhantomData;
use std::ops::Range;
use std::time::Duration;

/// A store in a database. [`SqliteStore`](crate::SqliteStore) and
/// [`PostgresStore`](crate::PostgresStore) are the two there are.
///
/// Its futures need no particular runtime. An operation that has begun is finished even if its
/// future is dropped. Dropping the store waits for what has begun, and closes the database.
pub struct SqlStore<Kind> {
    name: String,
    writers: Workers,
    /// None: those who write read as well.
    readers: Option<Workers>,
    kind: PhantomData<fn() -> Kind>,
}

impl<Kind: 'static> SqlStore<Kind> {
    pub(crate) fn new(name: String, writers: Workers, readers: Option<Workers>) -> Self {
        Self { name, writers, readers, kind: PhantomData }
    }

    pub(crate) fn read<'a, T: Send + 'static>(
        &'a self,
        work: impl Fn(&mut dyn Tx) -> Result<T> + Send + 'static,
    ) -> Stored<'a, T> {
        let workers = self.readers.as_ref().unwrap_or(&self.writers);
        Box::pin(async move { workers.run(Access::Read, work).await })
    }

    pub(crate) fn write<'a, T: Send + 'static>(
        &'a self,
        work: impl Fn(&mut dyn Tx) -> Result<T> + Send + 'static,
    ) -> Stored<'a, T> {
        Box::pin(async move { self.writers.run(Access::Write, work).await })
    }

    fn write_lightly<'a, T: Send + 'static>(
        &'a self,
        work: impl Fn(&mut dyn Tx) -> Result<T> + Send + 'static,
    ) -> Stored<'a, T> {
        Box::pin(async move { self.writers.run(Access::WriteLightly, work).await })
    }
}

impl<Kind> std::fmt::Debug for SqlStore<Kind> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "store in {}", self.name)
    }
}

impl<Kind: 'static> Store for SqlStore<Kind> {
    fn load<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<StoredSession>> {
        let (scope, id) = (scope.clone(), id.to_owned());
        self.read(move |tx| sessions::load(tx, &scope, &id))
    }

    fn head<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<Head>> {
        let (scope, id) = (scope.clone(), id.to_owned());
        self.read(move |tx| sessions::head(tx, &scope, &id))
    }

    fn outline<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<Outline>> {
        let (scope, id) = (scope.clone(), id.to_owned());
        self.read(move |tx| sessions::outline(tx, &scope, &id))
    }

    fn messages<'a>(
        &'a self,
        scope: &'a Scope,
        id: &'a str,
        range: Range<usize>,
    ) -> Stored<'a, Option<Vec<Message>>> {
        let (scope, id) = (scope.clone(), id.to_owned());
        self.read(move |tx| sessions::messages(tx, &scope, &id, &range))
    }

    fn list<'a>(&'a self, scope: &'a Scope, query: &'a ListQuery) -> Stored<'a, Page> {
        let (scope, query) = (scope.clone(), query.clone());
        self.read(move |tx| sessions::list(tx, &scope, &query))
    }

    fn search<'a>(&'a self, scope: &'a Scope, query: &'a SearchQuery) -> Stored<'a, Vec<Hit>> {
        let (scope, query) = (scope.clone(), query.clone());
        self.read(move |tx| search::search(tx, &scope, &query))
    }

    fn commit<'a>(&'a self, scope: &'a Scope, commit: Commit) -> Stored<'a, Committed> {
        let scope = scope.clone();
        self.write(move |tx| commit::commit(tx, &scope, &commit))
    }

    fn delete<'a>(
        &'a self,
        scope: &'a Scope,
        lease: &'a Lease,
        events: Vec<NewEvent>,
    ) -> Stored<'a, Option<Committed>> {
        let (scope, lease) = (scope.clone(), lease.clone());
        self.write(move |tx| commit::delete(tx, &scope, &lease, &events))
    }

    fn acquire<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        owner: &'a str,
        time: Duration,
    ) -> Stored<'a, Acquired> {
        let (scope, session, owner) = (scope.clone(), session.to_owned(), owner.to_owned());
        self.write_lightly(move |tx| leases::acquire(tx, &scope, &session, &owner, time))
    }

    fn renew<'a>(&'a self, scope: &'a Scope, lease: &'a Lease, time: Duration) -> Stored<'a, bool> {
        let (scope, lease) = (scope.clone(), lease.clone());
        self.write_lightly(move |tx| leases::renew(tx, &scope, &lease, time))
    }

    fn release<'a>(&'a self, scope: &'a Scope, lease: &'a Lease) -> Stored<'a, ()> {
        let (scope, lease) = (scope.clone(), lease.clone());
        self.write_lightly(move |tx| leases::release(tx, &scope, &lease))
    }

    fn revoke<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        owner: &'a str,
    ) -> Stored<'a, bool> {
        let (scope, session, owner) = (scope.clone(), session.to_owned(), owner.to_owned());
        self.write_lightly(move |tx| leases::revoke(tx, &scope, &session, &owner))
    }

    fn turn<'a>(&'a self, scope: &'a Scope, request: &'a str) -> Stored<'a, Option<TurnRecord>> {
        let (scope, request) = (scope.clone(), request.to_owned());
        self.read(move |tx| turns::turn(tx, &scope, &request))
    }

    fn turns<'a>(
        &'a self,
        scope: &'a Scope,
        session: Option<&'a str>,
        limit: usize,
    ) -> Stored<'a, Vec<TurnRecord>> {
        let (scope, session) = (scope.clone(), session.map(str::to_owned));
        self.read(move |tx| turns::turns(tx, &scope, session.as_deref(), limit))
    }

    fn abandoned(&self, limit: usize) -> Stored<'_, Vec<(Scope, TurnRecord)>> {
        self.read(move |tx| turns::abandoned(tx, limit))
    }

    fn signal<'a>(&'a self, scope: &'a Scope, request: &'a str, signal: Value) -> Stored<'a, ()> {
        let (scope, request) = (scope.clone(), request.to_owned());
        self.write(move |tx| turns::signal(tx, &scope, &request, &signal))
    }

    fn take_signals<'a>(&'a self, scope: &'a Scope, request: &'a str) -> Stored<'a, Vec<Value>> {
        let (scope, request) = (scope.clone(), request.to_owned());
        self.write(move |tx| turns::take_signals(tx, &scope, &request))
    }

    fn publish<'a>(
        &'a self,
        scope: &'a Scope,
        events: Vec<NewEvent>,
        reserve: u64,
    ) -> Stored<'a, Numbers> {
        let scope = scope.clone();
        self.write(move |tx| events::write(tx, &scope, &events, reserve))
    }

    fn events<'a>(&'a self, scope: &'a Scope, query: &'a EventQuery) -> Stored<'a, Vec<Event>> {
        let (scope, query) = (scope.clone(), query.clone());
        self.read(move |tx| events::events(tx, &scope, &query))
    }

    fn trace<'a>(&'a self, scope: &'a Scope, request: &'a str) -> Stored<'a, Vec<Map>> {
        let (scope, request) = (scope.clone(), request.to_owned());
        self.read(move |tx| turns::trace(tx, &scope, &request))
    }

    fn plugin_state<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        plugin: &'a str,
    ) -> Stored<'a, Option<PluginState>> {
        let (scope, session, plugin) = (scope.clone(), session.to_owned(), plugin.to_owned());
        self.read(move |tx| plugin_states::get(tx, &scope, &session, &plugin))
    }

    fn set_plugin_state<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        plugin: &'a str,
        expected: u64,
        value: Option<Value>,
    ) -> Stored<'a, Option<u64>> {
        let (scope, session, plugin) = (scope.clone(), session.to_owned(), plugin.to_owned());
        self.write(move |tx| {
            plugin_states::set(tx, &scope, &session, &plugin, expected, value.as_ref())
        })
    }

    fn put_asset<'a>(&'a self, scope: &'a Scope, asset: &'a AssetRecord) -> Stored<'a, ()> {
        let (scope, asset) = (scope.clone(), asset.clone());
        self.write(move |tx| assets::put(tx, &scope, &asset))
    }

    fn asset<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, Option<AssetRecord>> {
        let (scope, id) = (scope.clone(), id.to_owned());
        self.read(move |tx| assets::get(tx, &scope, &id))
    }

    fn assets<'a>(
        &'a self,
        scope: &'a Scope,
        session: Option<&'a str>,
    ) -> Stored<'a, Vec<AssetRecord>> {
        let (scope, session) = (scope.clone(), session.map(str::to_owned));
        self.read(move |tx| assets::list(tx, &scope, session.as_deref()))
    }

    fn delete_asset<'a>(&'a self, scope: &'a Scope, id: &'a str) -> Stored<'a, bool> {
        let (scope, id) = (scope.clone(), id.to_owned());
        self.write(move |tx| assets::delete(tx, &scope, &id))
    }

    fn put_share<'a>(&'a self, scope: &'a Scope, share: &'a ShareRecord) -> Stored<'a, ()> {
        let (scope, share) = (scope.clone(), share.clone());
        self.write(move |tx| shares::put(tx, &scope, &share))
    }

    fn shares<'a>(&'a self, scope: &'a Scope, session: &'a str) -> Stored<'a, Vec<ShareRecord>> {
        let (scope, session) = (scope.clone(), session.to_owned());
        self.read(move |tx| shares::list(tx, &scope, &session))
    }

    fn share<'a>(&'a self, id: &'a str) -> Stored<'a, Option<(Scope, ShareRecord)>> {
        let id = id.to_owned();
        self.read(move |tx| shares::find(tx, &id))
    }

    fn delete_share<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        id: &'a str,
    ) -> Stored<'a, bool> {
        let (scope, session, id) = (scope.clone(), session.to_owned(), id.to_owned());
        self.write(move |tx| shares::delete(tx, &scope, &session, &id))
    }

    fn changes<'a>(&'a self, scope: &'a Scope, session: &'a str) -> Stored<'a, Vec<ChangeNote>> {
        let (scope, session) = (scope.clone(), session.to_owned());
        self.read(move |tx| changes::list(tx, &scope, &session))
    }

    fn change<'a>(
        &'a self,
        scope: &'a Scope,
        session: &'a str,
        id: &'a str,
    ) -> Stored<'a, Option<StoredChange>> {
        let (scope, session, id) = (scope.clone(), session.to_owned(), id.to_owned());
        self.read(move |tx| changes::get(tx, &scope, &session, &id))
    }

    fn check(&self) -> Stored<'_, StoreHealth> {
        let name = self.name.clone();
        self.write(move |tx| check(tx, &name))
    }
}

/// Reads, and writes a row that has no other purpose.
fn check(tx: &mut dyn Tx, name: &str) -> Result<StoreHealth> {
    let now = tx.now()?;
    tx.execute("UPDATE health SET checked = $1", &params![now])?;
    let version = match tx.dialect() {
        Dialect::Sqlite => "PRAGMA user_version",
        Dialect::Postgres => "SELECT version FROM schema_version",
    };
    let mut count = |sql| tx.row(sql, &[])?.map_or(Ok(0), |mut row| row.count());
    Ok(StoreHealth {
        name: name.to_owned(),
        schema_version: u32::try_from(count(version)?).unwrap_or(u32::MAX),
        sessions: count("SELECT COUNT(*) FROM sessions")?,
    })
}

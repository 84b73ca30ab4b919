//! Opening stores: what is made, what is refused, and what is said about it.

use crate::place::{Folder, Place, on_every_store};
use crate::steps::*;
use futures::executor::block_on;
use orlop_app::store::{Commit, SearchQuery, Store};
use orlop_core::ErrorClass::{BadArgument, BadState, Unavailable};
use orlop_core::{Error, ErrorClass};
use orlop_store::{PostgresStore, SqliteStore};
use orlop_testkit::{PostgresServer, skip};
use std::path::Path;

async fn a_store_is_healthy_and_says_where_it_is(place: &Place) {
    let store = place.open();
    let health = store.check().await.unwrap();
    assert_eq!((health.schema_version, health.sessions), (6, 0));
    let expected = match place {
        Place::Sqlite(folder) => format!("sqlite {}", folder.file().display()),
        Place::Postgres(url) => format!("postgres {}", url.split_once('@').unwrap().1),
    };
    assert_eq!(health.name, expected);
    create(&*store, &ana(), "s", &[]).await;
    assert_eq!(place.open().check().await.unwrap().sessions, 1);
}

async fn opening_again_finds_what_was_stored(place: &Place) {
    create(&*place.open(), &ana(), "s", &["m"]).await;
    for _ in 0..3 {
        assert_eq!(texts(&*place.open(), &ana(), "s").await, ["m"]);
    }
}

async fn a_newer_version_is_refused(place: &Place) {
    drop(place.open());
    let error = match place {
        Place::Sqlite(folder) => {
            let file = rusqlite::Connection::open(folder.file()).unwrap();
            file.execute_batch("PRAGMA user_version = 99").unwrap();
            SqliteStore::open(&folder.file()).map(drop).unwrap_err()
        }
        Place::Postgres(url) => {
            let server = PostgresServer::shared().unwrap();
            server.sql(url, "UPDATE orlop.schema_version SET version = 99").unwrap();
            PostgresStore::connect(url).map(drop).unwrap_err()
        }
    };
    assert_eq!(error.class(), BadState);
    assert!(error.message().contains("was written by a newer version of Orlop"), "{error}");
    assert!(error.message().ends_with("update Orlop"), "{error}");
}

/// Makes the tables what they were in version 5.
const BACK_TO_5: &str = "ALTER TABLE sessions DROP COLUMN messages_revision;";

async fn what_version_5_wrote_is_there_in_version_6(place: &Place) {
    let store = place.open();
    let lease = create(&*store, &ana(), "s", &["m"]).await;
    // One entry a row, as it was written then.
    for (number, entry) in ["{\"hook\":1}", "{\"hook\":2}"].into_iter().enumerate() {
        let commit = Commit {
            turn: Some(turn("r", number == 0, "x", false)),
            trace: entry.to_owned(),
            ..Commit::new(lease.clone())
        };
        store.commit(&ana(), commit).await.unwrap();
    }
    drop(store);
    match place {
        Place::Sqlite(folder) => {
            let file = rusqlite::Connection::open(folder.file()).unwrap();
            file.execute_batch(&format!("{BACK_TO_5} PRAGMA user_version = 5")).unwrap();
        }
        Place::Postgres(url) => {
            let server = PostgresServer::shared().unwrap();
            let back = BACK_TO_5.replace("sessions", "orlop.sessions");
            server.sql(url, &back).unwrap();
            server.sql(url, "UPDATE orlop.schema_version SET version = 5").unwrap();
        }
    }
    let store = place.open();
    assert_eq!(texts(&*store, &ana(), "s").await, ["m"]);
    let head = store.head(&ana(), "s").await.unwrap().unwrap();
    assert_eq!((head.revision, head.messages_revision), (1, 1));
    assert_eq!(store.trace(&ana(), "r").await.unwrap().len(), 2);
}

on_every_store! {
    #[test]
    what_version_5_wrote_is_there_in_version_6;
    #[test]
    a_store_is_healthy_and_says_where_it_is;
    #[test]
    opening_again_finds_what_was_stored;
    #[test]
    a_newer_version_is_refused;
}

fn refusal(file: &Path) -> Error {
    let error = SqliteStore::open(file).map(drop).unwrap_err();
    assert!(error.message().contains(&file.display().to_string()), "{error}");
    error
}

#[test]
fn folders_are_made_and_only_their_owner_can_read_the_file() {
    let folder = Folder::new();
    let file = folder.path().join("new").join("deep").join("x.db");
    let store = SqliteStore::open(&file).unwrap();
    block_on(create(&store, &ana(), "s", &["m"]));
    #[cfg(unix)]
    for name in ["x.db", "x.db-wal", "x.db-shm"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(file.with_file_name(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn what_is_no_database_is_left_alone() {
    let folder = Folder::new();
    for (name, bytes) in [
        (
            "text.db",
            &b"hello, I am a shopping list, and no database, as you can see".repeat(100)[..],
        ),
        ("short.db", b"x"),
        ("zeros.db", &[0; 5000]),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        assert_eq!(refusal(&file).class(), BadState, "{name}");
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "{name}");
    }
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let folder = Folder::new();
    let other = rusqlite::Connection::open(folder.file()).unwrap();
    other.execute_batch("CREATE TABLE sessions (x); INSERT INTO sessions VALUES (1)").unwrap();
    drop(other);
    let bytes = std::fs::read(folder.file()).unwrap();
    let error = refusal(&folder.file());
    assert_eq!(error.class(), BadState);
    assert!(error.message().contains("another program"), "{error}");
    assert_eq!(std::fs::read(folder.file()).unwrap(), bytes);
}

#[test]
fn an_empty_file_is_a_new_store() {
    let folder = Folder::new();
    std::fs::write(folder.file(), b"").unwrap();
    let store = SqliteStore::open(&folder.file()).unwrap();
    assert_eq!(block_on(store.check()).unwrap().sessions, 0);
}

/// The file of a store with some sessions in it, all in the main file.
fn filled() -> (Folder, Vec<u8>) {
    let folder = Folder::new();
    let store = SqliteStore::open(&folder.file()).unwrap();
    for number in 0..20 {
        let text = format!("message {number} ").repeat(100);
        block_on(create(&store, &ana(), &format!("s{number}"), &[&text]));
    }
    drop(store);
    let bytes = std::fs::read(folder.file()).unwrap();
    (folder, bytes)
}

#[test]
fn a_truncated_file_is_an_error_with_advice() {
    let (folder, bytes) = filled();
    for length in [100, 4096, bytes.len() / 2, bytes.len() - 4096] {
        std::fs::write(folder.file(), &bytes[..length]).unwrap();
        let error = refusal(&folder.file());
        assert_eq!(error.class(), BadState, "{length}: {error}");
    }
}

#[test]
fn a_damaged_file_is_an_error_and_no_panic() {
    let (folder, bytes) = filled();
    let mut refused = 0;
    for page in 0..bytes.len() / 4096 {
        let mut damaged = bytes.clone();
        damaged[page * 4096 + 8..page * 4096 + 2000].fill(0xa5);
        std::fs::write(folder.file(), &damaged).unwrap();
        let failure = |error: Error| {
            let class = error.class();
            assert!([BadState, Unavailable, ErrorClass::Internal].contains(&class), "{error:?}");
            1
        };
        match SqliteStore::open(&folder.file()) {
            Err(error) => refused += failure(error),
            Ok(store) => block_on(async {
                for number in 0..20 {
                    let loaded = store.load(&ana(), &format!("s{number}")).await;
                    refused += loaded.map_or_else(failure, |_| 0);
                }
                let _ =
                    store.search(&ana(), &SearchQuery::new("message", 50)).await.map_err(failure);
                let lease = store.acquire(&ana(), "new", "me", HOUR).await;
                let _ = lease.map_err(failure);
            }),
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_place_that_cannot_be_written_is_unavailable() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("file"), b"").unwrap();
    let below_a_file = folder.path().join("file").join("x.db");
    assert_eq!(refusal(&below_a_file).class(), Unavailable);
    assert_eq!(refusal(folder.path()).class(), Unavailable, "a folder");
    assert_eq!(refusal(Path::new("/proc/orlop/x.db")).class(), Unavailable);
}

#[cfg(unix)]
#[test]
fn a_read_only_file_is_unavailable() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, _) = filled();
    let read_only = std::fs::Permissions::from_mode(0o400);
    std::fs::set_permissions(folder.file(), read_only).unwrap();
    if std::fs::OpenOptions::new().append(true).open(folder.file()).is_ok() {
        return skip("a read-only file", "this user may write to every file");
    }
    assert_eq!(refusal(&folder.file()).class(), Unavailable);
}

#[test]
fn a_store_in_memory_has_everything_and_leaves_nothing() {
    let store = SqliteStore::open_in_memory().unwrap();
    block_on(async {
        create(&store, &ana(), "s", &["findme"]).await;
        assert_eq!(texts(&store, &ana(), "s").await, ["findme"]);
        assert_eq!(store.search(&ana(), &SearchQuery::new("findme", 1)).await.unwrap().len(), 1);
        assert_eq!(store.check().await.unwrap().name, "sqlite in memory");
    });
    let other = SqliteStore::open_in_memory().unwrap();
    assert_eq!(block_on(other.load(&ana(), "s")).unwrap(), None);
}

#[test]
fn a_setting_names_the_store() {
    let folder = Folder::new();
    let named = folder.path().join("named.db");
    let default = folder.path().join("default.db");
    for (url, file) in [
        ("sqlite:".to_owned(), &default),
        (format!("sqlite:{}", named.display()), &named),
        (format!("sqlite://{}", named.display()), &named),
    ] {
        let store = orlop_store::open(&url, &default).unwrap();
        let health = block_on(store.check()).unwrap();
        assert_eq!(health.name, format!("sqlite {}", file.display()));
    }
    for url in ["", "x", "/tmp/x.db", "mysql://u:s3cret@h/db", "s3cret", "redis:s3cret"] {
        let error = orlop_store::open(url, &default).map(drop).unwrap_err();
        assert_eq!(error.class(), BadArgument);
        assert!(error.message().contains("sqlite:") && error.message().contains("postgres://"));
        assert!(!error.message().contains("s3cret"), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_unavailable_and_the_password_is_not_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("postgres://ana:s3cret@127.0.0.1:{port}/db");
    let error = orlop_store::open(&url, Path::new("x")).map(drop).unwrap_err();
    assert_eq!(error.class(), Unavailable);
    assert!(error.message().contains(&format!("127.0.0.1:{port}/db")), "{error}");
    assert!(!error.message().contains("s3cret"), "{error}");
}

#[test]
fn what_the_server_refuses_is_said() {
    let Some(Place::Postgres(url)) = Place::postgres() else {
        return skip("PostgreSQL: refusals", "no PostgreSQL server is installed");
    };
    let missing = PostgresStore::connect(&format!("{url}_missing")).map(drop).unwrap_err();
    assert_eq!(missing.class(), BadState);
    assert!(missing.message().contains("no database"), "{missing}");
    let stranger = url.replace("postgres@", "nobody_we_know:s3cret@");
    let stranger = PostgresStore::connect(&stranger).map(drop).unwrap_err();
    assert_eq!(stranger.class(), BadState, "{stranger}");
    assert!(!stranger.message().contains("s3cret"), "{stranger}");
    let encrypted = format!("{url}?sslmode=require");
    let encrypted = PostgresStore::connect(&encrypted).map(drop).unwrap_err();
    assert_eq!(encrypted.class(), Unavailable, "{encrypted}");
    assert!(encrypted.message().contains("sslmode"), "{encrypted}");
}

#[test]
fn connections_that_broke_are_made_anew() {
    let Some(place @ Place::Postgres(_)) = Place::postgres() else {
        return skip("PostgreSQL: broken connections", "no PostgreSQL server is installed");
    };
    let Place::Postgres(url) = &place else { unreachable!() };
    let store = place.open();
    let lease = block_on(create(&*store, &ana(), "s", &["m"]));
    for revision in 1..4 {
        let end_all = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity \
                       WHERE datname = current_database() AND pid <> pg_backend_pid()";
        let ended = PostgresServer::shared().unwrap().sql(url, end_all).unwrap();
        assert_ne!(ended, "0");
        let change = write(revision, vec![kept(0..revision as usize), new(&["n"])]);
        block_on(save(&*store, &ana(), &lease, change)).unwrap();
    }
    assert_eq!(block_on(texts(&*store, &ana(), "s")).len(), 4);
}

#[test]
fn a_text_with_a_zero_character_as_id_is_a_bad_argument_in_postgres() {
    let Some(place) = Place::postgres() else {
        return skip("PostgreSQL: zero characters", "no PostgreSQL server is installed");
    };
    let loaded = block_on(place.open().load(&ana(), "a\0b"));
    assert_eq!(class(loaded), BadArgument);
}

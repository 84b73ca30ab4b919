//! Several stores on one file or one database, as several processes have them.

use crate::place::{Folder, Place, on_every_store};
use crate::steps::*;
use futures::executor::block_on;
use orlop_app::store::{Acquired, Commit, EventQuery, Store};
use orlop_core::ErrorClass::Conflict;
use orlop_store::SqliteStore;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

/// Runs one closure a thread, all from the same moment on; gives what they return, in order.
fn at_once<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(count);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                let (work, barrier) = (&work, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    work(number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

async fn many_can_open_a_new_place_at_once(place: &Place) {
    let counts = at_once(6, |number| {
        let store = place.open();
        block_on(create(&*store, &ana(), &format!("s{number}"), &["m"]));
        block_on(store.list(&ana(), &Default::default())).unwrap().heads.len()
    });
    assert!(counts.iter().all(|count| (1..=6).contains(count)), "{counts:?}");
    let store = place.open();
    assert_eq!(store.check().await.unwrap().sessions, 6);
}

async fn of_two_changes_to_one_revision_one_is_stored(place: &Place) {
    let lease = create(&*place.open(), &ana(), "s", &["m"]).await;
    let results = at_once(4, |number| {
        let store = place.open();
        let text = format!("by {number}");
        block_on(save(&*store, &ana(), &lease, write(1, vec![kept(0..1), new(&[&text])])))
    });
    let (stored, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!((stored.len(), refused.len()), (1, 3));
    assert!(refused.into_iter().all(|result| class(result) == Conflict));
    assert_eq!(texts(&*place.open(), &ana(), "s").await.len(), 2);
}

async fn no_change_is_lost_between_processes(place: &Place) {
    const EACH: usize = 15;
    let lease = create(&*place.open(), &ana(), "s", &[]).await;
    at_once(2, |number| {
        let store = place.open();
        for step in 0..EACH {
            let text = format!("{number}-{step}");
            // Whoever was too late looks again and repeats the change.
            loop {
                let head = block_on(store.head(&ana(), "s")).unwrap().unwrap();
                let change = vec![kept(0..head.message_count), new(&[&text])];
                match block_on(save(&*store, &ana(), &lease, write(head.revision, change))) {
                    Ok(_) => break,
                    Err(error) => assert_eq!(error.class(), Conflict, "{error}"),
                }
            }
        }
    });
    let mut texts = texts(&*place.open(), &ana(), "s").await;
    for number in 0..2 {
        let own: Vec<_> = texts.iter().filter(|it| it.starts_with(&format!("{number}-"))).collect();
        let expected: Vec<_> = (0..EACH).map(|step| format!("{number}-{step}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 2 * EACH);
}

async fn a_lease_is_given_to_one_of_many(place: &Place) {
    let store = place.open();
    for round in 1..=3 {
        let leases: Vec<_> = at_once(4, |number| {
            let store = place.open();
            let owner = format!("owner{number}");
            match block_on(store.acquire(&ana(), "s", &owner, HOUR)).unwrap() {
                Acquired::Lease(lease) => Some(lease),
                Acquired::Held { .. } => None,
            }
        });
        let leases: Vec<_> = leases.into_iter().flatten().collect();
        assert_eq!(leases.len(), 1);
        assert_eq!(leases[0].token, round);
        store.release(&ana(), &leases[0]).await.unwrap();
    }
}

async fn event_numbers_are_given_once_and_in_order(place: &Place) {
    const WRITERS: usize = 4;
    const EACH: usize = 20;
    let stores = [place.open(), place.open()];
    let done = AtomicBool::new(false);
    let (seen, numbers) = std::thread::scope(|scope| {
        // A reader that goes on from the last number it saw must miss none.
        let reader = scope.spawn(|| {
            let store = place.open();
            let mut seen = Vec::new();
            loop {
                let last_round = done.load(Ordering::SeqCst);
                let after = seen.last().copied().unwrap_or(0);
                let query = EventQuery { after, ..Default::default() };
                let events = block_on(store.events(&ana(), &query)).unwrap();
                seen.extend(events.iter().map(|event| event.seq));
                if last_round && events.is_empty() {
                    return seen;
                }
            }
        });
        let numbers = at_once(WRITERS, |writer| {
            let store: &Arc<dyn Store> = &stores[writer % 2];
            let lease = block_on(lease(&**store, &ana(), &format!("s{writer}")));
            let mut numbers = Vec::new();
            for step in 0..EACH {
                let events = vec![event(None, None, "a"); step % 3];
                let (count, reserve) = (events.len() as u64, (step % 4) as u64);
                let given = if step % 2 == 0 {
                    block_on(store.publish(&ana(), events, reserve)).unwrap()
                } else {
                    let commit = Commit { events, reserve, ..Commit::new(lease.clone()) };
                    block_on(store.commit(&ana(), commit)).unwrap().numbers
                };
                if count + reserve > 0 {
                    assert_eq!(given.reserved, given.first + count..given.first + count + reserve);
                    numbers.push((given.first..given.first + count, given.reserved));
                }
            }
            assert!(numbers.is_sorted_by_key(|(events, _)| events.start));
            numbers
        });
        done.store(true, Ordering::SeqCst);
        (reader.join().unwrap(), numbers)
    });
    let numbers = Vec::from_iter(numbers.into_iter().flatten());
    let mut written: Vec<u64> = numbers.iter().flat_map(|(events, _)| events.clone()).collect();
    let mut all = written.clone();
    all.extend(numbers.iter().flat_map(|(_, reserved)| reserved.clone()));
    written.sort();
    all.sort();
    assert_eq!(seen, written);
    assert_eq!(all, Vec::from_iter(1..=all.len() as u64), "each number once, none left out");
}

async fn of_two_plugins_one_sets_the_state(place: &Place) {
    create(&*place.open(), &ana(), "s", &[]).await;
    for round in 0..3 {
        let versions = at_once(4, |number| {
            let store = place.open();
            let value = Some(json!(number));
            block_on(store.set_plugin_state(&ana(), "s", "p", round, value)).unwrap()
        });
        assert_eq!(versions.into_iter().flatten().collect::<Vec<_>>(), [round + 1]);
    }
}

async fn a_signal_is_taken_by_one(place: &Place) {
    let store = place.open();
    for number in 0..20 {
        store.signal(&ana(), "r", json!(number)).await.unwrap();
    }
    let taken = at_once(3, |_| block_on(place.open().take_signals(&ana(), "r")).unwrap());
    let mut taken = taken.concat();
    taken.sort_by_key(|signal| signal.as_u64());
    assert_eq!(taken, (0..20).map(|number| json!(number)).collect::<Vec<_>>());
}

async fn forks_deleted_at_once_leave_nothing(place: &Place) {
    let store = place.open();
    let mut leases = vec![create(&*store, &ana(), "s", &["a", "b"]).await];
    for number in 0..3 {
        let id = format!("fork{number}");
        let lease = lease(&*store, &ana(), &id).await;
        let from = Some("s".to_owned());
        let fork = orlop_app::store::SessionWrite { from, ..write(0, vec![kept(0..2)]) };
        save(&*store, &ana(), &lease, fork).await.unwrap();
        leases.push(lease);
    }
    at_once(leases.len(), |number| {
        let store = place.open();
        block_on(store.delete(&ana(), &leases[number], vec![])).unwrap().unwrap();
    });
    drop(store);
    assert_eq!((place.rows("items"), place.rows("log_refs")), (0, 0));
}

async fn a_fork_of_what_is_being_deleted_is_whole_or_not_there(place: &Place) {
    for round in 0..6 {
        let (source, fork) = (format!("source{round}"), format!("fork{round}"));
        let store = place.open();
        let source_lease = create(&*store, &ana(), &source, &["a", "b"]).await;
        let fork_lease = lease(&*store, &ana(), &fork).await;
        at_once(2, |number| {
            let store = place.open();
            if number == 0 {
                block_on(store.delete(&ana(), &source_lease, vec![])).unwrap().unwrap();
                return;
            }
            let from = Some(source.clone());
            let copy = orlop_app::store::SessionWrite { from, ..write(0, vec![kept(0..2)]) };
            let _ = block_on(save(&*store, &ana(), &fork_lease, copy));
        });
        if store.head(&ana(), &fork).await.unwrap().is_some() {
            assert_eq!(texts(&*store, &ana(), &fork).await, ["a", "b"]);
            store.delete(&ana(), &fork_lease, vec![]).await.unwrap().unwrap();
        }
    }
    assert_eq!((place.rows("items"), place.rows("log_refs")), (0, 0));
}

on_every_store! {
    #[test]
    many_can_open_a_new_place_at_once;
    #[test]
    of_two_changes_to_one_revision_one_is_stored;
    #[test]
    no_change_is_lost_between_processes;
    #[test]
    a_lease_is_given_to_one_of_many;
    #[test]
    event_numbers_are_given_once_and_in_order;
    #[test]
    of_two_plugins_one_sets_the_state;
    #[test]
    a_signal_is_taken_by_one;
    #[test]
    forks_deleted_at_once_leave_nothing;
    #[test]
    a_fork_of_what_is_being_deleted_is_whole_or_not_there;
}

const CHILD_FILE: &str = "ORLOP_STORE_CHILD_FILE";

/// What the child process of the test below does; by itself it is no test.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Some(file) = std::env::var_os(CHILD_FILE) else { return };
    let store = SqliteStore::open(file.as_ref()).unwrap();
    let lease = block_on(create(&store, &ana(), "s", &[]));
    for number in 0_usize.. {
        let commit = Commit {
            session: Some(write(number as u64 + 1, vec![kept(0..number), new(&["m"])])),
            turn: Some(turn(&format!("r{number}"), true, "done", true)),
            events: vec![event(Some("s"), None, "stored")],
            ..Commit::new(lease.clone())
        };
        block_on(store.commit(&ana(), commit)).unwrap();
        println!("stored {number}");
    }
}

#[test] // I-03, I-22
fn a_killed_process_leaves_whole_steps_and_all_it_acknowledged() {
    let folder = Folder::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sharing::child_that_writes_until_it_is_killed", "--nocapture"])
        .env(CHILD_FILE, folder.file())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = lines
        .map(|line| line.unwrap())
        .filter_map(|line| line.strip_prefix("stored ")?.parse().ok());
    let last: usize = acknowledged.by_ref().take(25).last().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let last = acknowledged.last().unwrap_or(last);

    let store = SqliteStore::open(&folder.file()).unwrap();
    block_on(async {
        let stored = store.load(&ana(), "s").await.unwrap().unwrap();
        let count = stored.session.messages.len();
        assert!(count > last, "{count} messages, and {last} was acknowledged");
        assert_eq!(stored.head.revision as usize, count + 1);
        assert_eq!(store.turns(&ana(), Some("s"), usize::MAX).await.unwrap().len(), count);
        assert_eq!(store.events(&ana(), &Default::default()).await.unwrap().len(), count);
        match store.acquire(&ana(), "s", "you", HOUR).await.unwrap() {
            Acquired::Held { owner, .. } => assert_eq!(owner, "me"),
            Acquired::Lease(lease) => panic!("{lease:?} was taken from a holder with time left"),
        }
    });
}

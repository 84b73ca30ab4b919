//! Keeping, reading and deleting attachments, with everything that can be wrong on the way.

use super::*;
use expect_test::{Expect, expect};
use orlop_core::ErrorClass;
use std::fs;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// A folder of its own that is gone at the end of the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("orlop-assets-{}", uuid::Uuid::new_v4())))
    }

    fn files(&self, limits: AssetLimits) -> AssetFiles {
        AssetFiles::new(self.0.join("assets"), limits)
    }

    /// Every file below, with its path from the root on.
    fn list(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.0.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => open.push(entry.path()),
                    false => found.push(entry.path().display().to_string()),
                }
            }
        }
        found
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn ana() -> Scope {
    Scope::new("acme", "ana").unwrap()
}

#[track_caller]
fn check_refused(result: Result<impl std::fmt::Debug>, class: ErrorClass, expected: Expect) {
    let error = result.unwrap_err();
    assert_eq!(error.class(), class, "{error}");
    expected.assert_eq(error.message());
}

#[test] // I-32
fn bytes_are_kept_read_and_deleted() {
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    let upload = Upload { session: Some("s1".into()), ..Upload::new("../photo.png", None) };
    let record = files.put(&ana(), &upload, PNG).unwrap();
    assert_eq!(files.read(&ana(), &record.id).unwrap(), PNG);
    assert_eq!((&*record.name, &*record.media_type), ("photo.png", "image/png"));
    assert_eq!((record.size, record.session.as_deref()), (12, Some("s1")));
    assert!(record.created > 1_700_000_000_000);
    let path = files.path(&ana(), &record.id).unwrap();
    assert!(path.ends_with(format!("assets/acme/ana/{}", record.id)));
    assert_eq!(place.list(), [path.display().to_string()]);

    files.delete(&ana(), &record.id).unwrap();
    files.delete(&ana(), &record.id).unwrap();
    assert_eq!(files.read(&ana(), &record.id).unwrap_err().class(), ErrorClass::NotFound);
    assert!(place.list().is_empty());
}

#[test] // I-32
fn the_digest_is_the_one_of_the_bytes() {
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    let record = files.put(&ana(), &Upload::new("a", None), &b"abc"[..]).unwrap();
    expect!["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
        .assert_eq(&record.sha256);
    let long: Vec<u8> = (0..300_000_u32).map(|number| number as u8).collect();
    let record = files.put(&ana(), &Upload::new("b", None), &long[..]).unwrap();
    assert_eq!(files.read(&ana(), &record.id).unwrap(), long);
    assert_eq!(record.size, 300_000);
}

#[test] // I-32
fn hostile_names_and_ids_reach_no_other_file() {
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    for name in ["../../../x", "/etc/passwd", "a\0b", "..", "", &"x".repeat(5000)] {
        let record = files.put(&ana(), &Upload::new(name, None), &b"x"[..]).unwrap();
        assert!(!record.name.contains(['/', '\\', '\0']) && record.name.len() <= 255);
    }
    assert!(place.list().iter().all(|path| path.contains("/assets/acme/ana/")));
    for id in ["../x", "..", ".x.part", "a/b", "", "a\0", "/etc/passwd"] {
        assert_eq!(files.read(&ana(), id).unwrap_err().class(), ErrorClass::BadArgument, "{id:?}");
        assert!(files.delete(&ana(), id).is_err() && files.path(&ana(), id).is_err());
    }
}

#[test] // I-32
fn nobody_else_has_an_asset() {
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    let record = files.put(&ana(), &Upload::new("a", None), &b"x"[..]).unwrap();
    for other in [Scope::new("acme", "ben").unwrap(), Scope::new("other", "ana").unwrap()] {
        let error = files.read(&other, &record.id).unwrap_err();
        assert_eq!(error.class(), ErrorClass::NotFound);
        files.put(&other, &Upload::new("b", None), &b"y"[..]).unwrap();
        assert_eq!(files.read(&other, &record.id).unwrap_err().class(), ErrorClass::NotFound);
        files.delete(&other, &record.id).unwrap();
    }
    assert_eq!(files.read(&ana(), &record.id).unwrap(), b"x");
}

#[test] // I-32
fn limits_hold_and_leave_nothing() {
    let place = Place::new();
    let types = Some(vec!["image/*".to_owned(), "text/plain".to_owned()]);
    let files = place.files(AssetLimits { max_bytes: 12, types });
    let put = |name: &str, kind, bytes: &[u8]| files.put(&ana(), &Upload::new(name, kind), bytes);
    assert!(put("fits.png", None, PNG).is_ok());
    assert!(put("empty", Some("text/plain"), b"").is_ok());
    let kept = place.list();
    let bad = ErrorClass::BadArgument;
    check_refused(
        put("big\u{1b}[2J", None, b"thirteen byte"),
        bad,
        expect![[
            r#""big" is larger than 12 bytes; send a smaller file or raise assets.max_bytes"#
        ]],
    );
    check_refused(
        put("x.pdf", None, b"%PDF-1.7"),
        ErrorClass::WrongType,
        expect![[
            r#""x.pdf": files of type application/pdf are not accepted here; assets.types accepts image/*, text/plain"#
        ]],
    );
    check_refused(
        put("x.bin", Some("application/zip"), b"PK"),
        ErrorClass::WrongType,
        expect![
            "files of type application/zip are not accepted here; assets.types accepts image/*, text/plain"
        ],
    );
    check_refused(
        put("x.png", Some("image/png"), b"GIF89a"),
        bad,
        expect![[
            r#""x.png": it is said to be image/png, but its bytes are image/gif; send it with its own type, or without one"#
        ]],
    );
    check_refused(
        put("x", Some("png"), PNG),
        bad,
        expect![[r#""png" is no media type; write one such as image/png, or none"#]],
    );
    assert_eq!(place.list(), kept);
}

#[test] // I-32
fn an_endless_upload_ends_at_the_limit() {
    let place = Place::new();
    let files = place.files(AssetLimits { max_bytes: 1 << 20, types: None });
    assert!(files.put(&ana(), &Upload::new("zero", None), io::repeat(0)).is_err());
    assert!(place.list().is_empty());
}

/// Looks at the folder whenever it is read, and breaks off after some bytes.
struct Watching<'a> {
    place: &'a Place,
    left: usize,
    breaks: bool,
}

impl Read for Watching<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let names = self.place.list();
        assert!(names.iter().all(|name| name.ends_with(".part")), "{names:?}");
        let count = self.left.min(buffer.len()).min(1000);
        if count == 0 && self.breaks {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.left -= count;
        buffer[..count].fill(b'x');
        Ok(count)
    }
}

#[test] // I-32
fn a_file_has_its_name_only_when_it_is_complete() {
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    let upload = Upload::new("a.txt", None);
    let broken = Watching { place: &place, left: 5000, breaks: true };
    check_refused(
        files.put(&ana(), &upload, broken),
        ErrorClass::Unavailable,
        expect![[r#""a.txt" broke off after 5000 bytes (connection reset); send it again"#]],
    );
    assert!(place.list().is_empty());
    let whole = Watching { place: &place, left: 5000, breaks: false };
    assert_eq!(files.put(&ana(), &upload, whole).unwrap().size, 5000);
    assert_eq!(place.list().len(), 1);
}

#[test] // I-32
fn a_full_disk_is_unavailable() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    let error = files.pour("a", PNG, &mut Full, Path::new("x")).unwrap_err();
    assert_eq!((error.class(), error.retryable()), (ErrorClass::Unavailable, true));
}

#[test] // I-32
fn a_folder_that_cannot_be_written_is_unavailable() {
    let place = Place::new();
    fs::create_dir_all(&place.0).unwrap();
    fs::write(place.0.join("assets"), "a file where the folder should be").unwrap();
    let files = place.files(AssetLimits::default());
    let put = files.put(&ana(), &Upload::new("a", None), PNG);
    assert_eq!(put.unwrap_err().class(), ErrorClass::Unavailable);
    assert_eq!(place.list().len(), 1);
}

#[cfg(unix)]
#[test] // I-32
fn files_and_folders_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    let record = files.put(&ana(), &Upload::new("a", None), PNG).unwrap();
    let path = files.path(&ana(), &record.id).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    for folder in path.ancestors().skip(1).take(3) {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
}

#[cfg(unix)]
#[test] // I-32
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    let record = files.put(&ana(), &Upload::new("a", None), PNG).unwrap();
    let outside = place.0.join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();

    let link = files.path(&ana(), "link").unwrap();
    symlink(outside.join("secret"), &link).unwrap();
    let error = files.read(&ana(), "link").unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadState);
    files.delete(&ana(), "link").unwrap();
    assert!(!link.exists() && outside.join("secret").exists());

    let ben = Scope::new("acme", "ben").unwrap();
    symlink(&outside, place.0.join("assets/acme/ben")).unwrap();
    assert_eq!(files.read(&ben, "secret").unwrap_err().class(), ErrorClass::BadState);
    assert!(files.delete(&ben, "secret").is_err());
    assert!(files.put(&ben, &Upload::new("a", None), PNG).is_err());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);

    fs::create_dir(files.path(&ana(), "folder").unwrap()).unwrap();
    assert_eq!(files.read(&ana(), "folder").unwrap_err().class(), ErrorClass::BadState);
    assert_eq!(files.read(&ana(), &record.id).unwrap(), PNG);
}

#[test] // I-32
fn assets_are_kept_side_by_side() {
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    let put = |number: usize| {
        let bytes = vec![number as u8; 10_000 + number];
        let record = files.put(&ana(), &Upload::new("a", None), &bytes[..]).unwrap();
        (record.id, bytes)
    };
    let kept: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|number| scope.spawn(move || put(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (id, bytes) in &kept {
        assert_eq!(files.read(&ana(), id).unwrap(), *bytes);
    }
    assert_eq!(place.list().len(), 16);
    let ids = kept.iter().map(|(id, _)| &**id).chain(["absent"]);
    files.delete_all(&ana(), ids).unwrap();
    assert!(place.list().is_empty());
}

#[test] // I-32
fn one_failure_does_not_keep_the_others_from_being_deleted() {
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    let record = files.put(&ana(), &Upload::new("a", None), PNG).unwrap();
    let deleted = files.delete_all(&ana(), ["../x", &record.id]);
    assert_eq!(deleted.unwrap_err().class(), ErrorClass::BadArgument);
    assert!(place.list().is_empty());
    files.delete_all(&Scope::local(), ["never-kept"]).unwrap();
}

#[tokio::test] // I-32
async fn the_work_can_be_done_on_a_blocking_thread() {
    let place = Place::new();
    let files = place.files(AssetLimits::default());
    let record = files.put_async(&ana(), Upload::new("a.png", None), PNG).await.unwrap();
    assert_eq!(files.read_async(&ana(), &record.id).await.unwrap(), PNG);
    files.delete_async(&ana(), vec![record.id.clone()]).await.unwrap();
    assert!(files.read_async(&ana(), &record.id).await.is_err());
}

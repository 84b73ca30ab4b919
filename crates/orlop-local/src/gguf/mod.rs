//! Reads GGUF files: metadata and where each tensor lies. Version 2 and 3, little endian.
//!
//! A file is not trusted. Every count and offset is checked against the bytes that are there
//! before anything is allocated or read, so a broken file is an error and nothing else.

mod cursor;
mod metadata;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use orlop_types::{Error, Result};

use crate::format::Format;
use crate::mapped::Mapped;
use cursor::Cursor;
pub(crate) use metadata::{Metadata, Value};

/// The most dimensions a tensor can have.
const DIMENSIONS: u32 = 4;

/// An open model file.
pub(crate) struct Gguf {
    file: Mapped,
    /// What the file says of itself.
    pub(crate) metadata: Metadata,
    tensors: HashMap<String, Tensor>,
}

/// Where a tensor lies and how it is to be read.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    /// How its numbers are stored.
    pub(crate) format: Format,
    /// Numbers in a row.
    pub(crate) columns: usize,
    /// All other dimensions multiplied.
    pub(crate) rows: usize,
    /// Its bytes in the file.
    pub(crate) range: Range<usize>,
}

impl Gguf {
    /// Reads the header of a file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = Mapped::open(path)?;
        let (metadata, tensors) = read(file.bytes()).map_err(|error| {
            let message = format!("{} cannot be used: {}", path.display(), error.message());
            Error::new(error.class(), message)
        })?;
        Ok(Self { file, metadata, tensors })
    }

    /// A tensor by name.
    pub(crate) fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// The bytes of a tensor of this file.
    pub(crate) fn bytes(&self, tensor: &Tensor) -> &[u8] {
        &self.file.bytes()[tensor.range.clone()]
    }
}

/// What is wrong with a file, as an error.
pub(crate) fn broken(what: impl std::fmt::Display) -> Error {
    Error::bad_argument(format!("the model file is broken: {what}"))
}

fn read(bytes: &[u8]) -> Result<(Metadata, HashMap<String, Tensor>)> {
    let mut cursor = Cursor::new(bytes);
    if cursor.take(4).ok() != Some(b"GGUF") {
        return Err(Error::bad_argument("it is not a GGUF file; convert it to GGUF first"));
    }
    let version = cursor.u32()?;
    if !(2..=3).contains(&version) {
        return Err(Error::bad_argument(format!(
            "GGUF version {version} is not known (known: 2 and 3, little endian); convert it anew"
        )));
    }
    let (tensors, entries) = (cursor.u64()?, cursor.u64()?);
    let metadata = Metadata::read(&mut cursor, entries)?;
    let headers = (0..tensors).map(|_| header(&mut cursor)).collect::<Result<Vec<_>>>()?;

    let alignment = metadata.count_or("general.alignment", 32)?;
    if !alignment.is_power_of_two() || alignment > 1 << 20 {
        return Err(broken(format_args!("its alignment is {alignment}")));
    }
    let data = cursor.position().next_multiple_of(alignment);
    let mut found = HashMap::new();
    for (name, header) in headers {
        let tensor = header.place(&name, data, bytes.len())?;
        if found.insert(name.clone(), tensor).is_some() {
            return Err(broken(format_args!("it has the tensor {name:?} twice")));
        }
    }
    Ok((metadata, found))
}

/// A tensor as the header describes it.
struct Header {
    kind: u32,
    sizes: Vec<u64>,
    offset: u64,
}

fn header(cursor: &mut Cursor<'_>) -> Result<(String, Header)> {
    let name = cursor.text()?;
    let dimensions = cursor.u32()?;
    if !(1..=DIMENSIONS).contains(&dimensions) {
        return Err(broken(format_args!("tensor {name:?} has {dimensions} dimensions")));
    }
    let sizes = (0..dimensions).map(|_| cursor.u64()).collect::<Result<_>>()?;
    let (kind, offset) = (cursor.u32()?, cursor.u64()?);
    Ok((name, Header { kind, sizes, offset }))
}

impl Header {
    fn place(&self, name: &str, data: usize, end: usize) -> Result<Tensor> {
        let format = Format::from_gguf(self.kind, name)?;
        let outside = || broken(format_args!("tensor {name:?} does not fit into the file"));
        let sizes = self.sizes.iter().map(|&size| usize::try_from(size).ok().filter(|it| *it > 0));
        let sizes = sizes.collect::<Option<Vec<_>>>().ok_or_else(outside)?;
        let columns = sizes[0];
        let rows = sizes[1..].iter().try_fold(1, |all: usize, size| all.checked_mul(*size));
        let rows = rows.ok_or_else(outside)?;
        let row = format.row_bytes(columns).ok_or_else(|| {
            broken(format_args!("tensor {name:?} has rows of {columns}, no multiple of its block"))
        })?;
        let range = (|| {
            let start = data.checked_add(usize::try_from(self.offset).ok()?)?;
            let stop = start.checked_add(row.checked_mul(rows)?)?;
            (stop <= end).then_some(start..stop)
        })();
        Ok(Tensor { format, columns, rows, range: range.ok_or_else(outside)? })
    }
}

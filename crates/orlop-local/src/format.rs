//! How the numbers of a tensor are stored: plain floats, or blocks of small integers with scales.

use orlop_types::{Error, Result};

/// A way to store numbers that this engine can compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q4K,
    Q5K,
    Q6K,
}

/// All formats with their number in the file, their name, and numbers and bytes in a block.
const TABLE: [(Format, u32, &str, usize, usize); 11] = [
    (Format::F32, 0, "F32", 1, 4),
    (Format::F16, 1, "F16", 1, 2),
    (Format::Q4_0, 2, "Q4_0", 32, 18),
    (Format::Q4_1, 3, "Q4_1", 32, 20),
    (Format::Q5_0, 6, "Q5_0", 32, 22),
    (Format::Q5_1, 7, "Q5_1", 32, 24),
    (Format::Q8_0, 8, "Q8_0", 32, 34),
    (Format::Q4K, 12, "Q4_K", 256, 144),
    (Format::Q5K, 13, "Q5_K", 256, 176),
    (Format::Q6K, 14, "Q6_K", 256, 210),
    (Format::Bf16, 30, "BF16", 1, 2),
];

/// Formats that exist and are not computed with, for a refusal that says the name.
const OTHERS: [(u32, &str); 16] = [
    (9, "Q8_1"),
    (10, "Q2_K"),
    (11, "Q3_K"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (39, "MXFP4"),
];

impl Format {
    /// The format with this number in a file.
    pub(crate) fn from_gguf(kind: u32, tensor: &str) -> Result<Self> {
        if let Some(row) = TABLE.iter().find(|row| row.1 == kind) {
            return Ok(row.0);
        }
        let name = OTHERS.iter().find(|other| other.0 == kind).map(|other| other.1);
        let name = name.map_or_else(|| format!("number {kind}"), str::to_owned);
        let known: Vec<_> = TABLE.iter().map(|row| row.2).collect();
        Err(Error::bad_argument(format!(
            "tensor {tensor:?} is stored as {name}, which the embedded model does not compute with; \
             take a file with {}",
            known.join(", ")
        )))
    }

    fn row(self) -> (usize, usize) {
        // Every variant is in the table; a float is a block of one.
        TABLE.iter().find(|row| row.0 == self).map_or((1, 4), |row| (row.3, row.4))
    }

    /// The bytes of a row, unless it is no whole number of blocks.
    pub(crate) fn row_bytes(self, columns: usize) -> Option<usize> {
        let (numbers, bytes) = self.row();
        columns.is_multiple_of(numbers).then(|| (columns / numbers).checked_mul(bytes))?
    }

    /// Whether it is stored in blocks of integers.
    pub(crate) fn is_quantised(self) -> bool {
        !matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }
}

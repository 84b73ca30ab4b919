//! The arithmetic: rows of weights times columns of activations, attention, and what lies between.
//!
//! [`plain`] is portable and says what is computed. [`avx2`] computes the same faster and is used
//! where the processor has it. Weights stay as they are in the file; activations are brought down
//! to integers of eight bits in blocks of 32, so that a product is integer arithmetic.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod columns;
mod half;
mod plain;
#[cfg(test)]
mod tests;

use crate::format::Format;
pub(crate) use columns::Columns;
pub(crate) use half::to_half;

/// Weights in a block of activations.
const BLOCK: usize = 32;

/// Calls the fast form where the processor has it, else the plain one.
macro_rules! choose {
    ($name:ident($($argument:expr),*)) => {{
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = avx2::Avx2::detect() {
            return avx2.$name($($argument),*);
        }
        plain::$name($($argument),*)
    }};
}

/// Rows of weights as they lie in the file.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    format: Format,
    bytes: &'a [u8],
    row_bytes: usize,
}

impl<'a> Rows<'a> {
    /// The rows of a matrix that has `columns` numbers in each. `bytes` are whole rows.
    pub(crate) fn new(format: Format, bytes: &'a [u8], columns: usize) -> Self {
        let row_bytes = format.row_bytes(columns).unwrap_or(bytes.len()).max(1);
        Self { format, bytes, row_bytes }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.bytes.len() / self.row_bytes
    }

    /// Some of them.
    pub(crate) fn part(&self, rows: std::ops::Range<usize>) -> Self {
        let bytes = &self.bytes[rows.start * self.row_bytes..rows.end * self.row_bytes];
        Self { bytes, ..*self }
    }

    fn row(&self, row: usize) -> &'a [u8] {
        &self.bytes[row * self.row_bytes..][..self.row_bytes]
    }

    /// One row as numbers.
    pub(crate) fn read(&self, row: usize, out: &mut [f32]) {
        plain::read_row(self.format, self.row(row), out);
    }

    /// Every row times every column: `out[column * rows + row]`.
    pub(crate) fn multiply(&self, columns: &Columns, out: &mut [f32]) {
        choose!(multiply(*self, columns, out))
    }
}

/// Brings a block of 32 activations down to integers; answers what one is worth, and the sums of
/// the block's halves.
fn quantise(numbers: &[f32], out: &mut [i8]) -> [f32; 3] {
    choose!(quantise(numbers, out))
}

/// `out[query][position] = query . key * scale`, for queries that look at the same keys.
/// `out` has room for `stride` positions a query.
pub(crate) fn scores(queries: &[f32], keys: &[u16], head: Head, scale: f32, out: &mut [f32]) {
    choose!(scores(queries, keys, head, scale, out))
}

/// `out[query] = sum of weights[query][position] * value[position]`.
pub(crate) fn mix(weights: &[f32], values: &[u16], head: Head, out: &mut [f32]) {
    choose!(mix(weights, values, head, out))
}

/// The measures of one step of attention.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    /// Numbers in a key, a value and a query.
    pub(crate) size: usize,
    /// Positions to look at.
    pub(crate) positions: usize,
    /// Room for positions between one query's weights and the next.
    pub(crate) stride: usize,
}

/// Turns scores into weights that sum to one.
pub(crate) fn softmax(scores: &mut [f32]) {
    choose!(softmax(scores))
}

/// `gate = silu(gate) * up`.
pub(crate) fn swiglu(gate: &mut [f32], up: &[f32]) {
    choose!(swiglu(gate, up))
}

/// `out = x / rms(x) * weight`.
pub(crate) fn normalise(x: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    let squares: f32 = x.iter().map(|it| it * it).sum();
    let factor = 1.0 / (squares / x.len().max(1) as f32 + epsilon).sqrt();
    for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
        *out = x * factor * weight;
    }
}

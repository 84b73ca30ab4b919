//! The kernels in portable Rust. They are the definition; other forms are tested against them.

use super::columns::{Columns, Panel};
use super::half::{from_half, half_at};
use super::{BLOCK, Head, Rows};
use crate::format::Format;

/// A block of 32 weights: `weight = scale * integer + floor`, with scale and floor for each half.
pub(super) struct Block {
    integers: [i8; BLOCK],
    scale: [f32; 2],
    floor: [f32; 2],
}

/// Unpacks the block at a place of a row.
pub(super) fn block(format: Format, row: &[u8], index: usize) -> Block {
    let of = |bytes: usize| &row[index * bytes..][..bytes];
    match format {
        Format::Q4_0 => {
            let block = of(18);
            let scale = half_at(block, 0);
            Block::even(scale, -8.0 * scale, |at| nibble(&block[2..], at))
        }
        Format::Q4_1 => {
            let block = of(20);
            Block::even(half_at(block, 0), half_at(block, 2), |at| nibble(&block[4..], at))
        }
        Format::Q5_0 => {
            let block = of(22);
            let scale = half_at(block, 0);
            let fifth = |at| bit(&block[2..6], at) << 4;
            Block::even(scale, -16.0 * scale, |at| nibble(&block[6..], at) | fifth(at))
        }
        Format::Q5_1 => {
            let block = of(24);
            let fifth = |at| bit(&block[4..8], at) << 4;
            let integer = |at| nibble(&block[8..], at) | fifth(at);
            Block::even(half_at(block, 0), half_at(block, 2), integer)
        }
        Format::Q4K => {
            let (group, part) = super_block(row, index, 144);
            let (scale, floor) = scale_and_floor(group, part);
            let nibbles = &group[16 + part / 2 * 32..];
            Block::even(scale, floor, |at| nibbles[at] >> (4 * (part % 2)) & 15)
        }
        Format::Q5K => {
            let (group, part) = super_block(row, index, 176);
            let (scale, floor) = scale_and_floor(group, part);
            let (fifth, nibbles) = (&group[16..48], &group[48 + part / 2 * 32..]);
            Block::even(scale, floor, |at| {
                nibbles[at] >> (4 * (part % 2)) & 15 | (fifth[at] >> part & 1) << 4
            })
        }
        Format::Q6K => {
            let (group, part) = super_block(row, index, 210);
            let (side, quarter) = (part / 4, part % 4);
            let low = &group[64 * side + 32 * (quarter % 2)..];
            let high = &group[128 + 32 * side..];
            let scale = |half| {
                half_at(group, 208) * f32::from(group[192 + 8 * side + 2 * quarter + half] as i8)
            };
            let scale = [scale(0), scale(1)];
            let integers = std::array::from_fn(|at| {
                (low[at] >> (4 * (quarter / 2)) & 15 | (high[at] >> (2 * quarter) & 3) << 4) as i8
            });
            Block { integers, scale, floor: scale.map(|scale| -32.0 * scale) }
        }
        // Floats are no blocks; they are multiplied as they are.
        Format::Q8_0 | Format::F32 | Format::F16 | Format::Bf16 => {
            let block = of(34);
            Block::even(half_at(block, 0), 0.0, |at| block[2 + at])
        }
    }
}

impl Block {
    fn even(scale: f32, floor: f32, integer: impl Fn(usize) -> u8) -> Self {
        let integers = std::array::from_fn(|at| integer(at) as i8);
        Self { integers, scale: [scale; 2], floor: [floor; 2] }
    }
}

/// Sixteen bytes hold 32 integers of four bits: the first half low, the second half high.
fn nibble(bytes: &[u8], at: usize) -> u8 {
    if at < 16 { bytes[at] & 15 } else { bytes[at - 16] >> 4 }
}

fn bit(bytes: &[u8], at: usize) -> u8 {
    bytes[at / 8] >> (at % 8) & 1
}

/// The group of 256 that holds a block of 32, and which of its eight parts that is.
fn super_block(row: &[u8], index: usize, bytes: usize) -> (&[u8], usize) {
    (&row[index / 8 * bytes..][..bytes], index % 8)
}

/// Q4_K and Q5_K pack eight scales and eight floors of six bits into twelve bytes.
fn scale_and_floor(group: &[u8], part: usize) -> (f32, f32) {
    let packed = &group[4..16];
    let (scale, floor) = if part < 4 {
        (packed[part] & 63, packed[part + 4] & 63)
    } else {
        let low = packed[part + 4];
        (low & 15 | packed[part - 4] >> 6 << 4, low >> 4 | packed[part] >> 6 << 4)
    };
    (half_at(group, 0) * f32::from(scale), -half_at(group, 2) * f32::from(floor))
}

/// A row as numbers.
pub(super) fn read_row(format: Format, row: &[u8], out: &mut [f32]) {
    if !format.is_quantised() {
        for (at, out) in out.iter_mut().enumerate() {
            *out = float_at(format, row, at);
        }
        return;
    }
    for (index, out) in out.chunks_exact_mut(BLOCK).enumerate() {
        let block = block(format, row, index);
        for (at, out) in out.iter_mut().enumerate() {
            let half = at / (BLOCK / 2);
            *out = block.scale[half] * f32::from(block.integers[at]) + block.floor[half];
        }
    }
}

pub(super) fn float_at(format: Format, row: &[u8], at: usize) -> f32 {
    match format {
        Format::F16 => half_at(row, 2 * at),
        Format::Bf16 => f32::from_bits(u32::from_le_bytes([0, 0, row[2 * at], row[2 * at + 1]])),
        _ => f32::from_le_bytes([row[4 * at], row[4 * at + 1], row[4 * at + 2], row[4 * at + 3]]),
    }
}

pub(super) fn multiply(rows: Rows<'_>, columns: &Columns, out: &mut [f32]) {
    let count = rows.count();
    for row in 0..count {
        if rows.format.is_quantised() {
            for panel in &columns.panels {
                let products = multiply_row(rows.format, rows.row(row), panel);
                for (lane, product) in products.into_iter().enumerate().take(panel.lanes) {
                    out[(panel.first + lane) * count + row] = product;
                }
            }
        } else {
            for column in 0..columns.count() {
                let floats = columns.column(column).iter().enumerate();
                let product = floats.map(|(at, x)| float_at(rows.format, rows.row(row), at) * x);
                out[column * count + row] = product.sum();
            }
        }
    }
}

fn multiply_row(format: Format, row: &[u8], panel: &Panel) -> [f32; 4] {
    let mut products = [0.0; 4];
    for (index, scales) in panel.scales.iter().enumerate() {
        let block = block(format, row, index);
        for (lane, product) in products.iter_mut().enumerate().take(panel.lanes) {
            let x = &panel.integers[(index * panel.lanes + lane) * BLOCK..][..BLOCK];
            let dot = |range: std::ops::Range<usize>| {
                let pairs = block.integers[range.clone()].iter().zip(&x[range]);
                pairs.map(|(w, x)| i32::from(*w) * i32::from(*x)).sum::<i32>() as f32
            };
            let (low, high) = (dot(0..16), dot(16..32));
            *product += scales.scale[lane] * (block.scale[0] * low + block.scale[1] * high)
                + block.floor[0] * scales.low[lane]
                + block.floor[1] * (scales.sum[lane] - scales.low[lane]);
        }
    }
    products
}

/// Inlined into the faster forms as well, which compile it for their processor.
#[inline(always)]
pub(super) fn quantise(numbers: &[f32], out: &mut [i8]) -> [f32; 3] {
    let largest = numbers.iter().fold(0.0f32, |largest, it| largest.max(it.abs()));
    let scale = largest / 127.0;
    let factor = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let mut half = |part: std::ops::Range<usize>| {
        let mut sum = 0;
        for (number, out) in numbers[part.clone()].iter().zip(&mut out[part]) {
            let integer = (number * factor).round_ties_even() as i32;
            sum += integer;
            *out = integer as i8;
        }
        scale * sum as f32
    };
    [scale, half(0..16), half(16..32)]
}

pub(super) fn scores(queries: &[f32], keys: &[u16], head: Head, scale: f32, out: &mut [f32]) {
    for (query, out) in queries.chunks_exact(head.size).zip(out.chunks_mut(head.stride)) {
        for (key, out) in keys.chunks_exact(head.size).zip(&mut out[..head.positions]) {
            let products = query.iter().zip(key).map(|(query, key)| query * from_half(*key));
            *out = products.sum::<f32>() * scale;
        }
    }
}

pub(super) fn mix(weights: &[f32], values: &[u16], head: Head, out: &mut [f32]) {
    out.fill(0.0);
    for (weights, out) in weights.chunks(head.stride).zip(out.chunks_exact_mut(head.size)) {
        for (weight, value) in weights[..head.positions].iter().zip(values.chunks_exact(head.size))
        {
            for (out, value) in out.iter_mut().zip(value) {
                *out += weight * from_half(*value);
            }
        }
    }
}

pub(super) fn softmax(scores: &mut [f32]) {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - largest).exp();
        sum += *score;
    }
    for score in scores {
        *score /= sum;
    }
}

pub(super) fn swiglu(gate: &mut [f32], up: &[f32]) {
    for (gate, up) in gate.iter_mut().zip(up) {
        *gate = *gate / (1.0 + (-*gate).exp()) * up;
    }
}

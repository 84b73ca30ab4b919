//! The kernels for x86-64 processors with AVX2, FMA and F16C, found out when the program runs.
//!
//! A product of a block takes one multiply-add of bytes for each column, after the weights were
//! unpacked once for all columns. Everything unsafe is a load or a store through a pointer whose
//! bounds are asserted at the head of the function, or a call into a function for this processor.
#![allow(unsafe_code)]

mod attention;

use std::arch::x86_64::*;
use std::sync::LazyLock;

use super::columns::{Columns, Panel, TOGETHER};
use super::{BLOCK, Head, Rows, plain};
use crate::format::Format;
use attention::{mix, scores, softmax, swiglu};

/// The proof that this processor can run these kernels.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    /// The proof, if the processor can.
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        static FOUND: LazyLock<bool> = LazyLock::new(|| {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
        });
        FOUND.then_some(Self(()))
    }

    pub(super) fn multiply(self, rows: Rows<'_>, columns: &Columns, out: &mut [f32]) {
        // SAFETY (all calls below): `self` exists only if the processor has the features.
        unsafe {
            match rows.format {
                Format::F32 => multiply_floats::<F32>(rows, columns, out),
                Format::F16 => multiply_floats::<F16>(rows, columns, out),
                Format::Bf16 => multiply_floats::<BF16>(rows, columns, out),
                Format::Q4_0 => multiply::<Q4_0>(rows, columns, out),
                Format::Q4_1 => multiply::<Q4_1>(rows, columns, out),
                Format::Q5_0 => multiply::<Q5_0>(rows, columns, out),
                Format::Q5_1 => multiply::<Q5_1>(rows, columns, out),
                Format::Q8_0 => multiply::<Q8_0>(rows, columns, out),
                Format::Q4K => multiply::<Q4K>(rows, columns, out),
                Format::Q5K => multiply::<Q5K>(rows, columns, out),
                Format::Q6K => multiply::<Q6K>(rows, columns, out),
            }
        }
    }

    pub(super) fn quantise(self, numbers: &[f32], out: &mut [i8]) -> [f32; 3] {
        #[target_feature(enable = "avx2,fma")]
        fn compiled_for_avx2(numbers: &[f32], out: &mut [i8]) -> [f32; 3] {
            plain::quantise(numbers, out)
        }
        // SAFETY: `self` exists only if the processor has the features.
        unsafe { compiled_for_avx2(numbers, out) }
    }

    pub(super) fn scores(
        self,
        queries: &[f32],
        keys: &[u16],
        head: Head,
        scale: f32,
        out: &mut [f32],
    ) {
        if !head.size.is_multiple_of(8) {
            return plain::scores(queries, keys, head, scale, out);
        }
        let together = TOGETHER * head.size;
        for (queries, out) in queries.chunks(together).zip(out.chunks_mut(TOGETHER * head.stride)) {
            // SAFETY: `self` exists only if the processor has the features.
            unsafe {
                match queries.len() / head.size {
                    1 => scores::<1>(queries, keys, head, scale, out),
                    2 => scores::<2>(queries, keys, head, scale, out),
                    3 => scores::<3>(queries, keys, head, scale, out),
                    _ => scores::<4>(queries, keys, head, scale, out),
                }
            }
        }
    }

    pub(super) fn mix(self, weights: &[f32], values: &[u16], head: Head, out: &mut [f32]) {
        if !head.size.is_multiple_of(8) {
            return plain::mix(weights, values, head, out);
        }
        let together = TOGETHER * head.size;
        for (weights, out) in weights.chunks(TOGETHER * head.stride).zip(out.chunks_mut(together)) {
            // SAFETY: `self` exists only if the processor has the features.
            unsafe {
                match out.len() / head.size {
                    1 => mix::<1>(weights, values, head, out),
                    2 => mix::<2>(weights, values, head, out),
                    3 => mix::<3>(weights, values, head, out),
                    _ => mix::<4>(weights, values, head, out),
                }
            }
        }
    }

    pub(super) fn softmax(self, scores: &mut [f32]) {
        // SAFETY: `self` exists only if the processor has the features.
        unsafe { softmax(scores) }
    }

    pub(super) fn swiglu(self, gate: &mut [f32], up: &[f32]) {
        // SAFETY: `self` exists only if the processor has the features.
        unsafe { swiglu(gate, up) }
    }
}

const F32: u8 = Format::F32 as u8;
const F16: u8 = Format::F16 as u8;
const BF16: u8 = Format::Bf16 as u8;
const Q4_0: u8 = Format::Q4_0 as u8;
const Q4_1: u8 = Format::Q4_1 as u8;
const Q5_0: u8 = Format::Q5_0 as u8;
const Q5_1: u8 = Format::Q5_1 as u8;
const Q8_0: u8 = Format::Q8_0 as u8;
const Q4K: u8 = Format::Q4K as u8;
const Q5K: u8 = Format::Q5K as u8;
const Q6K: u8 = Format::Q6K as u8;

/// A block of 32 weights, unpacked: bytes without a sign (with one in Q8_0), the scale of each
/// half in four lanes, and the floor of each half.
struct Block {
    bytes: __m256i,
    scale: __m256,
    floor: [f32; 2],
}

/// Four rows at a time: as four by one, or as two times two by four.
#[target_feature(enable = "avx2,fma,f16c")]
fn multiply<const FORMAT: u8>(rows: Rows<'_>, columns: &Columns, out: &mut [f32]) {
    let count = rows.count();
    let mut store = |row: usize, panel: &Panel, products: &[f32]| {
        for (lane, product) in products.iter().enumerate() {
            out[(panel.first + lane) * count + row] = *product;
        }
    };
    let mut row = 0;
    while row + 4 <= count {
        let four = [0, 1, 2, 3].map(|at| rows.row(row + at));
        for panel in &columns.panels {
            if panel.lanes == TOGETHER {
                for pair in [0, 2] {
                    let products = tile::<FORMAT, 2, 4>([four[pair], four[pair + 1]], panel);
                    store(row + pair, panel, &products[0]);
                    store(row + pair + 1, panel, &products[1]);
                }
            } else {
                for (at, product) in tile::<FORMAT, 4, 1>(four, panel).iter().enumerate() {
                    store(row + at, panel, product);
                }
            }
        }
        row += 4;
    }
    for row in row..count {
        for panel in &columns.panels {
            if panel.lanes == TOGETHER {
                store(row, panel, &tile::<FORMAT, 1, 4>([rows.row(row)], panel)[0]);
            } else {
                store(row, panel, &tile::<FORMAT, 1, 1>([rows.row(row)], panel)[0]);
            }
        }
    }
}

/// Some rows times the columns of a panel.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn tile<const FORMAT: u8, const ROWS: usize, const LANES: usize>(
    rows: [&[u8]; ROWS],
    panel: &Panel,
) -> [[f32; LANES]; ROWS] {
    let blocks = panel.scales.len();
    assert!(panel.integers.len() == blocks * LANES * BLOCK && LANES <= TOGETHER);
    assert!(rows.iter().all(|row| row.len() >= row_bytes::<FORMAT>(blocks)));
    let ones = _mm256_set1_epi16(1);
    let mut sums = [[_mm256_setzero_ps(); LANES]; ROWS];
    let mut floors = [_mm_setzero_ps(); ROWS];
    for (index, scales) in panel.scales.iter().enumerate() {
        // SAFETY: the panel has LANES * BLOCK integers for each of its blocks, asserted above.
        let x: [__m256i; LANES] = std::array::from_fn(|lane| unsafe {
            let at = (index * LANES + lane) * BLOCK;
            _mm256_loadu_si256(panel.integers.as_ptr().add(at).cast())
        });
        for row in 0..ROWS {
            // SAFETY: the row has all blocks, asserted above.
            let w = unsafe { block::<FORMAT>(rows[row], index) };
            for lane in 0..LANES {
                let pairs = if FORMAT == Q8_0 {
                    let signed = _mm256_sign_epi8(x[lane], w.bytes);
                    _mm256_maddubs_epi16(_mm256_abs_epi8(w.bytes), signed)
                } else {
                    _mm256_maddubs_epi16(w.bytes, x[lane])
                };
                let dots = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, ones));
                let scale = _mm256_mul_ps(w.scale, _mm256_set1_ps(scales.scale[lane]));
                sums[row][lane] = _mm256_fmadd_ps(dots, scale, sums[row][lane]);
            }
            floors[row] = add_floors::<FORMAT, LANES>(floors[row], &w.floor, scales);
        }
    }
    let mut products = [[0.0; LANES]; ROWS];
    for row in 0..ROWS {
        let floors = four_floats(floors[row]);
        for lane in 0..LANES {
            products[row][lane] = horizontal_sum(sums[row][lane]) + floors[lane];
        }
    }
    products
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_floors<const FORMAT: u8, const LANES: usize>(
    floors: __m128,
    floor: &[f32; 2],
    scales: &super::columns::Scales,
) -> __m128 {
    let four = |it: &[f32; TOGETHER]| _mm_set_ps(it[3], it[2], it[1], it[0]);
    let times = |floor: f32, sum: __m128, floors: __m128| {
        if LANES == 1 {
            _mm_fmadd_ss(_mm_set_ss(floor), sum, floors)
        } else {
            _mm_fmadd_ps(_mm_set1_ps(floor), sum, floors)
        }
    };
    match FORMAT {
        Q8_0 => floors,
        Q6K => {
            let (sum, low) = (four(&scales.sum), four(&scales.low));
            times(floor[1], _mm_sub_ps(sum, low), times(floor[0], low, floors))
        }
        _ => times(floor[0], four(&scales.sum), floors),
    }
}

const fn row_bytes<const FORMAT: u8>(blocks: usize) -> usize {
    match FORMAT {
        Q4_0 => blocks * 18,
        Q4_1 => blocks * 20,
        Q5_0 => blocks * 22,
        Q5_1 => blocks * 24,
        Q8_0 => blocks * 34,
        Q4K => blocks / 8 * 144,
        Q5K => blocks / 8 * 176,
        _ => blocks / 8 * 210,
    }
}

/// Unpacks the block at a place of a row.
///
/// # Safety
///
/// The row has more than `index` blocks.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn block<const FORMAT: u8>(row: &[u8], index: usize) -> Block {
    // SAFETY: the offsets below stay within the bytes that the format has for this block.
    unsafe {
        match FORMAT {
            Q4_0 => {
                let block = row.as_ptr().add(index * 18);
                let scale = half(block);
                Block::even(nibbles(block.add(2)), scale, -8.0 * scale)
            }
            Q4_1 => {
                let block = row.as_ptr().add(index * 20);
                let both = _mm_cvtph_ps(_mm_cvtsi32_si128(block.cast::<i32>().read_unaligned()));
                let floor = _mm_cvtss_f32(_mm_movehdup_ps(both));
                Block::even(nibbles(block.add(4)), _mm_cvtss_f32(both), floor)
            }
            Q5_0 => {
                let block = row.as_ptr().add(index * 22);
                let scale = half(block);
                let bytes = _mm256_or_si256(nibbles(block.add(6)), fifth_bits(block.add(2)));
                Block::even(bytes, scale, -16.0 * scale)
            }
            Q5_1 => {
                let block = row.as_ptr().add(index * 24);
                let bytes = _mm256_or_si256(nibbles(block.add(8)), fifth_bits(block.add(4)));
                Block::even(bytes, half(block), half(block.add(2)))
            }
            Q8_0 => {
                let block = row.as_ptr().add(index * 34);
                let bytes = _mm256_loadu_si256(block.add(2).cast());
                Block::even(bytes, half(block), 0.0)
            }
            Q4K => {
                let (group, part) = (row.as_ptr().add(index / 8 * 144), index % 8);
                let (scale, floor) = scale_and_floor(group, part);
                Block::even(shifted_nibbles(group.add(16), part), scale, floor)
            }
            Q5K => {
                let (group, part) = (row.as_ptr().add(index / 8 * 176), index % 8);
                let (scale, floor) = scale_and_floor(group, part);
                let high = _mm256_loadu_si256(group.add(16).cast());
                let high = shift_right(high, part as i32);
                let high = _mm256_and_si256(high, _mm256_set1_epi8(1));
                let high = _mm256_slli_epi16::<4>(high);
                let bytes = _mm256_or_si256(shifted_nibbles(group.add(48), part), high);
                Block::even(bytes, scale, floor)
            }
            _ => block_of_q6k(row.as_ptr().add(index / 8 * 210), index % 8),
        }
    }
}

impl Block {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn even(bytes: __m256i, scale: f32, floor: f32) -> Self {
        Self { bytes, scale: _mm256_set1_ps(scale), floor: [floor; 2] }
    }
}

/// # Safety
///
/// 210 bytes can be read.
#[inline]
#[target_feature(enable = "avx2,f16c")]
unsafe fn block_of_q6k(group: *const u8, part: usize) -> Block {
    let (side, quarter) = (part / 4, part % 4);
    // SAFETY: `side` is at most 1 and `quarter` at most 3, so all offsets are below 210.
    let (low, high, whole, scales) = unsafe {
        (
            _mm256_loadu_si256(group.add(64 * side + 32 * (quarter % 2)).cast()),
            _mm256_loadu_si256(group.add(128 + 32 * side).cast()),
            half(group.add(208)),
            [0, 1].map(|half| *group.add(192 + 8 * side + 2 * quarter + half) as i8),
        )
    };
    let low = shift_right(low, 4 * (quarter as i32 / 2));
    let low = _mm256_and_si256(low, _mm256_set1_epi8(15));
    let high = shift_right(high, 2 * quarter as i32);
    let high = _mm256_slli_epi16::<4>(_mm256_and_si256(high, _mm256_set1_epi8(3)));
    let scales = scales.map(|scale| whole * f32::from(scale));
    Block {
        bytes: _mm256_or_si256(low, high),
        scale: _mm256_set_m128(_mm_set1_ps(scales[1]), _mm_set1_ps(scales[0])),
        floor: scales.map(|scale| -32.0 * scale),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn shift_right(bytes: __m256i, bits: i32) -> __m256i {
    _mm256_srl_epi16(bytes, _mm_cvtsi32_si128(bits))
}

/// # Safety
///
/// Two bytes can be read.
#[inline]
#[target_feature(enable = "f16c")]
unsafe fn half(at: *const u8) -> f32 {
    // SAFETY: as the caller promises.
    let bits = unsafe { at.cast::<u16>().read_unaligned() };
    _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits.into())))
}

/// 32 integers of four bits: the low ones of sixteen bytes, then the high ones.
///
/// # Safety
///
/// Sixteen bytes can be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn nibbles(at: *const u8) -> __m256i {
    // SAFETY: as the caller promises.
    let packed = unsafe { _mm_loadu_si128(at.cast()) };
    let both = _mm256_set_m128i(_mm_srli_epi16::<4>(packed), packed);
    _mm256_and_si256(both, _mm256_set1_epi8(15))
}

/// The low (even part) or high (odd part) four bits of the part's 32 bytes.
///
/// # Safety
///
/// 128 bytes can be read and `part` is below 8.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn shifted_nibbles(at: *const u8, part: usize) -> __m256i {
    // SAFETY: as the caller promises.
    let packed = unsafe { _mm256_loadu_si256(at.add(part / 2 * 32).cast()) };
    let shifted = shift_right(packed, 4 * (part as i32 % 2));
    _mm256_and_si256(shifted, _mm256_set1_epi8(15))
}

/// Bit `i` of four bytes as 16 in byte `i`.
///
/// # Safety
///
/// Four bytes can be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn fifth_bits(at: *const u8) -> __m256i {
    // SAFETY: as the caller promises.
    let bits = unsafe { at.cast::<i32>().read_unaligned() };
    let spread =
        _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
    let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), spread);
    let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
    _mm256_and_si256(set, _mm256_set1_epi8(16))
}

/// See the plain form.
///
/// # Safety
///
/// Sixteen bytes can be read and `part` is below 8.
#[inline]
#[target_feature(enable = "avx2,f16c")]
unsafe fn scale_and_floor(group: *const u8, part: usize) -> (f32, f32) {
    // SAFETY: as the caller promises.
    let (scale, floor, packed) =
        unsafe { (half(group), half(group.add(2)), group.add(4).cast::<[u8; 12]>().read()) };
    let (a, b) = if part < 4 {
        (packed[part] & 63, packed[part + 4] & 63)
    } else {
        let low = packed[part + 4];
        (low & 15 | packed[part - 4] >> 6 << 4, low >> 4 | packed[part] >> 6 << 4)
    };
    (scale * f32::from(a), -floor * f32::from(b))
}

#[inline]
#[target_feature(enable = "avx2")]
fn horizontal_sum(it: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(it), _mm256_extractf128_ps::<1>(it));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn four_floats(it: __m128) -> [f32; 4] {
    let mut floats = [0.0; 4];
    // SAFETY: there is room for four floats.
    unsafe { _mm_storeu_ps(floats.as_mut_ptr(), it) };
    floats
}

#[target_feature(enable = "avx2,fma,f16c")]
fn multiply_floats<const FORMAT: u8>(rows: Rows<'_>, columns: &Columns, out: &mut [f32]) {
    let count = rows.count();
    let size = if FORMAT == F32 { 4 } else { 2 };
    for row in 0..count {
        let bytes = rows.row(row);
        for column in 0..columns.count() {
            let x = columns.column(column);
            assert!(bytes.len() >= x.len() * size);
            let mut sums = [_mm256_setzero_ps(); 4];
            for (index, x) in x.chunks_exact(8).enumerate() {
                // SAFETY: eight floats of the row lie at this place, asserted above; `x` has eight.
                let (w, x) = unsafe {
                    let at = bytes.as_ptr().add(index * 8 * size);
                    (eight_floats::<FORMAT>(at), _mm256_loadu_ps(x.as_ptr()))
                };
                sums[index % 4] = _mm256_fmadd_ps(w, x, sums[index % 4]);
            }
            let sums =
                _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
            let whole = x.len() / 8 * 8;
            let rest = (whole..x.len()).map(|at| plain::float_at(rows.format, bytes, at) * x[at]);
            out[column * count + row] = horizontal_sum(sums) + rest.sum::<f32>();
        }
    }
}

/// # Safety
///
/// Eight floats of the format can be read.
#[inline]
#[target_feature(enable = "avx2,f16c")]
unsafe fn eight_floats<const FORMAT: u8>(at: *const u8) -> __m256 {
    // SAFETY: as the caller promises.
    unsafe {
        match FORMAT {
            F16 => _mm256_cvtph_ps(_mm_loadu_si128(at.cast())),
            BF16 => {
                let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(at.cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
            }
            _ => _mm256_loadu_ps(at.cast()),
        }
    }
}

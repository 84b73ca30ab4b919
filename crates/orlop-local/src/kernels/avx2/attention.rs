//! Attention and what lies between products, eight numbers at a time.

use std::arch::x86_64::*;

use super::horizontal_sum;
use crate::kernels::{Head, plain};

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn scores<const QUERIES: usize>(
    queries: &[f32],
    keys: &[u16],
    head: Head,
    scale: f32,
    out: &mut [f32],
) {
    assert!(queries.len() >= QUERIES * head.size && keys.len() >= head.positions * head.size);
    assert!(out.len() >= (QUERIES - 1) * head.stride + head.positions);
    for position in 0..head.positions {
        let mut sums = [_mm256_setzero_ps(); QUERIES];
        for at in (0..head.size).step_by(8) {
            // SAFETY: key and queries have eight numbers here, asserted above.
            unsafe {
                let key = keys.as_ptr().add(position * head.size + at);
                let key = _mm256_cvtph_ps(_mm_loadu_si128(key.cast()));
                for (query, sum) in sums.iter_mut().enumerate() {
                    let query = _mm256_loadu_ps(queries.as_ptr().add(query * head.size + at));
                    *sum = _mm256_fmadd_ps(query, key, *sum);
                }
            }
        }
        for (query, sum) in sums.into_iter().enumerate() {
            out[query * head.stride + position] = horizontal_sum(sum) * scale;
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn mix<const QUERIES: usize>(
    weights: &[f32],
    values: &[u16],
    head: Head,
    out: &mut [f32],
) {
    assert!(values.len() >= head.positions * head.size && out.len() >= QUERIES * head.size);
    assert!(weights.len() >= (QUERIES - 1) * head.stride + head.positions);
    for at in (0..head.size).step_by(8) {
        let mut sums = [_mm256_setzero_ps(); QUERIES];
        for position in 0..head.positions {
            // SAFETY: values have eight numbers here, asserted above.
            let value = unsafe {
                let value = values.as_ptr().add(position * head.size + at);
                _mm256_cvtph_ps(_mm_loadu_si128(value.cast()))
            };
            for (query, sum) in sums.iter_mut().enumerate() {
                // SAFETY: each query has a weight for each position, asserted above.
                let weight = unsafe { *weights.get_unchecked(query * head.stride + position) };
                *sum = _mm256_fmadd_ps(_mm256_set1_ps(weight), value, *sum);
            }
        }
        for (query, sum) in sums.into_iter().enumerate() {
            // SAFETY: there is room for eight numbers, asserted above.
            unsafe { _mm256_storeu_ps(out.as_mut_ptr().add(query * head.size + at), sum) };
        }
    }
}

/// e^x, within three units of the last place; what is beyond the range of floats is held at its ends.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn exp(x: __m256) -> __m256 {
    let x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-87.0)), _mm256_set1_ps(88.0));
    // x = n * ln 2 + r, with ln 2 in two parts so that r keeps its last bits.
    let n = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(_mm256_mul_ps(
        x,
        _mm256_set1_ps(std::f32::consts::LOG2_E),
    ));
    let r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693_359_4), x);
    let r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.121_944_4e-4), r);
    let mut power = _mm256_set1_ps(1.0 / 5040.0);
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        power = _mm256_fmadd_ps(power, r, _mm256_set1_ps(factor));
    }
    let exponent = _mm256_slli_epi32::<23>(_mm256_cvtps_epi32(n));
    _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(power), exponent))
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn softmax(scores: &mut [f32]) {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sums = _mm256_setzero_ps();
    let mut chunks = scores.chunks_exact_mut(8);
    for chunk in &mut chunks {
        // SAFETY: the chunk has eight floats.
        unsafe {
            let power =
                exp(_mm256_sub_ps(_mm256_loadu_ps(chunk.as_ptr()), _mm256_set1_ps(largest)));
            _mm256_storeu_ps(chunk.as_mut_ptr(), power);
            sums = _mm256_add_ps(sums, power);
        }
    }
    let mut sum = horizontal_sum(sums);
    for score in chunks.into_remainder() {
        *score = (*score - largest).exp();
        sum += *score;
    }
    let factor = 1.0 / sum;
    for score in scores {
        *score *= factor;
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn swiglu(gate: &mut [f32], up: &[f32]) {
    let whole = gate.len().min(up.len()) / 8 * 8;
    for (gate, up) in gate.chunks_exact_mut(8).zip(up.chunks_exact(8)) {
        // SAFETY: both chunks have eight floats.
        unsafe {
            let (x, up) = (_mm256_loadu_ps(gate.as_ptr()), _mm256_loadu_ps(up.as_ptr()));
            let one = _mm256_set1_ps(1.0);
            let power = exp(_mm256_sub_ps(_mm256_setzero_ps(), x));
            let silu = _mm256_div_ps(x, _mm256_add_ps(one, power));
            _mm256_storeu_ps(gate.as_mut_ptr(), _mm256_mul_ps(silu, up));
        }
    }
    plain::swiglu(&mut gate[whole..], &up[whole..]);
}

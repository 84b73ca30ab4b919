//! Every kernel against plain arithmetic in floats, and the fast form against the plain one.

use super::half::{from_half, to_half};
use super::*;

/// A repeatable stream of numbers.
struct Numbers(u64);

impl Numbers {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Between -1 and 1.
    fn float(&mut self) -> f32 {
        (self.bits() % 20_001) as f32 / 10_000.0 - 1.0
    }

    fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }

    fn halves(&mut self, count: usize) -> Vec<u16> {
        (0..count).map(|_| to_half(self.float())).collect()
    }
}

/// Formats with the bytes of a block and where its half floats stand.
const FORMATS: [(Format, usize, &[usize]); 11] = [
    (Format::F32, 4, &[]),
    (Format::F16, 2, &[0]),
    (Format::Bf16, 2, &[]),
    (Format::Q4_0, 18, &[0]),
    (Format::Q4_1, 20, &[0, 2]),
    (Format::Q5_0, 22, &[0]),
    (Format::Q5_1, 24, &[0, 2]),
    (Format::Q8_0, 34, &[0]),
    (Format::Q4K, 144, &[0, 2]),
    (Format::Q5K, 176, &[0, 2]),
    (Format::Q6K, 210, &[208]),
];

fn weights(format: Format, rows: usize, columns: usize, numbers: &mut Numbers) -> Vec<u8> {
    let (_, block, halves) = FORMATS.into_iter().find(|it| it.0 == format).unwrap();
    let mut bytes: Vec<u8> = match format {
        Format::F32 => {
            numbers.floats(rows * columns).iter().flat_map(|it| it.to_le_bytes()).collect()
        }
        Format::Bf16 => {
            let floats = numbers.floats(rows * columns);
            floats.iter().flat_map(|it| it.to_le_bytes()[2..].to_vec()).collect()
        }
        _ => {
            let count = format.row_bytes(columns).unwrap() * rows;
            (0..count).map(|_| numbers.bits() as u8).collect()
        }
    };
    for block in bytes.chunks_exact_mut(block) {
        for at in halves {
            block[*at..at + 2].copy_from_slice(&to_half(numbers.float() / 16.0).to_le_bytes());
        }
    }
    bytes
}

fn close(a: &[f32], b: &[f32], tolerance: f32, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} and {b} at {at}");
    }
}

#[test]
fn products_of_every_format_are_those_of_floats() {
    let mut numbers = Numbers(11);
    let (rows, width) = (7, 512);
    for (format, ..) in FORMATS {
        let bytes = weights(format, rows, width, &mut numbers);
        let matrix = Rows::new(format, &bytes, width);
        assert_eq!(matrix.count(), rows);
        for count in [1, 3, 4, 9] {
            let what = format!("{format:?} with {count} columns");
            let x = numbers.floats(count * width);
            let columns = Columns::new(&x, width, format.is_quantised());

            // What the integers of the activations stand for: their error is not the kernel's.
            let mut seen = x.clone();
            if format.is_quantised() {
                for block in seen.chunks_exact_mut(BLOCK) {
                    let mut integers = [0; BLOCK];
                    let [scale, ..] = plain::quantise(block, &mut integers);
                    for (number, integer) in block.iter_mut().zip(integers) {
                        assert!((*number - scale * f32::from(integer)).abs() <= 0.5001 * scale);
                        *number = scale * f32::from(integer);
                    }
                }
            }
            let mut expected = vec![0.0; count * rows];
            for row in 0..rows {
                let mut w = vec![0.0; width];
                matrix.read(row, &mut w);
                for column in 0..count {
                    let x = &seen[column * width..][..width];
                    let product = w.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x));
                    expected[column * rows + row] = product.sum::<f64>() as f32;
                }
            }
            let mut out = vec![f32::NAN; count * rows];
            plain::multiply(matrix, &columns, &mut out);
            close(&out, &expected, 2e-4, &format!("plain {what}"));
            out.fill(f32::NAN);
            matrix.multiply(&columns, &mut out);
            close(&out, &expected, 2e-4, &what);
            let mut part = vec![f32::NAN; count * 3];
            matrix.part(2..5).multiply(&columns, &mut part);
            assert_eq!(part[0], out[2], "rows are computed the same alone: {what}");
        }
    }
}

#[test]
fn attention_of_several_queries_is_that_of_one_after_another() {
    let mut numbers = Numbers(5);
    for size in [8, 20, 64] {
        for queries in 1..=6 {
            let (positions, stride) = (37, 40);
            let what = format!("{queries} queries of {size}");
            let head = Head { size, positions, stride };
            let q = numbers.floats(queries * size);
            let (keys, values) =
                (numbers.halves(positions * size), numbers.halves(positions * size));
            let mut expected = vec![0.0; queries * stride];
            plain::scores(&q, &keys, head, 0.125, &mut expected);
            let mut weights = vec![0.0; queries * stride];
            scores(&q, &keys, head, 0.125, &mut weights);
            close(&weights, &expected, 1e-5, &what);

            let mut expected = vec![f32::NAN; queries * size];
            plain::mix(&weights, &values, head, &mut expected);
            let mut out = vec![f32::NAN; queries * size];
            mix(&weights, &values, head, &mut out);
            close(&out, &expected, 1e-5, &what);
        }
    }
}

#[test]
fn softmax_and_swiglu_are_those_of_the_plain_form() {
    let mut numbers = Numbers(3);
    for count in [1, 7, 8, 33] {
        let start: Vec<_> = numbers.floats(count).iter().map(|it| it * 60.0).collect();
        let (mut expected, mut out) = (start.clone(), start.clone());
        plain::softmax(&mut expected);
        softmax(&mut out);
        close(&out, &expected, 1e-6, "softmax");
        assert!((out.iter().sum::<f32>() - 1.0).abs() < 1e-5);

        let up = numbers.floats(count);
        let (mut expected, mut out) = (start.clone(), start);
        plain::swiglu(&mut expected, &up);
        swiglu(&mut out, &up);
        close(&out, &expected, 1e-6, "swiglu");
    }
}

#[test]
fn half_floats_come_back_as_they_were() {
    for bits in 0..=u16::MAX {
        let number = from_half(bits);
        if number.is_nan() {
            assert!(from_half(to_half(number)).is_nan());
        } else {
            assert_eq!(to_half(number), bits, "{number}");
        }
    }
    assert_eq!(from_half(0x3c00), 1.0);
    assert_eq!(from_half(0x0001), 2f32.powi(-24));
    assert_eq!(to_half(65_519.0), 0x7bff);
    assert_eq!(to_half(65_520.0), 0x7c00);
    // Halfway between two: the even one.
    assert_eq!(to_half(1.0 + 2f32.powi(-11)), 0x3c00);
    assert_eq!(to_half(1.0 + 3.0 * 2f32.powi(-11)), 0x3c02);
}

#[test]
fn a_block_of_zeros_is_zeros() {
    let mut integers = [1; BLOCK];
    assert_eq!(quantise(&[0.0; BLOCK], &mut integers), [0.0; 3]);
    assert_eq!(integers, [0; BLOCK]);
}

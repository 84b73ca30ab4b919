//! Floats of sixteen bits.

/// The number behind sixteen bits of an IEEE half float.
pub(crate) fn from_half(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let rest = u32::from(bits & 0x7fff);
    let value = match rest >> 10 {
        // Subnormal: a multiple of 2^-24, exact in a float of 32 bits.
        0 => (rest as f32 * f32::from_bits(0x3380_0000)).to_bits(),
        31 => 0x7f80_0000 | (rest & 0x3ff) << 13,
        _ => (rest << 13) + 0x3800_0000,
    };
    f32::from_bits(sign | value)
}

/// The nearest half float, ties to even. Beyond its range it is infinite.
pub(crate) fn to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    let half = if magnitude >= 0x7f80_0000 {
        0x7c00 | u16::from(magnitude > 0x7f80_0000) << 9
    } else if magnitude >= 0x477f_f000 {
        0x7c00
    } else if magnitude < 0x3880_0000 {
        // Adding one half puts the bits of a subnormal at the low end, rounded by the addition.
        (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000) as u16
    } else {
        let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
        ((rounded - 0x3800_0000) >> 13) as u16
    };
    sign | half
}

/// The half float at a place, little endian.
pub(super) fn half_at(bytes: &[u8], at: usize) -> f32 {
    from_half(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

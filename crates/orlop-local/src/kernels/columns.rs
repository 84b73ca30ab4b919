//! Activations, ready to be multiplied with: as floats and as integers of eight bits.

use super::BLOCK;

/// Columns that are multiplied together, so that a weight is unpacked once for all of them.
pub(super) const TOGETHER: usize = 4;

/// Several vectors of the same width, one a token.
pub(crate) struct Columns {
    pub(super) width: usize,
    pub(super) floats: Vec<f32>,
    pub(super) panels: Vec<Panel>,
}

/// Four columns side by side, or one. For block after block it holds 32 integers of each column,
/// and the block's scales.
pub(super) struct Panel {
    pub(super) first: usize,
    pub(super) lanes: usize,
    pub(super) integers: Vec<i8>,
    pub(super) scales: Vec<Scales>,
}

/// What belongs to the blocks of a panel at one place; lanes beyond the panel's are zero.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Scales {
    /// What an integer is worth.
    pub(super) scale: [f32; TOGETHER],
    /// The sum of the block.
    pub(super) sum: [f32; TOGETHER],
    /// The sum of its first half.
    pub(super) low: [f32; TOGETHER],
}

impl Columns {
    /// Takes `values.len() / width` columns over. `quantised` says whether integers are needed.
    pub(crate) fn new(values: &[f32], width: usize, quantised: bool) -> Self {
        let count = values.len() / width.max(1);
        let mut panels = Vec::new();
        if quantised {
            let mut first = 0;
            while first < count {
                let lanes = if count - first >= TOGETHER { TOGETHER } else { 1 };
                panels.push(Panel::new(values, width, first, lanes));
                first += lanes;
            }
        }
        Self { width, floats: values.to_vec(), panels }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.floats.len() / self.width.max(1)
    }

    pub(super) fn column(&self, column: usize) -> &[f32] {
        &self.floats[column * self.width..][..self.width]
    }
}

impl Panel {
    fn new(values: &[f32], width: usize, first: usize, lanes: usize) -> Self {
        let blocks = width / BLOCK;
        let mut integers = vec![0; blocks * lanes * BLOCK];
        let mut scales = vec![Scales::default(); blocks];
        for lane in 0..lanes {
            let column = &values[(first + lane) * width..][..width];
            for (block, numbers) in column.chunks_exact(BLOCK).enumerate() {
                let out = &mut integers[(block * lanes + lane) * BLOCK..][..BLOCK];
                let [scale, low, high] = super::quantise(numbers, out);
                scales[block].scale[lane] = scale;
                scales[block].sum[lane] = low + high;
                scales[block].low[lane] = low;
            }
        }
        Self { first, lanes, integers, scales }
    }
}

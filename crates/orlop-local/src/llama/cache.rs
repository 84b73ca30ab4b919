//! Keys and values of the positions a model has read, and which conversations are kept.

use std::sync::{Mutex, PoisonError, RwLock};

use super::measures::Measures;

/// What a model knows of a text that it has read.
pub(crate) struct Cache {
    tokens: Vec<u32>,
    /// Behind locks because all lanes read a layer after one of them has written it.
    pub(super) layers: Vec<RwLock<Layer>>,
    head_size: usize,
}

/// Keys and values of one layer: for each head all positions one after another, as half floats.
#[derive(Clone, Default)]
pub(super) struct Layer {
    pub(super) keys: Vec<Vec<u16>>,
    pub(super) values: Vec<Vec<u16>>,
}

/// Positions that a list grows by, so that it is not twice as large as it needs to be.
const GROWTH: usize = 256;

impl Cache {
    /// A cache that knows nothing.
    pub(crate) fn new(measures: &Measures) -> Self {
        let lists = || vec![Vec::new(); measures.key_heads];
        let layer = || RwLock::new(Layer { keys: lists(), values: lists() });
        Self {
            tokens: Vec::new(),
            layers: (0..measures.layers).map(|_| layer()).collect(),
            head_size: measures.head_size,
        }
    }

    /// The tokens that were read.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    pub(super) fn extend(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }

    /// Forgets what comes after the first `length` tokens, also what an unfinished step wrote.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.tokens.truncate(length);
        let numbers = length * self.head_size;
        for layer in &mut self.layers {
            let layer = layer.get_mut().unwrap_or_else(PoisonError::into_inner);
            for list in layer.keys.iter_mut().chain(&mut layer.values) {
                list.truncate(numbers);
            }
        }
    }

    /// A second cache that knows the first `length` tokens.
    fn prefix(&self, length: usize) -> Self {
        let numbers = length * self.head_size;
        let cut = |lists: &[Vec<u16>]| -> Vec<Vec<u16>> {
            lists.iter().map(|list| list[..numbers.min(list.len())].to_vec()).collect()
        };
        let layer = |layer: &RwLock<Layer>| {
            let layer = layer.read().unwrap_or_else(PoisonError::into_inner);
            RwLock::new(Layer { keys: cut(&layer.keys), values: cut(&layer.values) })
        };
        Self {
            tokens: self.tokens[..length].to_vec(),
            layers: self.layers.iter().map(layer).collect(),
            head_size: self.head_size,
        }
    }
}

impl Layer {
    /// Appends what one position has, head after head.
    pub(super) fn push(&mut self, keys: &[f32], values: &[f32], head_size: usize) {
        let lists = [(&mut self.keys, keys), (&mut self.values, values)];
        for (lists, numbers) in lists {
            for (list, numbers) in lists.iter_mut().zip(numbers.chunks_exact(head_size)) {
                if list.capacity() - list.len() < head_size {
                    list.reserve_exact(GROWTH * head_size);
                }
                list.extend(numbers.iter().map(|number| crate::kernels::to_half(*number)));
            }
        }
    }
}

/// The caches of conversations that nobody is computing with, least recently used first.
pub(crate) struct Caches {
    kept: Mutex<Vec<Cache>>,
    bytes_per_position: usize,
    most_bytes: usize,
}

impl Caches {
    /// Keeps up to `most_bytes` of them.
    pub(crate) fn new(measures: &Measures, most_bytes: usize) -> Self {
        let bytes_per_position = measures.bytes_per_position();
        Self { kept: Mutex::default(), bytes_per_position, most_bytes }
    }

    /// A cache that knows as much as possible of the beginning of `tokens`, and nothing else. The
    /// last token is never among it: what follows is computed from that one.
    pub(crate) fn take(&self, tokens: &[u32], measures: &Measures) -> Cache {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let useful = &tokens[..tokens.len().saturating_sub(1)];
        let common = |cache: &Cache| {
            cache.tokens.iter().zip(useful).take_while(|(mine, wanted)| mine == wanted).count()
        };
        let best = kept.iter().enumerate().map(|(at, cache)| (common(cache), at)).max();
        match best {
            None | Some((0, _)) => Cache::new(measures),
            // Another conversation with the same beginning: both go on.
            Some((length, at)) if length < kept[at].tokens.len() / 2 => kept[at].prefix(length),
            Some((length, at)) => {
                let mut cache = kept.remove(at);
                cache.truncate(length);
                cache
            }
        }
    }

    /// Keeps a cache for the next turn, and drops the oldest ones beyond the limit.
    pub(crate) fn put(&self, cache: Cache) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(cache);
        let positions = |kept: &[Cache]| kept.iter().map(|cache| cache.tokens.len()).sum::<usize>();
        while positions(&kept) * self.bytes_per_position > self.most_bytes {
            kept.remove(0);
        }
    }

    /// Bytes of all that is kept.
    pub(crate) fn bytes(&self) -> usize {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().map(|cache| cache.tokens.len()).sum::<usize>() * self.bytes_per_position
    }
}

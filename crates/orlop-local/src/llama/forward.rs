//! The way of tokens through a model: embedding, layers of attention and of the feed-forward
//! network, and the numbers for what may come next.

use std::sync::PoisonError;

use orlop_types::{Error, Result};

use super::cache::Cache;
use super::weights::{Layer, Llama, Matrix};
use crate::kernels::{self, Columns, Head};
use crate::lanes::{self, Lane};

/// Tokens that are read together. More would be little faster, and a request can be cancelled
/// only between two batches.
pub(crate) const BATCH: usize = 32;

impl Llama {
    /// Reads tokens after those the cache knows. If they are the last ones, answers with the
    /// logits of what comes next, else with nothing.
    pub(crate) fn read_tokens(
        &self,
        tokens: &[u32],
        cache: &mut Cache,
        threads: usize,
        last: bool,
    ) -> Result<Vec<f32>> {
        let known = cache.tokens().len();
        let logits = lanes::run(threads, |lane| {
            let step = Step::new(self, tokens, cache).through_layers(lane);
            if last { step.logits(lane) } else { Vec::new() }
        });
        match logits {
            Some(logits) => {
                cache.extend(tokens);
                Ok(logits)
            }
            None => {
                cache.truncate(known);
                Err(Error::unavailable(
                    "the embedded model could not start its threads; set fewer `threads`",
                ))
            }
        }
    }
}

/// One pass of a batch, as one lane sees it.
struct Step<'a> {
    model: &'a Llama,
    cache: &'a Cache,
    tokens: &'a [u32],
    /// The stream between layers: `[token][width]`.
    stream: Vec<f32>,
    /// Cosine and sine of each token and pair.
    turns: Vec<(f32, f32)>,
}

impl<'a> Step<'a> {
    fn new(model: &'a Llama, tokens: &'a [u32], cache: &'a Cache) -> Self {
        let width = model.measures.width;
        let embedding = model.embedding.rows(&model.file);
        let mut stream = vec![0.0; tokens.len() * width];
        for (token, out) in tokens.iter().zip(stream.chunks_exact_mut(width)) {
            embedding.read(*token as usize, out);
        }
        let first = cache.tokens().len();
        let positions = first..first + tokens.len();
        let angles =
            positions.flat_map(|position| model.turns.iter().map(move |it| (position, it)));
        let turns = angles.map(|(position, turn)| {
            let (sine, cosine) = (position as f64 * turn).sin_cos();
            (cosine as f32, sine as f32)
        });
        let turns = turns.collect();
        Self { model, cache, tokens, stream, turns }
    }

    fn through_layers(mut self, lane: &mut Lane<'_>) -> Self {
        for index in 0..self.model.layers.len() {
            let layer = &self.model.layers[index];
            self.attend(lane, index, layer);
            self.feed_forward(lane, layer);
        }
        self
    }

    /// How likely each token is to follow the last one, before any rule of sampling.
    fn logits(&self, lane: &mut Lane<'_>) -> Vec<f32> {
        let width = self.model.measures.width;
        let last = &self.stream[self.stream.len() - width..];
        let mut normalised = vec![0.0; width];
        kernels::normalise(last, &self.model.norm, self.model.measures.epsilon, &mut normalised);
        let output = &self.model.output;
        let mut logits = vec![0.0; output.rows(&self.model.file).count()];
        self.multiply(lane, &normalised, &[output], &mut [&mut logits]);
        logits
    }

    fn attend(&mut self, lane: &mut Lane<'_>, index: usize, layer: &Layer) {
        let measures = &self.model.measures;
        let (count, size) = (self.tokens.len(), measures.head_size);
        let normalised = self.normalised(&layer.attention_norm);
        let mut queries = vec![0.0; count * measures.heads * size];
        let mut keys = vec![0.0; count * measures.key_heads * size];
        let mut values = vec![0.0; count * measures.key_heads * size];
        self.multiply(
            lane,
            &normalised,
            &[&layer.query, &layer.key, &layer.value],
            &mut [&mut queries, &mut keys, &mut values],
        );
        self.turn(&mut queries, measures.heads);
        let cached = &self.cache.layers[index];
        if lane.is_first() {
            self.turn(&mut keys, measures.key_heads);
            let mut cached = cached.write().unwrap_or_else(PoisonError::into_inner);
            let row = measures.key_heads * size;
            for (keys, values) in keys.chunks_exact(row).zip(values.chunks_exact(row)) {
                cached.push(keys, values, size);
            }
        }
        lane.wait();
        let mut mixed = vec![0.0; queries.len()];
        {
            let cached = cached.read().unwrap_or_else(PoisonError::into_inner);
            lane.items(count * measures.heads, &mut mixed, |items, out| {
                self.look(&queries, &cached, items, out);
            });
        }
        self.add_product(lane, &mixed, &layer.attention_out);
    }

    /// Attention of some items, of which each is one head of one token.
    fn look(
        &self,
        queries: &[f32],
        cached: &super::cache::Layer,
        items: std::ops::Range<usize>,
        out: &mut [f32],
    ) {
        let measures = &self.model.measures;
        let (size, heads) = (measures.head_size, measures.heads);
        let group = heads / measures.key_heads;
        let known = self.cache.tokens().len();
        let scale = 1.0 / (size as f32).sqrt();
        let mut weights = Vec::new();
        let mut item = items.start;
        while item < items.end {
            // Heads of the same token that share keys are computed together.
            let end = ((item / group + 1) * group).min(items.end);
            let (token, key_head) = (item / heads, item % heads / group);
            let positions = known + token + 1;
            let head = Head { size, positions, stride: positions };
            weights.resize((end - item) * positions, 0.0);
            let keys = &cached.keys[key_head][..positions * size];
            let values = &cached.values[key_head][..positions * size];
            kernels::scores(&queries[item * size..end * size], keys, head, scale, &mut weights);
            weights.chunks_exact_mut(positions).for_each(kernels::softmax);
            let out = &mut out[(item - items.start) * size..(end - items.start) * size];
            kernels::mix(&weights, values, head, out);
            item = end;
        }
    }

    fn feed_forward(&mut self, lane: &mut Lane<'_>, layer: &Layer) {
        let hidden = self.model.measures.hidden * self.tokens.len();
        let normalised = self.normalised(&layer.hidden_norm);
        let (mut gate, mut up) = (vec![0.0; hidden], vec![0.0; hidden]);
        let outs = &mut [&mut gate[..], &mut up[..]];
        self.multiply(lane, &normalised, &[&layer.gate, &layer.up], outs);
        kernels::swiglu(&mut gate, &up);
        self.add_product(lane, &gate, &layer.down);
    }

    fn normalised(&self, weight: &[f32]) -> Vec<f32> {
        let measures = &self.model.measures;
        let mut out = vec![0.0; self.stream.len()];
        let streams = self.stream.chunks_exact(measures.width);
        for (stream, out) in streams.zip(out.chunks_exact_mut(measures.width)) {
            kernels::normalise(stream, weight, measures.epsilon, out);
        }
        out
    }

    fn add_product(&mut self, lane: &mut Lane<'_>, x: &[f32], matrix: &Matrix) {
        let mut product = vec![0.0; self.stream.len()];
        self.multiply(lane, x, &[matrix], &mut [&mut product]);
        for (stream, product) in self.stream.iter_mut().zip(product) {
            *stream += product;
        }
    }

    /// Several matrices times the same columns.
    fn multiply(
        &self,
        lane: &mut Lane<'_>,
        x: &[f32],
        matrices: &[&Matrix],
        outs: &mut [&mut [f32]],
    ) {
        let file = &self.model.file;
        let quantised = matrices.iter().any(|matrix| matrix.is_quantised());
        let Some(width) = matrices.first().map(|matrix| matrix.width()) else { return };
        let columns = Columns::new(x, width, quantised);
        lane.products(columns.count(), outs, |product, rows, out| {
            matrices[product].rows(file).part(rows).multiply(&columns, out);
        });
    }

    /// Turns pairs of neighbouring numbers of each head by an angle that grows with the position.
    fn turn(&self, vectors: &mut [f32], heads: usize) {
        let measures = &self.model.measures;
        let pairs = measures.turned / 2;
        if pairs == 0 {
            return;
        }
        let tokens = vectors.chunks_exact_mut(heads * measures.head_size);
        for (vector, turns) in tokens.zip(self.turns.chunks_exact(pairs)) {
            for head in vector.chunks_exact_mut(measures.head_size) {
                for (pair, (cosine, sine)) in head.chunks_exact_mut(2).zip(turns) {
                    let (x, y) = (pair[0], pair[1]);
                    pair[0] = x * cosine - y * sine;
                    pair[1] = x * sine + y * cosine;
                }
            }
        }
    }
}

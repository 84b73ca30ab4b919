//! The measures of a model, checked to fit each other.

use orlop_types::{Error, Result};

use crate::gguf::{Metadata, broken};

/// No model of this family is larger in any of its measures; a file that says so is broken.
const LARGEST: usize = 1 << 20;

/// How large a model is and how it computes.
#[derive(Clone, Debug)]
pub(crate) struct Measures {
    pub(crate) layers: usize,
    /// The width of the stream between layers.
    pub(crate) width: usize,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    /// Heads of keys and values; several query heads share one.
    pub(crate) key_heads: usize,
    pub(crate) head_size: usize,
    /// Positions the model was trained for.
    pub(crate) context: usize,
    pub(crate) epsilon: f32,
    /// Numbers of a head that are turned by position.
    pub(crate) turned: usize,
    pub(crate) turn_base: f64,
    pub(crate) turn_scale: f64,
}

impl Measures {
    /// Reads them from what the file says of itself.
    pub(crate) fn read(metadata: &Metadata) -> Result<Self> {
        let family = metadata.text("general.architecture")?.unwrap_or("unknown");
        if family != "llama" {
            return Err(Error::bad_argument(format!(
                "models of the architecture {family:?} cannot be run by the embedded model; take one \
                 of the architecture \"llama\", or serve it with Ollama and use the provider `ollama`"
            )));
        }
        if metadata.count_or("llama.expert_count", 0)? > 0 {
            return Err(Error::bad_argument(
                "models made of experts cannot be run by the embedded model; take a dense one",
            ));
        }
        let heads = metadata.count("llama.attention.head_count")?;
        let width = metadata.count("llama.embedding_length")?;
        let head_size = match metadata.optional_count("llama.attention.key_length")? {
            Some(size) => size,
            None => width.checked_div(heads).unwrap_or(0),
        };
        let measures = Self {
            layers: metadata.count("llama.block_count")?,
            width,
            hidden: metadata.count("llama.feed_forward_length")?,
            heads,
            key_heads: metadata.count_or("llama.attention.head_count_kv", heads)?,
            head_size,
            context: metadata.count("llama.context_length")?,
            epsilon: metadata.real_or("llama.attention.layer_norm_rms_epsilon", 1e-5)? as f32,
            turned: metadata.count_or("llama.rope.dimension_count", head_size)?,
            turn_base: metadata.real_or("llama.rope.freq_base", 10_000.0)?,
            turn_scale: turn_scale(metadata)?,
        };
        let value_size = metadata.count_or("llama.attention.value_length", head_size)?;
        if measures.fit() && value_size == head_size {
            Ok(measures)
        } else {
            Err(broken(format_args!("its measures do not fit each other: {measures:?}")))
        }
    }

    fn fit(&self) -> bool {
        let counts = [
            self.layers,
            self.width,
            self.hidden,
            self.heads,
            self.key_heads,
            self.head_size,
            self.context,
        ];
        counts.iter().all(|count| (1..=LARGEST).contains(count))
            && self.heads.is_multiple_of(self.key_heads)
            && self.turned <= self.head_size
            && self.turned.is_multiple_of(2)
            && self.epsilon >= 0.0
            && self.turn_base > 0.0
            && self.turn_scale > 0.0
    }

    /// Bytes that a position takes in a cache.
    pub(crate) fn bytes_per_position(&self) -> usize {
        2 * 2 * self.layers * self.key_heads * self.head_size
    }
}

fn turn_scale(metadata: &Metadata) -> Result<f64> {
    let factor = metadata.real_or("llama.rope.scaling.factor", 1.0)?;
    match metadata.text("llama.rope.scaling.type")? {
        None | Some("none") => Ok(1.0),
        Some("linear") if factor > 0.0 => Ok(1.0 / factor),
        Some(other) => Err(Error::bad_argument(format!(
            "the scaling of positions {other:?} cannot be computed by the embedded model; take a file \
             with none or linear scaling"
        ))),
    }
}

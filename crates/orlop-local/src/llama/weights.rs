//! Finds the weights of a model in its file and checks their shapes.

use orlop_types::Result;

use super::measures::Measures;
use crate::gguf::{Gguf, Tensor, broken};
use crate::kernels::Rows;

/// A model in its file. Matrices stay there; vectors are small and read once.
pub(crate) struct Llama {
    pub(super) file: Gguf,
    pub(super) measures: Measures,
    pub(super) embedding: Matrix,
    pub(super) layers: Vec<Layer>,
    pub(super) norm: Vec<f32>,
    /// The embedding again in models that tie the two.
    pub(super) output: Matrix,
    /// How fast each pair of a head turns with the position.
    pub(super) turns: Vec<f64>,
}

/// The weights of one layer.
pub(super) struct Layer {
    pub(super) attention_norm: Vec<f32>,
    pub(super) query: Matrix,
    pub(super) key: Matrix,
    pub(super) value: Matrix,
    pub(super) attention_out: Matrix,
    pub(super) hidden_norm: Vec<f32>,
    pub(super) gate: Matrix,
    pub(super) up: Matrix,
    pub(super) down: Matrix,
}

/// A matrix in the file.
pub(super) struct Matrix(Tensor);

impl Matrix {
    pub(super) fn rows<'a>(&self, file: &'a Gguf) -> Rows<'a> {
        Rows::new(self.0.format, file.bytes(&self.0), self.0.columns)
    }

    /// Numbers in a row.
    pub(super) fn width(&self) -> usize {
        self.0.columns
    }

    pub(super) fn is_quantised(&self) -> bool {
        self.0.format.is_quantised()
    }
}

impl Llama {
    /// Finds all weights of the file. `tokens` is the size of the vocabulary.
    pub(crate) fn read(file: Gguf, tokens: usize) -> Result<Self> {
        let measures = Measures::read(&file.metadata)?;
        let Measures { width, hidden, heads, key_heads, head_size, .. } = measures;
        let find = Find(&file);
        let embedding = find.matrix("token_embd.weight", width, tokens)?;
        let output = match file.tensor("output.weight") {
            Some(_) => find.matrix("output.weight", width, tokens)?,
            None => find.matrix("token_embd.weight", width, tokens)?,
        };
        let mut layers = Vec::new();
        for index in 0..measures.layers {
            let name = |part: &str| format!("blk.{index}.{part}.weight");
            let biased = ["attn_q", "attn_k", "attn_v", "attn_output"];
            if biased.iter().any(|part| file.tensor(&format!("blk.{index}.{part}.bias")).is_some())
            {
                return Err(broken("its attention has biases, which this family has not"));
            }
            layers.push(Layer {
                attention_norm: find.vector(&name("attn_norm"), width)?,
                query: find.matrix(&name("attn_q"), width, heads * head_size)?,
                key: find.matrix(&name("attn_k"), width, key_heads * head_size)?,
                value: find.matrix(&name("attn_v"), width, key_heads * head_size)?,
                attention_out: find.matrix(&name("attn_output"), heads * head_size, width)?,
                hidden_norm: find.vector(&name("ffn_norm"), width)?,
                gate: find.matrix(&name("ffn_gate"), width, hidden)?,
                up: find.matrix(&name("ffn_up"), width, hidden)?,
                down: find.matrix(&name("ffn_down"), hidden, width)?,
            });
        }
        let norm = find.vector("output_norm.weight", width)?;
        let turns = find.turns(&measures)?;
        Ok(Self { measures, embedding, layers, norm, output, turns, file })
    }

    /// The measures of the model.
    pub(crate) fn measures(&self) -> &Measures {
        &self.measures
    }
}

struct Find<'a>(&'a Gguf);

impl Find<'_> {
    fn tensor(&self, name: &str, columns: usize, rows: usize) -> Result<&Tensor> {
        let Some(tensor) = self.0.tensor(name) else {
            return Err(broken(format_args!("the tensor {name:?} is missing")));
        };
        if (tensor.columns, tensor.rows) != (columns, rows) {
            return Err(broken(format_args!(
                "the tensor {name:?} is {} by {}, and {columns} by {rows} would fit",
                tensor.columns, tensor.rows
            )));
        }
        Ok(tensor)
    }

    fn matrix(&self, name: &str, columns: usize, rows: usize) -> Result<Matrix> {
        self.tensor(name, columns, rows).cloned().map(Matrix)
    }

    fn vector(&self, name: &str, size: usize) -> Result<Vec<f32>> {
        let tensor = self.tensor(name, size, 1)?;
        let mut numbers = vec![0.0; size];
        Rows::new(tensor.format, self.0.bytes(tensor), size).read(0, &mut numbers);
        Ok(numbers)
    }

    fn turns(&self, measures: &Measures) -> Result<Vec<f64>> {
        let pairs = measures.turned / 2;
        let factors = match self.0.tensor("rope_freqs.weight") {
            Some(_) => self.vector("rope_freqs.weight", pairs)?,
            None => vec![1.0; pairs],
        };
        let turn = |(pair, factor): (usize, &f32)| {
            let power = -2.0 * pair as f64 / measures.turned as f64;
            measures.turn_base.powf(power) * measures.turn_scale / f64::from(*factor)
        };
        Ok(factors.iter().enumerate().map(turn).collect())
    }
}

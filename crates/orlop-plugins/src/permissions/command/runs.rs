//! Programs that run other programs: what they run, as far as it can be seen.

use super::script::Word;

/// What a command runs beside itself.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// The commands it runs.
    pub(crate) inner: Vec<Inner>,
    /// What is to be thought of the command itself.
    pub(crate) itself: Itself,
    /// The word from which on it says what is run. A rule that ends in `*` does not reach it.
    pub(crate) code_at: Option<usize>,
}

/// A command inside of another one.
#[derive(Debug)]
pub(crate) enum Inner {
    /// As words.
    Words(Vec<Word>),
    /// As text for a shell.
    Code(String),
}

/// What is to be thought of a command that runs others.
#[derive(Debug, Default, PartialEq)]
pub(crate) enum Itself {
    /// It is judged like any other.
    #[default]
    Plain,
    /// It does nothing of its own.
    Through,
    /// What it runs cannot be seen, or gets more power.
    Opaque(&'static str),
}

/// Programs that run the words after their own options.
struct Wrapper {
    name: &'static str,
    /// Short options that take a value.
    valued: &'static [u8],
    /// Short options without one.
    flags: &'static [u8],
    /// Long options without a value.
    long: &'static [&'static str],
    /// Words before the command.
    skip: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper { name: "nohup", valued: b"", flags: b"", long: &[], skip: 0 },
    Wrapper { name: "nice", valued: b"n", flags: b"0123456789", long: &["--adjustment"], skip: 0 },
    Wrapper {
        name: "time",
        valued: b"f",
        flags: b"pv",
        long: &["--portability", "--verbose"],
        skip: 0,
    },
    Wrapper {
        name: "timeout",
        valued: b"ks",
        flags: b"fpv",
        long: &["--signal", "--kill-after", "--preserve-status", "--foreground", "--verbose"],
        skip: 1,
    },
    Wrapper {
        name: "stdbuf",
        valued: b"ioe",
        flags: b"",
        long: &["--input", "--output", "--error"],
        skip: 0,
    },
    Wrapper {
        name: "setsid",
        valued: b"",
        flags: b"cfw",
        long: &["--ctty", "--fork", "--wait"],
        skip: 0,
    },
    Wrapper {
        name: "ionice",
        valued: b"cn",
        flags: b"t",
        long: &["--class", "--classdata", "--ignore"],
        skip: 0,
    },
    Wrapper { name: "command", valued: b"", flags: b"p", long: &[], skip: 0 },
    Wrapper { name: "builtin", valued: b"", flags: b"", long: &[], skip: 0 },
    Wrapper { name: "exec", valued: b"a", flags: b"cl", long: &[], skip: 0 },
    Wrapper {
        name: "xargs",
        valued: b"nPLsdE",
        flags: b"0rtx",
        long: &[
            "--null",
            "--no-run-if-empty",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--delimiter",
            "--verbose",
            "--exit",
        ],
        skip: 0,
    },
];

const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "busybox", "fish", "csh", "tcsh", "pwsh"];
const RAISERS: &[&str] =
    &["sudo", "doas", "su", "pkexec", "run0", "chroot", "unshare", "nsenter", "setpriv", "runuser"];
/// Interpreters, and the options by which they take code.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("python", &["-c", "-m", "-"]),
    ("python2", &["-c", "-m", "-"]),
    ("python3", &["-c", "-m", "-"]),
    ("pypy3", &["-c", "-m", "-"]),
    ("node", &["-e", "--eval", "-p", "--print", "-r", "--require", "--import", "--loader", "-"]),
    ("deno", &["eval", "repl", "-"]),
    ("bun", &["-e", "--eval", "-p", "--print", "-"]),
    ("ruby", &["-e", "-r", "-"]),
    ("perl", &["-e", "-E", "-M", "-m", "-"]),
    ("php", &["-r", "-B", "-R", "-E", "-d", "-"]),
    ("lua", &["-e", "-l", "-"]),
    ("osascript", &["-e", "-"]),
    ("Rscript", &["-e"]),
    ("julia", &["-e", "-E"]),
    ("gdb", &["-ex", "-x", "--eval-command", "--command"]),
    ("vim", &["-c", "--cmd", "-S", "+"]),
    ("vi", &["-c", "--cmd", "-S", "+"]),
    ("nvim", &["-c", "--cmd", "-S", "+", "-l"]),
    ("emacs", &["--eval", "-eval", "-l", "--load", "-f", "--funcall", "--script"]),
    ("sqlite3", &["-cmd", "-init", "-A"]),
];
/// Options of other programs by which they run something.
const RUNNING_OPTIONS: &[(&str, &[&str])] = &[
    (
        "tar",
        &[
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
            "-I",
            "-F",
        ],
    ),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-o", "-S", "-F", "-J"]),
    ("sftp", &["-o", "-S", "-F", "-D"]),
    ("ssh", &["-o", "-F", "-J"]),
    ("sort", &["--compress-program"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("make", &["--eval", "-f", "--file", "--makefile", "-C", "--directory"]),
    ("cargo", &["--config", "-Z", "--manifest-path", "-C"]),
    ("go", &["-exec", "-toolexec", "--exec", "--toolexec", "-overlay", "-C", "-modfile"]),
    ("npm", &["--script-shell", "--node-options", "--prefix", "-C"]),
    ("pnpm", &["--script-shell", "--node-options", "--dir", "-C"]),
    ("man", &["-P", "--pager", "-H", "--html"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("split", &["--filter"]),
    ("curl", &["-K", "--config", "-o", "-O", "--output", "--remote-name", "--proto-default"]),
    ("wget", &["--use-askpass", "--config", "-e", "--execute"]),
    (
        "docker",
        &[
            "-v",
            "--volume",
            "--mount",
            "--privileged",
            "--pid",
            "--cap-add",
            "--device",
            "-H",
            "--host",
        ],
    ),
];

/// The name of a program without its folder.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// What the command of these words runs. `words[0]` is the program.
pub(crate) fn runs(words: &[Word]) -> Runs {
    let Some(program) = words.first().and_then(Word::fixed) else { return Runs::default() };
    let name = base_name(program);
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        return wrapped(wrapper, words);
    }
    let opaque = |why, code_at| Runs { itself: Itself::Opaque(why), code_at, ..Runs::default() };
    match name {
        "env" => return env(words),
        "find" => return find(words),
        "eval" => return evaluated(words),
        "." | "source" | "trap" | "alias" | "parallel" | "watch" | "entr" | "script" | "flock"
        | "nix-shell" | "tmux" | "screen" | "at" | "batch" | "crontab" | "strace" | "ltrace"
        | "taskset" | "chrt" | "unbuffer" | "caffeinate" | "systemd-run" | "start-stop-daemon" => {
            return opaque("what it runs cannot be seen", Some(1));
        }
        "ssh" => return opaque("it runs something on another machine", Some(1)),
        _ if RAISERS.contains(&name) => return raised(words),
        _ if SHELLS.contains(&name) => return shell(name, words),
        _ => {}
    }
    let interpreter = INTERPRETERS.iter().find(|(known, _)| {
        *known == name || name.strip_prefix("python3.").is_some_and(|_| *known == "python3")
    });
    if let [_, one] = words
        && interpreter.is_some()
        && matches!(one.fixed(), Some("--version" | "-V"))
    {
        return Runs::default();
    }
    if let Some((_, options)) = interpreter {
        let code_at = options_at(words, options);
        let has_file = words[1..].iter().any(|word| !word.text.starts_with('-'));
        // Without a file the code comes from its input.
        let code_at = if has_file { code_at } else { Some(code_at.unwrap_or(words.len())) };
        return opaque("it runs code", code_at);
    }
    if matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "sed" | "gsed") {
        return Runs { code_at: Some(1), ..Runs::default() };
    }
    let options = RUNNING_OPTIONS.iter().find(|(known, _)| *known == name);
    let code_at = options.and_then(|(_, options)| options_at(words, options));
    let code_at = if name == "git" { super::git::code_at(words) } else { code_at };
    Runs { code_at, ..Runs::default() }
}

/// The last word that is one of these options: whole, with a value, shortened, or among other
/// short ones.
pub(crate) fn options_at(words: &[Word], options: &[&str]) -> Option<usize> {
    words.iter().rposition(|word| options.iter().any(|option| is_option(&word.text, option)))
}

/// Whether a word may be read as an option by its program.
pub(crate) fn is_option(word: &str, option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        let Some(given) = word.strip_prefix("--") else { return false };
        let given = given.split('=').next().unwrap_or_default();
        // Programs take a long option for its beginning, too.
        return !given.is_empty() && long.starts_with(given);
    }
    if word == option {
        return true;
    }
    match option.as_bytes() {
        [b'-', letter] => {
            let is_short = word.starts_with('-') && !word.starts_with("--");
            is_short && word.as_bytes().contains(letter)
        }
        [b'+'] => word.starts_with('+'),
        [b'-', ..] => word.starts_with(option),
        _ => false,
    }
}

fn wrapped(wrapper: &Wrapper, words: &[Word]) -> Runs {
    let unclear = |at| Runs {
        itself: Itself::Opaque("one of its options is not known"),
        code_at: Some(at),
        ..Runs::default()
    };
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some(text) = word.fixed() else { return unclear(at) };
        if !text.starts_with('-') || text == "-" {
            break;
        }
        at += 1;
        if text == "--" {
            break;
        }
        if wrapper.name == "command" && matches!(text, "-v" | "-V") {
            return Runs::default();
        }
        let is_known_long = text.starts_with("--") && {
            let name = text.split('=').next().unwrap_or_default();
            wrapper.long.contains(&name)
        };
        if is_known_long {
            // Written apart, a value would be taken for the command; that is asked about.
            let takes_value = !matches!(
                text,
                "--preserve-status"
                    | "--foreground"
                    | "--verbose"
                    | "--portability"
                    | "--ctty"
                    | "--fork"
                    | "--wait"
                    | "--ignore"
                    | "--null"
                    | "--no-run-if-empty"
                    | "--exit"
            );
            if takes_value && !text.contains('=') {
                return unclear(at - 1);
            }
            continue;
        }
        let letters = text.as_bytes().get(1..).unwrap_or_default();
        match letters.iter().position(|letter| !wrapper.flags.contains(letter)) {
            None if !text.starts_with("--") => {}
            Some(valued) if wrapper.valued.contains(&letters[valued]) => {
                at += usize::from(valued + 1 == letters.len());
            }
            _ => return unclear(at - 1),
        }
    }
    at += wrapper.skip;
    let mut inner: Vec<Word> = words.get(at..).unwrap_or_default().to_vec();
    let is_empty = inner.is_empty();
    if wrapper.name == "xargs" {
        if is_empty {
            return Runs { itself: Itself::Through, ..Runs::default() };
        }
        // What comes in from the pipe.
        inner.push(Word::unknown());
    }
    let inner = if is_empty { Vec::new() } else { vec![Inner::Words(inner)] };
    Runs { inner, itself: Itself::Through, code_at: Some(at) }
}

/// `env`, with what it sets. Without a command it shows the environment, keys and all.
fn env(words: &[Word]) -> Runs {
    let opaque =
        |why, at| Runs { itself: Itself::Opaque(why), code_at: Some(at), ..Runs::default() };
    let mut at = 1;
    let mut sets = false;
    while let Some(text) = words.get(at).and_then(Word::fixed) {
        match text {
            "-i" | "-" | "--ignore-environment" => {}
            "-u" | "--unset" => at += 1,
            _ if text.starts_with("--unset=") => {}
            _ if text.starts_with('-') => return opaque("one of its options is not known", at),
            _ if text.contains('=') => {
                let (name, value) = text.split_once('=').unwrap_or_default();
                sets |= !super::variables::is_harmless(name, value);
            }
            _ => break,
        }
        at += 1;
    }
    let rest = words.get(at..).unwrap_or_default();
    if rest.is_empty() {
        return opaque("it shows the environment", 1);
    }
    let itself = match sets {
        true => Itself::Opaque("it sets variables that change what programs do"),
        false => Itself::Through,
    };
    Runs { inner: vec![Inner::Words(rest.to_vec())], itself, code_at: Some(at) }
}

fn raised(words: &[Word]) -> Runs {
    let is_plain = |word: &&Word| {
        let text = word.text.as_str();
        word.fixed().is_some() && !text.starts_with('-') && !text.contains('=')
    };
    // Options may have values, so every word may be the first of what is run.
    let starts: Vec<usize> = (1..words.len()).filter(|at| is_plain(&&words[*at])).take(4).collect();
    let inner = starts.iter().map(|at| Inner::Words(words[*at..].to_vec())).collect();
    let itself = Itself::Opaque("it runs something with other rights");
    Runs { inner, itself, code_at: Some(starts.first().copied().unwrap_or(1)) }
}

fn shell(name: &str, words: &[Word]) -> Runs {
    let opaque =
        |why, at| Runs { itself: Itself::Opaque(why), code_at: Some(at), ..Runs::default() };
    if name == "busybox" {
        let inner = words.get(1..).filter(|rest| !rest.is_empty());
        let inner = inner.map(|rest| Inner::Words(rest.to_vec())).into_iter().collect();
        return Runs {
            inner,
            itself: Itself::Opaque("what it runs is not looked into"),
            code_at: Some(1),
        };
    }
    let mut at = 1;
    let mut wants_code = false;
    let mut code_at = None;
    while let Some(word) = words.get(at) {
        let Some(text) = word.fixed() else {
            return opaque("its code is not known before it runs", at);
        };
        match text {
            "--login" | "--norc" | "--noprofile" | "--posix" => {}
            _ if text.starts_with("--") => return opaque("one of its options is not known", at),
            _ if text.starts_with('-') && text.len() > 1 => {
                if !text[1..].bytes().all(|letter| b"celuxvnf".contains(&letter)) {
                    return opaque("one of its options is not known", at);
                }
                if text[1..].contains('c') {
                    wants_code = true;
                    code_at.get_or_insert(at);
                }
            }
            _ if wants_code && matches!(name, "fish" | "csh" | "tcsh" | "pwsh") => {
                let inner = vec![Inner::Code(text.to_owned())];
                let itself = Itself::Opaque("it runs code of another shell");
                return Runs { inner, itself, code_at };
            }
            _ if wants_code => {
                let inner = vec![Inner::Code(text.to_owned())];
                return Runs { inner, itself: Itself::Through, code_at };
            }
            _ => return opaque("it runs a script", at),
        }
        at += 1;
    }
    opaque("it runs what it reads from its input", words.len())
}

fn evaluated(words: &[Word]) -> Runs {
    let texts: Option<Vec<&str>> = words[1..].iter().map(Word::fixed).collect();
    match texts {
        Some(texts) => Runs {
            inner: vec![Inner::Code(texts.join(" "))],
            itself: Itself::Through,
            code_at: Some(1),
        },
        None => Runs {
            itself: Itself::Opaque("its code is not known before it runs"),
            code_at: Some(1),
            ..Runs::default()
        },
    }
}

fn find(words: &[Word]) -> Runs {
    let mut inner = Vec::new();
    let mut first = None;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        if !matches!(&*word.text, "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        first.get_or_insert(at - 1);
        let rest = &words[at..];
        let ends = |at: usize| match &*rest[at].text {
            ";" => true,
            "+" => at > 0 && rest[at - 1].text == "{}",
            _ => false,
        };
        let end = (0..rest.len()).find(|at| ends(*at)).unwrap_or(rest.len());
        let replaced = |word: &Word| match word.text.contains("{}") {
            true => Word::unknown(),
            false => word.clone(),
        };
        inner.push(Inner::Words(rest[..end].iter().map(replaced).collect()));
        at += end;
    }
    Runs { inner, itself: Itself::Plain, code_at: first }
}

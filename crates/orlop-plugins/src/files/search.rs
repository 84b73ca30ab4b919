//! `search_files`: where a regular expression matches.

use super::call::Call;
use super::find::glob;
use super::place::Place;
use super::walk::{footer, walk};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use orlop_core::types::ToolReport;
use orlop_core::{Error, Result};
use serde::Deserialize;
use std::io::{self, Read};
use std::path::Path;

/// How many lines are given if the model does not say, and at most.
const LINES: usize = 200;
const MAX_LINES: usize = 2_000;

/// How much of a line and of all lines is given.
const MAX_LINE: usize = 400;
const MAX_TEXT: usize = 64 * 1024;

const MAX_CONTEXT: u64 = 20;

/// How much memory one line, or one match over several lines, may take.
const MAX_HEAP: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Output {
    #[default]
    Content,
    Files,
    Count,
}

#[derive(Deserialize)]
pub(super) struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    output: Option<Output>,
    context: Option<u64>,
    ignore_case: Option<bool>,
    literal: Option<bool>,
    multiline: Option<bool>,
    ignored: Option<bool>,
    limit: Option<u64>,
}

pub(super) fn search_files(
    call: &Call,
    arguments: &Arguments,
    progress: &dyn Fn(usize, usize),
) -> Result<ToolReport> {
    let real = call.path(arguments.path.as_deref().unwrap_or("."))?;
    let matcher = matcher(arguments)?;
    let mut search = Search::new(call, arguments, &matcher);
    let meta = std::fs::symlink_metadata(&real)
        .map_err(|error| super::place::told("search", &real, error))?;
    let mut notes = Vec::new();
    if meta.is_dir() {
        let wanted = arguments.glob.as_deref().map(|pattern| glob(&real, pattern)).transpose()?;
        let with_ignored = arguments.ignored == Some(true);
        let matches = std::cell::Cell::new(0);
        let told = |entries: usize| progress(entries, matches.get());
        let walked = walk(call, &real, with_ignored, None, &told, |entry| {
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let fits = wanted
                .as_ref()
                .is_none_or(|wanted| wanted.matched(entry.path(), false).is_whitelist());
            if is_file && fits {
                search.file(entry.path());
                matches.set(search.matches);
            }
            !search.is_full()
        })?;
        walked.notes(&mut notes);
    } else {
        // One that was named is searched, or it is said why not.
        drop(Place::of(&real)?.open()?);
        search.file(&real);
    }
    call.go_on()?;
    Ok(ToolReport::ok(search.told(notes)))
}

fn matcher(arguments: &Arguments) -> Result<RegexMatcher> {
    let multiline = arguments.multiline == Some(true);
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(arguments.ignore_case == Some(true))
        .fixed_strings(arguments.literal == Some(true))
        .multi_line(true)
        .dot_matches_new_line(false);
    if !multiline {
        builder.crlf(true);
    }
    if arguments.pattern.is_empty() {
        return Err(Error::bad_argument(
            "the pattern is empty; give a text or a regular expression",
        ));
    }
    builder.build(&arguments.pattern).map_err(|error| {
        let hint = match arguments.literal {
            Some(true) => "",
            _ => "; to look for the text as it is, set literal",
        };
        let lines = if multiline { "" } else { "; to match over line ends, set multiline" };
        Error::bad_argument(format!("the pattern cannot be used: {error}{hint}{lines}"))
    })
}

/// What was found so far.
struct Search<'a> {
    call: &'a Call,
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    output: Output,
    limit: usize,
    text: String,
    /// Matching lines that are shown, and all that were counted.
    shown: usize,
    matches: usize,
    files: usize,
    searched: usize,
    binary: usize,
    unread: usize,
    long: bool,
}

impl<'a> Search<'a> {
    fn new(call: &'a Call, arguments: &Arguments, matcher: &'a RegexMatcher) -> Self {
        let context = arguments.context.unwrap_or(0).min(MAX_CONTEXT) as usize;
        let multiline = arguments.multiline == Some(true);
        let mut builder = SearcherBuilder::new();
        if !multiline {
            builder.line_terminator(LineTerminator::crlf());
        }
        let searcher = builder
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .multi_line(multiline)
            .heap_limit(Some(MAX_HEAP))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let limit = arguments.limit.map_or(LINES, |limit| limit as usize).clamp(1, MAX_LINES);
        Self {
            call,
            matcher,
            searcher,
            output: arguments.output.unwrap_or_default(),
            limit,
            text: String::new(),
            shown: 0,
            matches: 0,
            files: 0,
            searched: 0,
            binary: 0,
            unread: 0,
            long: false,
        }
    }

    fn is_full(&self) -> bool {
        self.shown >= self.limit || self.text.len() >= MAX_TEXT
    }

    fn file(&mut self, path: &Path) {
        let Ok(Some(opened)) = Place::of(path).and_then(|place| place.open()) else {
            self.unread += 1;
            return;
        };
        self.searched += 1;
        let reader = Guarded { file: opened.file, call: self.call };
        let room = self.limit - self.shown;
        let (matcher, output) = (self.matcher, self.output);
        let mut found = Found { output, room, ..Found::default() };
        let done = self.searcher.search_reader(matcher, reader, &mut found);
        self.unread += usize::from(done.is_err());
        self.binary += usize::from(found.binary);
        // What stands before the first zero byte may look like text, but the file is none.
        if found.matches == 0 || found.binary {
            return;
        }
        self.files += 1;
        self.matches += found.matches;
        self.long |= found.long;
        let name = self.call.shown(path);
        match self.output {
            Output::Content => {
                self.shown += found.matches;
                if !self.text.is_empty() {
                    self.text.push('\n');
                }
                self.text.push_str(&format!("{name}\n{}", found.text));
            }
            Output::Files => {
                self.shown += 1;
                self.text.push_str(&format!("{name}\n"));
            }
            Output::Count => {
                self.shown += 1;
                self.text.push_str(&format!("{name}: {}\n", found.matches));
            }
        }
    }

    /// All of it for the model.
    fn told(mut self, more: Vec<String>) -> String {
        let mut notes = Vec::new();
        if self.matches == 0 {
            self.text = "nothing matches\n".to_owned();
            notes.push(format!("{} files searched", self.searched));
        } else {
            let lines = if self.matches == 1 { "line" } else { "lines" };
            let files = if self.files == 1 { "file" } else { "files" };
            let matches = match self.output {
                Output::Files => format!("{} {files} of {} searched", self.files, self.searched),
                _ => format!(
                    "{} matching {lines} in {} {files} of {} searched",
                    self.matches, self.files, self.searched
                ),
            };
            notes.push(matches);
        }
        if self.is_full() {
            notes.push("stopped there; there may be more: narrow the pattern, the path or the glob, or raise limit".to_owned());
        }
        if self.binary > 0 {
            notes.push(format!("{} binary files skipped", self.binary));
        }
        if self.unread > 0 {
            notes.push(format!("{} files could not be searched to their end", self.unread));
        }
        if self.long {
            notes.push(format!("long lines were cut after {MAX_LINE} bytes"));
        }
        notes.extend(more);
        if self.call.is_over() && notes.iter().all(|note| !note.contains("stopped early")) {
            notes.push("stopped early: it took more than 30 seconds".to_owned());
        }
        self.text.push_str(&footer(&notes));
        self.text
    }
}

/// What one file has.
#[derive(Default)]
struct Found {
    output: Output,
    room: usize,
    text: String,
    matches: usize,
    binary: bool,
    long: bool,
}

impl Found {
    fn line(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        let number = number.unwrap_or(0);
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let line = String::from_utf8_lossy(line);
            let line = line.trim_end_matches(['\n', '\r']);
            let end = line.floor_char_boundary(MAX_LINE);
            self.long |= end < line.len();
            let dots = if end < line.len() { " ..." } else { "" };
            self.text.push_str(&format!(
                "{}{mark} {}{dots}\n",
                number + index as u64,
                &line[..end]
            ));
        }
    }

    fn goes_on(&self) -> bool {
        match self.output {
            Output::Content => self.matches < self.room && self.text.len() < MAX_TEXT,
            Output::Files => false,
            Output::Count => true,
        }
    }
}

impl Sink for Found {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        if self.output == Output::Content {
            self.line(found.line_number(), ':', found.bytes());
        }
        Ok(self.goes_on())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.output == Output::Content {
            self.line(context.line_number(), '-', context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.output == Output::Content {
            self.text.push_str("--\n");
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A file whose reading ends when the time of the call is over.
struct Guarded<'a> {
    file: std::fs::File,
    call: &'a Call,
}

impl Read for Guarded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.call.is_over() {
            return Err(io::Error::other("the time is over"));
        }
        self.file.read(buffer)
    }
}

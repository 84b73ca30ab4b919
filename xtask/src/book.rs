//! `cargo xtask book`: whether the pages of `docs/` make a book: every page stands in `SUMMARY.md`,
//! and every link of a page leads to a file that is there, and to a heading that is in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use crate::workspace::Workspace;

const PAGES: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";
/// Pages that are read where they lie, and are no part of the book.
const BESIDE: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    if !arguments.is_empty() {
        return Err(crate::unknown_arguments("book", arguments));
    }
    check(workspace)?;
    Ok(ExitCode::SUCCESS)
}

/// Fails with a line for each page that is missing and each link that leads nowhere.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let root = workspace.root();
    let mut pages = Vec::new();
    find_pages(&root.join(PAGES), &mut pages)?;
    let mut problems = missing(root, &pages)?;
    pages.extend(BESIDE.iter().map(|name| root.join(name)));
    for page in &pages {
        problems.extend(broken_links(root, page)?);
    }
    if problems.is_empty() {
        println!("{} pages, every one in the book, every link leads somewhere", pages.len());
        return Ok(());
    }
    Err(format!("the book is not whole:\n  {}", problems.join("\n  ")))
}

fn find_pages(folder: &Path, pages: &mut Vec<PathBuf>) -> Result<(), String> {
    let told = |error| format!("{}: {error}", folder.display());
    let mut entries =
        fs::read_dir(folder).map_err(told)?.flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            find_pages(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    Ok(())
}

/// Pages that the summary does not name, and those it names twice.
fn missing(root: &Path, pages: &[PathBuf]) -> Result<Vec<String>, String> {
    let summary = root.join(SUMMARY);
    let text = read(&summary)?;
    let mut named = BTreeSet::new();
    let mut problems = Vec::new();
    for link in links_of(&text) {
        if !named.insert(resolved(&summary, &link)) {
            problems.push(format!("{SUMMARY} names {link} twice"));
        }
    }
    let left_out = pages.iter().filter(|page| **page != summary && !named.contains(*page));
    problems
        .extend(left_out.map(|page| {
            format!("{} is not in {SUMMARY}; give it a line there", shown(root, page))
        }));
    Ok(problems)
}

fn broken_links(root: &Path, page: &Path) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for link in links_of(&read(page)?) {
        let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
        let target = if path.is_empty() { page.to_owned() } else { resolved(page, path) };
        let told = |what: &str| format!("{}: {link}: {what}", shown(root, page));
        if !target.exists() {
            problems.push(told("there is no such file"));
        } else if !heading.is_empty() && target.extension().is_some_and(|end| end == "md") {
            let headings = headings_of(&read(&target)?);
            if !headings.contains(heading) {
                problems.push(told("there is no such heading"));
            }
        }
    }
    Ok(problems)
}

/// Where a link of a page leads, without `..` in it.
fn resolved(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(page).to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// The links of a page to files beside it: of Markdown, and of pictures for two themes.
fn links_of(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(text) {
        for before in ["](", "src=\"", "srcset=\"", "href=\""] {
            let end = if before == "](" { ')' } else { '"' };
            let found = line.split(before).skip(1);
            links.extend(found.filter_map(|rest| Some(rest.split_once(end)?.0.to_owned())));
        }
    }
    let elsewhere = |link: &String| link.contains("://") || link.starts_with("mailto:");
    links.retain(|link| !elsewhere(link) && !link.is_empty());
    links
}

/// What a page can be linked to by: its headings, as GitHub and mdBook name them.
fn headings_of(text: &str) -> BTreeSet<String> {
    let mut held = BTreeSet::new();
    for line in text_lines(text).filter(|line| line.starts_with('#')) {
        let name = anchor(line.trim_start_matches('#').trim());
        // The second heading of a name gets a number.
        let number = (1..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(number).find(|name| !held.contains(name));
        held.extend(free);
    }
    held
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines outside of code blocks.
fn text_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    text.lines().filter(move |line| {
        let mark = line.trim_start();
        let ticks = &mark[..mark.len() - mark.trim_start_matches('`').len()];
        match fence {
            Some(open) if ticks.len() >= open.len() => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => return true,
        }
        false
    })
}

/// The lines outside of code, also within a line.
fn prose(text: &str) -> impl Iterator<Item = String> {
    text_lines(text).map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join("`"))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn shown(root: &Path, page: &Path) -> String {
    page.strip_prefix(root).unwrap_or(page).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_those_to_files_and_headings_outside_of_code() {
        let page = "See [a](a.md#x), `[no](b.md)` and [far](https://example.test).\n```\n[no](c.md)\n```\n<img src=\"p.png\"> [`code`](d.md)\n";
        assert_eq!(links_of(page), ["a.md#x", "d.md", "p.png"]);
    }

    #[test]
    fn headings_are_named_as_readers_of_markdown_name_them() {
        let page = "# What's `new` in 2.0?\n```sh\n# no heading\n```\n## Links to read by\n## Links to read by\n";
        let names = headings_of(page);
        let expected = ["links-to-read-by", "links-to-read-by-1", "whats-new-in-20"];
        assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_page_that_is_left_out_and_links_that_lead_nowhere_are_told() {
        let folder = std::env::temp_dir().join(format!("orlop-book-{}", std::process::id()));
        let root = folder.as_path();
        fs::create_dir_all(root.join("docs/deep")).unwrap();
        for (name, text) in [
            (SUMMARY, "- [A](a.md)\n- [A](a.md)\n"),
            ("docs/a.md", "# A\n[b](deep/b.md#the-end) [gone](gone.md) [up](../README.md)\n"),
            ("docs/deep/b.md", "# B\n[a](../a.md#a)\n"),
            ("README.md", "# Top\n"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        let mut pages = Vec::new();
        find_pages(&root.join(PAGES), &mut pages).unwrap();
        assert_eq!(
            missing(root, &pages).unwrap(),
            [
                "docs/SUMMARY.md names a.md twice",
                "docs/deep/b.md is not in docs/SUMMARY.md; give it a line there"
            ]
        );
        assert_eq!(
            broken_links(root, &root.join("docs/a.md")).unwrap(),
            [
                "docs/a.md: deep/b.md#the-end: there is no such heading",
                "docs/a.md: gone.md: there is no such file"
            ]
        );
        assert!(broken_links(root, &root.join("docs/deep/b.md")).unwrap().is_empty());
        fs::remove_dir_all(root).unwrap();
    }
}

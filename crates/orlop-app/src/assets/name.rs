//! Names of attachments, for showing.

use crate::ui::plain_line;

/// The longest name that is kept, in bytes.
const MOST: usize = 255;

/// The name as it can be shown: on one line, without folders before it and without anything a
/// terminal would act on. A name of which nothing is left is `file`.
///
/// ```
/// use orlop_app::assets::clean_name;
/// assert_eq!(clean_name("C:\\Users\\ana\\report.pdf"), "report.pdf");
/// assert_eq!(clean_name("../.."), "file");
/// ```
pub fn clean_name(name: &str) -> String {
    let line = plain_line(name);
    let is_name =
        |part: &&str| !part.trim_matches(|c: char| c == '.' || c.is_whitespace()).is_empty();
    let part = line.split(['/', '\\']).rfind(is_name).unwrap_or("file").trim();
    let end = part.floor_char_boundary(MOST);
    part.get(..end).unwrap_or(part).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // I-32
    fn hostile_names_become_plain_ones() {
        let names = [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("/etc/cron.d/", "cron.d"),
            ("..\\..\\boot.ini", "boot.ini"),
            ("a\0b\n\u{1b}[31mc", "ab c"),
            ("photo\u{202e}gpj.exe", "photogpj.exe"),
            ("", "file"),
            (" . ", "file"),
            ("..", "file"),
            ("///", "file"),
            (".bashrc", ".bashrc"),
            ("größe 👋.txt", "größe 👋.txt"),
        ];
        for (name, clean) in names {
            assert_eq!(clean_name(name), clean, "{name:?}");
        }
    }

    #[test] // I-32
    fn long_names_are_cut_between_characters() {
        assert_eq!(clean_name(&"a".repeat(1000)).len(), 255);
        let cut = clean_name(&"é".repeat(1000));
        assert_eq!((cut.len(), cut.chars().count()), (254, 127));
        assert_eq!(clean_name(&"👋".repeat(64)).len(), 252);
    }
}

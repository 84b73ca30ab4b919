//! Words and merges by hand; the tokens of a real vocabulary are compared in `reference`.

use super::merge::{highest_first, merge};
use super::split::Splitter;
use expect_test::{Expect, expect};

fn check(name: &str, text: &str, expected: Expect) {
    let words = Splitter::named(name).unwrap().words(text).join("|");
    expected.assert_eq(&words.replace('\n', "\\n"));
}

#[test]
fn white_space_leaves_its_last_character_to_the_word() {
    let text = "It's  1234 km\n\n  away ...  ";
    check("gpt-2", text, expect![[r#"It|'s| | 1234| km|\n\n | away| ...|  "#]]);
    check("smollm", text, expect![[r#"It|'s|  |1|2|3|4| km|\n\n | away| ...|  "#]]);
    check("llama-bpe", text, expect![[r#"It|'s| | |123|4| km|\n\n| | away| ...|  "#]]);
    check("qwen2", text, expect![[r#"It|'s| | |1|2|3|4| km|\n\n| | away| ...|  "#]]);
}

#[test]
fn capitals_after_an_apostrophe_belong_to_llama_only() {
    check("gpt-2", "DON'T", expect!["DON|'|T"]);
    check("llama-bpe", "DON'T", expect!["DON|'T"]);
}

#[test]
fn the_lowest_rank_is_merged_first_and_the_left_of_equals() {
    // 1 1 becomes 2 with rank 5; 2 1 becomes 3 with rank 1.
    let pair = |a, b| match (a, b) {
        (1, 1) => Some((5, 2)),
        (2, 1) => Some((1, 3)),
        _ => None,
    };
    assert_eq!(merge(vec![1, 1, 1, 1, 9], pair), [3, 1, 9]);
    assert!(merge(Vec::new(), pair).is_empty());
    assert_eq!(merge(vec![9], pair), [9]);
}

#[test]
fn a_word_of_a_megabyte_is_merged_without_delay() {
    let pair = |a: u32, b: u32| (a == b).then_some((a, a + 1));
    assert_eq!(merge(vec![0; 1 << 20], pair), [20]);
}

#[test]
fn ranks_of_scores_go_down_as_scores_go_up() {
    let ranks = [3.0, 0.5, 0.0, -0.5, -1e9].map(highest_first);
    assert!(ranks.is_sorted(), "{ranks:?}");
}

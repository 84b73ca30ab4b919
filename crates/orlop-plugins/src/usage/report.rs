//! What was counted, for people.

use super::ledger::{Days, Named, OfSession};
use super::tally::Tally;
use std::fmt::Write;

/// A table in markdown: the session, today, and all days that are remembered.
pub(super) fn report(session: Option<&OfSession>, days: &Days, today: &str) -> String {
    let mut rows: Vec<(String, Tally)> = Vec::new();
    if let Some(session) = session {
        rows.push(("this session".to_owned(), session.total));
        rows.push(("its last request".to_owned(), session.turn.total));
        named(&mut rows, "its plugin", &session.plugins);
    }
    let mut all = Tally::default();
    days.days.values().for_each(|day| all.add(&day.total));
    rows.push(("today".to_owned(), days.on(today)));
    if let Some(day) = days.days.get(today) {
        named(&mut rows, "today, agent", &day.agents);
        named(&mut rows, "today, model", &day.models);
        named(&mut rows, "today, plugin", &day.plugins);
    }
    // One that says the same as today's says nothing.
    match days.days.len() {
        0 => {}
        1 if days.days.contains_key(today) => {}
        1 => rows.push(("1 day".to_owned(), all)),
        count => rows.push((format!("{count} days"), all)),
    }
    let mut table = "| | calls | read | cached | written | cost |\n| --- | ---: | ---: | ---: | ---: | ---: |\n".to_owned();
    for (name, tally) in rows {
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} |",
            name.replace('|', "/"),
            calls(&tally),
            grouped(tally.input_tokens),
            grouped(tally.cache_read_tokens),
            grouped(tally.output_tokens),
            cost(&tally),
        );
    }
    table
}

fn named(rows: &mut Vec<(String, Tally)>, what: &str, tallies: &Named) {
    rows.extend(tallies.iter().map(|(name, tally)| (format!("{what} {name}"), *tally)));
}

/// One line about a sum.
pub(super) fn line(tally: &Tally) -> String {
    format!(
        "{} calls{}, {} tokens read, {} written, {}",
        grouped(tally.requests),
        uncounted(tally),
        grouped(tally.input_tokens),
        grouped(tally.output_tokens),
        cost(tally)
    )
}

/// How many calls there were, and of how many nobody knows the tokens.
fn calls(tally: &Tally) -> String {
    format!("{}{}", grouped(tally.requests), uncounted(tally))
}

fn uncounted(tally: &Tally) -> String {
    match tally.uncounted {
        0 => String::new(),
        some => format!(" ({} without token counts)", grouped(some)),
    }
}

/// The cost, and whether some of it is not known.
fn cost(tally: &Tally) -> String {
    match tally.unpriced {
        0 => dollars(tally.cost),
        all if all == tally.requests => "price not known".to_owned(),
        some => {
            format!("{} and {} calls without a known price", dollars(tally.cost), grouped(some))
        }
    }
}

pub(super) fn dollars(amount: f64) -> String {
    match amount {
        small if small > 0.0 && small < 0.01 => format!("${small:.5}"),
        amount => format!("${amount:.2}"),
    }
}

/// A number with commas.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.0, 0.00042, 0.5, 12.345].map(dollars),
            ["$0.00", "$0.00042", "$0.50", "$12.35"]
        );
    }
}

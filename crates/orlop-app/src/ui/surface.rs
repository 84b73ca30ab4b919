//! Where displays go: the one policy for all front ends, and the displays that are on screen.

use super::display::{Display, Presentation};
use serde::Serialize;

/// Where an action was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// The list of sessions.
    SessionList,
    /// A button of a session.
    SessionAction,
    /// A button of a message.
    MessageAction,
    /// A command in a terminal.
    Terminal,
}

/// What a surface does with a display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Among the messages.
    Inline,
    /// Above everything.
    Banner,
    /// In front of everything.
    Modal,
    /// Written once; what is written stays.
    Print,
}

impl Surface {
    /// The surface that a `ui_type` names, if it names one of actions.
    pub fn of_element(ui_type: &str) -> Option<Self> {
        match ui_type {
            "session_list_action" => Some(Self::SessionList),
            "session_action" => Some(Self::SessionAction),
            "message_action" => Some(Self::MessageAction),
            _ => None,
        }
    }

    /// Where a display with this hint goes; `None` if the surface shows none.
    pub fn place(self, hint: Presentation) -> Option<Placement> {
        match (self, hint) {
            (Self::SessionList, _) => None,
            (Self::SessionAction, _) => Some(Placement::Inline),
            (Self::MessageAction, Presentation::Inline) => Some(Placement::Inline),
            (Self::MessageAction, Presentation::Banner) => Some(Placement::Banner),
            (Self::MessageAction, Presentation::Modal) => Some(Placement::Modal),
            (Self::Terminal, _) => Some(Placement::Print),
        }
    }
}

/// The displays on screen, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Displays {
    shown: Vec<Shown>,
    last: u64,
}

/// A display on screen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// Names the place on screen; an update keeps it.
    pub number: u64,
    /// Where it is.
    pub placement: Placement,
    /// What is shown.
    pub display: Display,
}

impl Displays {
    /// What is on screen.
    pub fn shown(&self) -> &[Shown] {
        &self.shown
    }

    /// Shows a display as the policy of `surface` says. An inline display or banner with the same
    /// `display_id` is replaced where it stands. Gives the number it is shown under.
    pub fn show(&mut self, surface: Surface, display: Display) -> Option<u64> {
        let placement = surface.place(display.presentation)?;
        let number = match self.with_same_id(&display) {
            Some(number) => number,
            None => {
                self.last += 1;
                self.last
            }
        };
        self.put(Shown { number, placement, display });
        Some(number)
    }

    /// Takes a display away for the user; `false` if it is not there or must stay.
    pub fn dismiss(&mut self, number: u64) -> bool {
        let before = self.shown.len();
        self.shown.retain(|shown| shown.number != number || !shown.display.dismissible);
        self.shown.len() < before
    }

    /// Shows what a follow-up action of the display `number` answered. Unless the follow-up
    /// preserves it, that display is replaced by the answer's, or closed if there is none.
    pub fn follow_up(
        &mut self,
        number: u64,
        preserve: bool,
        surface: Surface,
        display: Option<Display>,
    ) -> Option<u64> {
        let display = display.and_then(|display| {
            surface.place(display.presentation).map(|placement| (placement, display))
        });
        if preserve {
            return display.and_then(|(_, display)| self.show(surface, display));
        }
        let held = self.shown.iter().any(|shown| shown.number == number);
        match display {
            Some((placement, display))
                if held && self.with_same_id(&display).is_none_or(|other| other == number) =>
            {
                self.put(Shown { number, placement, display });
                Some(number)
            }
            other => {
                self.shown.retain(|shown| shown.number != number);
                other.and_then(|(_, display)| self.show(surface, display))
            }
        }
    }

    fn with_same_id(&self, display: &Display) -> Option<u64> {
        let id = display.display_id.as_ref()?;
        let stays = |shown: &&Shown| {
            matches!(shown.placement, Placement::Inline | Placement::Banner)
                && shown.display.display_id.as_ref() == Some(id)
        };
        self.shown.iter().find(stays).map(|shown| shown.number)
    }

    fn put(&mut self, new: Shown) {
        match self.shown.iter_mut().find(|shown| shown.number == new.number) {
            Some(shown) => *shown = new,
            None => self.shown.push(new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn display(body: &str, id: Option<&str>, presentation: &str) -> Display {
        Display::from_value(
            &json!({ "body": body, "display_id": id, "presentation": presentation }),
        )
        .unwrap()
    }

    fn check(displays: &Displays, expected: Expect) {
        let line = |shown: &Shown| {
            format!("{} {:?} {}\n", shown.number, shown.placement, shown.display.body)
        };
        expected.assert_eq(&displays.shown().iter().map(line).collect::<String>());
    }

    #[test] // K-13, K-14, K-15, J-18, G-29
    fn one_table_says_where_displays_go() {
        use Surface::*;
        let hints = [Presentation::Inline, Presentation::Banner, Presentation::Modal];
        let row = |surface: Surface| {
            let cells = hints.map(|hint| format!("{:?}", surface.place(hint)));
            format!("{surface:?}: {}\n", cells.join(", "))
        };
        let table: String = [SessionList, SessionAction, MessageAction, Terminal].map(row).concat();
        expect![[r#"
            SessionList: None, None, None
            SessionAction: Some(Inline), Some(Inline), Some(Inline)
            MessageAction: Some(Inline), Some(Banner), Some(Modal)
            Terminal: Some(Print), Some(Print), Some(Print)
        "#]]
        .assert_eq(&table);
    }

    #[test] // G-27
    fn a_display_with_the_same_id_is_replaced_where_it_stands() {
        let mut displays = Displays::default();
        let surface = Surface::MessageAction;
        let first = displays.show(surface, display("code A", Some("login"), "inline"));
        displays.show(surface, display("other", None, "inline"));
        displays.show(surface, display("another", None, "inline"));
        let second = displays.show(surface, display("code B", Some("login"), "banner"));
        assert_eq!(first, second);
        check(
            &displays,
            expect![[r#"
                1 Banner code B
                2 Inline other
                3 Inline another
            "#]],
        );
    }

    #[test] // G-27
    fn popups_and_what_is_printed_are_not_replaced() {
        let mut displays = Displays::default();
        displays.show(Surface::MessageAction, display("popup", Some("a"), "modal"));
        displays.show(Surface::MessageAction, display("popup again", Some("a"), "modal"));
        displays.show(Surface::Terminal, display("printed", Some("b"), "inline"));
        displays.show(Surface::Terminal, display("printed again", Some("b"), "inline"));
        assert_eq!(displays.show(Surface::SessionList, display("no", None, "inline")), None);
        check(
            &displays,
            expect![[r#"
                1 Modal popup
                2 Modal popup again
                3 Print printed
                4 Print printed again
            "#]],
        );
    }

    #[test] // K-16
    fn a_display_that_must_stay_is_not_dismissed() {
        let mut displays = Displays::default();
        let mut fixed = display("fixed", None, "inline");
        fixed.dismissible = false;
        displays.show(Surface::SessionAction, fixed);
        displays.show(Surface::SessionAction, display("usual", None, "inline"));
        assert!(!displays.dismiss(1) && displays.dismiss(2) && !displays.dismiss(2));
        check(
            &displays,
            expect![[r#"
                1 Inline fixed
            "#]],
        );
    }

    #[test] // K-17
    fn a_follow_up_replaces_or_closes_its_display_unless_it_preserves_it() {
        let surface = Surface::SessionAction;
        let start = || {
            let mut displays = Displays::default();
            displays.show(surface, display("login", Some("login"), "inline"));
            displays.show(surface, display("other", Some("other"), "inline"));
            displays
        };
        let after = |preserve, answer: Option<Display>, expected: Expect| {
            let mut displays = start();
            displays.follow_up(1, preserve, surface, answer);
            check(&displays, expected);
        };
        after(
            true,
            None,
            expect![[r#"
            1 Inline login
            2 Inline other
        "#]],
        );
        after(
            true,
            Some(display("waiting", None, "inline")),
            expect![[r#"
            1 Inline login
            2 Inline other
            3 Inline waiting
        "#]],
        );
        after(
            true,
            Some(display("waiting", Some("login"), "inline")),
            expect![[r#"
            1 Inline waiting
            2 Inline other
        "#]],
        );
        after(
            false,
            None,
            expect![[r#"
            2 Inline other
        "#]],
        );
        after(
            false,
            Some(display("done", None, "inline")),
            expect![[r#"
            1 Inline done
            2 Inline other
        "#]],
        );
        after(
            false,
            Some(display("more", Some("other"), "inline")),
            expect![[r#"
            2 Inline more
        "#]],
        );
    }
}

//! Going from session to session.

use super::block::{Block, Tone};
use super::effect::Conversation;
use super::{Deed, Effect, Model};
use orlop_app::ui::{Displays, plain_line};

impl Model {
    /// Another session is open; what belonged to the last one is over.
    pub(super) fn opened(
        &mut self,
        conversation: Conversation,
        history: Vec<Block>,
    ) -> Vec<Effect> {
        let same =
            conversation.session.is_some() && conversation.session == self.conversation.session;
        if !same {
            self.put_aside();
            self.displays = Displays::default();
            self.origins.clear();
            self.editing = None;
        }
        self.conversation = conversation;
        let name = match (&self.conversation.session, &self.conversation.title) {
            (None, _) => "New session".to_owned(),
            (Some(_), Some(title)) => plain_line(title),
            (Some(id), None) => id.clone(),
        };
        self.notice(Tone::Info, format!("── {name}"));
        history.into_iter().for_each(|block| self.say(block));
        if !same {
            self.come_back();
        }
        vec![Effect::Terminal(Deed::Title(name))]
    }
}

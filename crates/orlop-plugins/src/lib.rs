//! The plugins that ship with Orlop: tools, features, application and host plugins. All of them
//! use the contracts that every other plugin has, and nothing else.

mod activity;
mod arguments;
mod ask_user;
mod attachment_hints;
mod attachments;
mod changes;
mod compaction;
mod delegate;
mod files;
mod front_matter;
mod memory;
mod mentions;
mod permissions;
mod project;
mod sandbox;
mod session_title;
mod shell;
mod skills;
mod slash_commands;
mod system_message;
mod todo;
mod usage;
mod web_fetch;
mod workspace;

pub use activity::Activity;
pub use ask_user::AskUser;
pub use attachment_hints::AttachmentHints;
pub use attachments::Attachments;
pub use changes::{FileChanges, Watch, Watched};
pub use compaction::{Compaction, CompactionActions};
pub use delegate::{Delegate, SubSessions};
pub use files::{Files, patch_paths};
pub use memory::{Memory, MemoryActions, UserMemory};
pub use mentions::Mentions;
pub use permissions::{PermissionActions, Permissions};
pub use sandbox::{Sandbox, Support};
pub use session_title::SessionTitle;
pub use shell::{Shell, ShellCleanup};
pub use skills::Skills;
pub use slash_commands::{Command, SlashCommands};
pub use system_message::{SYSTEM_CONTEXT, SystemMessage};
pub use todo::{Todo, TodoReminder};
pub use usage::{Usage, UsageReport};
pub use web_fetch::WebFetch;
pub use workspace::{Workspace, real_path};

//! The plugins that ship with Orlop: tools, features, application and host plugins. All of them
//! use the contracts that every other plugin has, and nothing else.

mod activity;
mod arguments;
mod ask_user;
mod attachment_hints;
mod delegate;
mod changes;
mod files;
mod compaction;
mod front_matter;
mod memory;
mod mentions;
mod permissions;
mod project;
mod sandbox;
mod session_title;
mod skills;
mod shell;
mod slash_commands;
mod system_message;
mod todo;
mod web_fetch;
mod usage;
mod workspace;

pub use activity::Activity;
pub use ask_user::AskUser;
pub use attachment_hints::AttachmentHints;
pub use delegate::{Delegate, SubSessions};
pub use memory::{Memory, MemoryActions, UserMemory};
pub use changes::{FileChanges, Watch, Watched};
pub use files::{Files, patch_paths};
pub use compaction::{Compaction, CompactionActions};
pub use mentions::Mentions;
pub use permissions::{PermissionActions, Permissions};
pub use sandbox::{Sandbox, Support};
pub use session_title::SessionTitle;
pub use skills::Skills;
pub use slash_commands::{Command, SlashCommands};
pub use system_message::{SYSTEM_CONTEXT, SystemMessage};
pub use shell::{Shell, ShellCleanup};
pub use system_message::SystemMessage;
pub use todo::{Todo, TodoReminder};
pub use web_fetch::WebFetch;
pub use usage::{Usage, UsageReport};
pub use workspace::{Workspace, real_path};

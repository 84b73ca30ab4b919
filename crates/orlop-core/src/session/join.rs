//! Putting two sessions end to end.

use super::Session;
use crate::config::Config;
use crate::context::CallContext;
use crate::core::Core;
use orlop_types::Result;

impl Core {
    /// `prefix`, then `suffix`, with the id and the metadata of `prefix`.
    ///
    /// Where both carry usable native history, it is joined and the messages are derived from it;
    /// a failure to do so is the caller's to see. Otherwise the messages alone are joined.
    pub async fn join_sessions(
        &self,
        prefix: &Session,
        suffix: &Session,
        config: Option<&Config>,
    ) -> Result<Session> {
        let core_only = || {
            let messages = prefix.messages().iter().chain(suffix.messages().iter()).cloned();
            Ok(prefix.core_only(messages.collect()))
        };
        let Some(config) = config.filter(|config| !config.is_empty()) else { return core_only() };
        if prefix.native().is_none() || suffix.native().is_none() {
            return core_only();
        }
        let resolution = self.resolve(config).await?;
        let format = resolution.native_format()?;
        let (Some(first), Some(second)) =
            (prefix.usable_native(format), suffix.usable_native(format))
        else {
            return core_only();
        };
        let mut native = first.items().clone();
        native.append(second.items().clone());
        let cx = self.context(&resolution, config, &CallContext::new("core"));
        let (messages, native) = self.rebuild_from_native(&resolution, native, false, &cx).await?;
        Ok(prefix.with_native(messages.into_iter().collect(), native, format))
    }
}

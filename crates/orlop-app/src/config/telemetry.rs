//! `[telemetry]`: where traces are sent.

use super::app_config::AppConfig;
use orlop_core::{Result, Value};
use std::collections::BTreeMap;
use std::fmt;

/// `[telemetry]`. Debugging does not show the headers.
#[derive(Clone, Default, PartialEq)]
pub struct TelemetrySection {
    /// The collector; without one nothing is sent.
    pub otlp_endpoint: Option<String>,
    /// Headers of requests to it.
    pub headers: BTreeMap<String, String>,
    /// What this program is called there.
    pub service_name: String,
    /// Whether hooks of plugins are told of, too.
    pub hooks: bool,
}

impl fmt::Debug for TelemetrySection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TelemetrySection({:?})", self.otlp_endpoint)
    }
}

impl AppConfig {
    /// `[telemetry]`.
    pub fn telemetry(&self) -> Result<TelemetrySection> {
        let setting = |key: &str| self.setting("telemetry", key);
        let endpoint = setting("otlp_endpoint")?.and_then(|it| it.as_str().map(str::to_owned));
        let headers = setting("headers")?.unwrap_or_default();
        let headers = headers.as_object().into_iter().flatten();
        let headers =
            headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Ok(TelemetrySection {
            otlp_endpoint: endpoint.filter(|endpoint| !endpoint.is_empty()),
            headers: headers.collect(),
            service_name: self.text_setting("telemetry", "service_name")?,
            hooks: setting("hooks")?.is_some_and(|on| on == Value::Bool(true)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RuntimeEnv, Vars};
    use std::path::Path;

    fn section(text: &str) -> Result<TelemetrySection> {
        let env = RuntimeEnv::from_vars(Vars::from([("KEY".to_owned(), "secret".to_owned())]));
        AppConfig::from_text(Path::new("orlop.toml"), text, env)?.telemetry()
    }

    #[test]
    fn nothing_is_sent_unless_a_collector_is_named() {
        let none = section("").unwrap();
        assert_eq!((none.otlp_endpoint, none.service_name.as_str()), (None, "orlop"));
        let text = "[telemetry]\notlp_endpoint = \"http://c:4318\"\nhooks = true\nheaders = { x = \"${env:KEY}\" }\n";
        let section = section(text).unwrap();
        assert_eq!(section.headers["x"], "secret");
        assert!(section.hooks && !format!("{section:?}").contains("secret"));
    }
}

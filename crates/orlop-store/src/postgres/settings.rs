//! How to reach a server. The password stays in here.

use super::errors::{cannot_connect, explain};
use orlop_core::{Error, Result};
use postgres::config::{Host, SslMode};
use postgres::{Client, Config};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres_rustls::MakeRustlsConnect;

/// A server that does not answer for so long is not there.
const PATIENCE: Duration = Duration::from_secs(30);

/// What every connection begins with. Nobody waits for another's step for longer than that, and a
/// process that was stopped in the middle of a step does not keep others from theirs.
const BEGIN: &str = "SET search_path TO orlop; SET lock_timeout TO '30s'; \
                     SET idle_in_transaction_session_timeout TO '60s'";

pub(super) struct Settings {
    config: Config,
    tls: MakeRustlsConnect,
    place: String,
}

impl Settings {
    pub(super) fn read(url: &str) -> Result<Self> {
        // What the parser has to say could quote the address and its password.
        let mut config: Config = url.parse().map_err(|_| {
            Error::bad_argument(
                "this is no address of a PostgreSQL database; write postgres://user:password@host:5432/database, special characters as %XX, sslmode as disable, prefer or require",
            )
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host("localhost");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        if config.get_application_name().is_none() {
            config.application_name("orlop");
        }
        config.tcp_user_timeout(PATIENCE).keepalives_idle(PATIENCE);
        Ok(Self { tls: tls(config.get_ssl_mode())?, place: place_of(&config), config })
    }

    /// Where the database is, without secrets.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn connect(&self) -> Result<Client> {
        let mut client = self
            .config
            .connect(self.tls.clone())
            .map_err(|error| cannot_connect(&self.place, &error))?;
        client.batch_execute(BEGIN).map_err(|error| explain(&self.place, &error))?;
        Ok(client)
    }
}

fn place_of(config: &Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts = hosts.chain(config.get_hostaddrs().iter().map(ToString::to_string));
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = config.get_dbname().or(config.get_user()).unwrap_or("");
    format!("{}:{port}/{database}", Vec::from_iter(hosts).join(","))
}

/// Encryption with the certificates that the system trusts.
fn tls(mode: SslMode) -> Result<MakeRustlsConnect> {
    let mut trusted = rustls::RootCertStore::empty();
    if mode != SslMode::Disable {
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(format!("encryption cannot be set up: {error}")))?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_has_no_password() {
        for (url, place) in [
            ("postgres://ana:s3cret@db.example:6000/orlop", "db.example:6000/orlop"),
            ("postgresql://ana:s3cret@db.example", "db.example:5432/ana"),
            ("postgres://", "localhost:5432/"),
            ("postgres://u:s3cret@a,b/x?sslmode=require", "a,b:5432/x"),
        ] {
            assert_eq!(Settings::read(url).map(|settings| settings.place).unwrap(), place);
        }
    }

    #[test]
    fn a_malformed_address_is_not_repeated() {
        for url in ["postgres://u:s3cret@h:port/x", "postgres://u:s3cret@h/x?sslmode=s3cret"] {
            let error = Settings::read(url).map(|_| ()).unwrap_err();
            assert_eq!(error.class(), orlop_core::ErrorClass::BadArgument);
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }
}

//! Where to: reading an address as the model wrote it, and finding out which server that is.

use super::address::is_public;
use super::settings::Settings;
use orlop_core::{Error, Result};
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use url::Host;

/// The longest address.
const MAX_URL: usize = 4_096;

/// An address to fetch and the servers that stand for it, all of them allowed.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) url: Url,
    /// Empty if only a proxy knows them.
    pub(super) servers: Vec<SocketAddr>,
}

/// Reads an address: `http` or `https`, without a name and password in it.
pub(super) fn read(text: &str) -> Result<Url> {
    let bad = |what: &str| Error::bad_argument(format!("this address cannot be fetched: {what}"));
    if text.len() > MAX_URL {
        return Err(bad("it is too long"));
    }
    let mut url = Url::parse(text)
        .map_err(|error| bad(&format!("{error}; write it in full, as https://example.org/page")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("only http and https are fetched"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it has a user name or a password in it; leave them out"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// Finds the servers of an address. Unless the settings allow it, not one of them may be private:
/// the request then goes to exactly these, so that a second answer of the name service leads
/// nowhere else.
pub(super) async fn find(url: Url, settings: &Settings) -> Result<Target> {
    let port = url.port_or_known_default().unwrap_or(443);
    let nowhere = || Error::bad_argument("this address names no host");
    let servers: Vec<SocketAddr> = match url.host().ok_or_else(nowhere)? {
        Host::Ipv4(address) => vec![SocketAddr::new(IpAddr::V4(address), port)],
        Host::Ipv6(address) => vec![SocketAddr::new(IpAddr::V6(address), port)],
        Host::Domain(name) => match tokio::net::lookup_host((name, port)).await {
            Ok(found) => found.collect(),
            Err(_) if is_proxied() => Vec::new(),
            Err(_) => {
                return Err(Error::unavailable(format!(
                    "there is no server \"{name}\"; check the address"
                )));
            }
        },
    };
    let closed = servers.iter().find(|server| !is_public(server.ip()));
    if let (Some(closed), false) = (closed, settings.allows(&url)) {
        let host = url.host_str().unwrap_or_default();
        let at = match closed.ip().to_string() {
            address if host.trim_matches(['[', ']']) == address => String::new(),
            address => format!(" ({address})"),
        };
        return Err(Error::bad_argument(format!(
            "\"{host}\"{at} is no server of the public internet, and private ones are not fetched; the user can allow it with web_fetch.allow_hosts"
        )));
    }
    Ok(Target { url, servers })
}

/// Whether requests may go through a proxy, which knows names that this machine does not.
fn is_proxied() -> bool {
    ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"].into_iter().any(|name| {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        set(name) || set(&name.to_lowercase())
    })
}

impl Target {
    /// Whether the server is this machine, which no proxy can reach.
    pub(super) fn is_here(&self) -> bool {
        !self.servers.is_empty() && self.servers.iter().all(|server| server.ip().is_loopback())
    }

    /// A name service that knows the servers of this address. Other names are those of proxies.
    pub(super) fn names(&self) -> Arc<Pinned> {
        let host = self.url.host_str().unwrap_or_default().to_owned();
        Arc::new(Pinned { host, servers: self.servers.clone() })
    }
}

/// The servers that were found for a host, and no others.
pub(super) struct Pinned {
    host: String,
    servers: Vec<SocketAddr>,
}

impl Resolve for Pinned {
    fn resolve(&self, name: Name) -> Resolving {
        if name.as_str() == self.host {
            let servers = self.servers.clone();
            return Box::pin(async move {
                match servers.is_empty() {
                    true => Err("the host is not known here".into()),
                    false => Ok(Box::new(servers.into_iter()) as Addrs),
                }
            });
        }
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    async fn check(settings: &Settings, address: &str, expected: Expect) {
        let found = match read(address) {
            Ok(url) => find(url, settings).await,
            Err(error) => Err(error),
        };
        let shown = match found {
            Ok(target) => format!("{} {:?}", target.url, target.servers),
            Err(error) => error.message().to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[tokio::test]
    async fn an_address_leads_to_the_internet_or_nowhere() {
        let plain = Settings::default();
        check(&plain, "https://1.1.1.1/a#b", expect!["https://1.1.1.1/a [1.1.1.1:443]"]).await;
        check(&plain, "docs.rs/tokio", expect!["this address cannot be fetched: relative URL without a base; write it in full, as https://example.org/page"]).await;
        check(
            &plain,
            "file:///etc/passwd",
            expect!["this address cannot be fetched: only http and https are fetched"],
        )
        .await;
        check(
            &plain,
            "ftp://1.1.1.1/",
            expect!["this address cannot be fetched: only http and https are fetched"],
        )
        .await;
        check(&plain, "http://me:secret@1.1.1.1/", expect!["this address cannot be fetched: it has a user name or a password in it; leave them out"]).await;
        check(&plain, "http://user@1.1.1.1/", expect!["this address cannot be fetched: it has a user name or a password in it; leave them out"]).await;
        check(
            &plain,
            &format!("http://1.1.1.1/{}", "a".repeat(5_000)),
            expect!["this address cannot be fetched: it is too long"],
        )
        .await;
        check(
            &plain,
            "http://no-such-name.invalid/",
            expect![[r#"there is no server "no-such-name.invalid"; check the address"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn private_addresses_are_refused_however_they_are_written() {
        let plain = Settings::default();
        for address in [
            "http://127.0.0.1:8080/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://017700000001/",
            "http://0177.0.0.1/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://0/",
            "http://127.0.0.1./",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[::]/",
            "http://localhost/",
            "http://LOCALHOST:9/",
            "http://169.254.169.254/latest/meta-data/",
            "http://10.0.0.1/",
            "https://192.168.1.1/admin",
            "http://[fd00:ec2::254]/",
            "http://[fe80::1]/",
            "http://１２７.０.０.１/",
            "http://127。0。0。1/",
            "http://[64:ff9b::7f00:1]/",
        ] {
            let error = find(read(address).unwrap(), &plain).await.unwrap_err();
            assert!(
                error.message().contains("no server of the public internet"),
                "{address}: {error}"
            );
        }
    }

    #[tokio::test]
    async fn the_user_may_allow_all_or_some() {
        let all = Settings { allow_private: true, ..Settings::default() };
        check(&all, "http://127.0.0.1:80/", expect!["http://127.0.0.1/ [127.0.0.1:80]"]).await;
        let hosts = vec!["127.0.0.1:8080".to_owned(), "10.0.0.1".to_owned(), "[::1]:9".to_owned()];
        let some = Settings { allow_hosts: hosts, ..Settings::default() };
        check(&some, "http://127.0.0.1:8080/", expect!["http://127.0.0.1:8080/ [127.0.0.1:8080]"])
            .await;
        check(&some, "https://10.0.0.1/", expect!["https://10.0.0.1/ [10.0.0.1:443]"]).await;
        check(&some, "http://[::1]:9/", expect!["http://[::1]:9/ [[::1]:9]"]).await;
        check(&some, "http://127.0.0.1:8081/", expect![[r#""127.0.0.1" is no server of the public internet, and private ones are not fetched; the user can allow it with web_fetch.allow_hosts"#]]).await;
    }

    #[tokio::test]
    async fn a_name_means_the_servers_that_were_found_for_it() {
        let url = Url::parse("http://example.org/").unwrap();
        let server: SocketAddr = "1.2.3.4:80".parse().unwrap();
        let names = Target { url: url.clone(), servers: vec![server] }.names();
        let found: Vec<_> = names.resolve("example.org".parse().unwrap()).await.unwrap().collect();
        assert_eq!(found, [server]);
        let unknown = Target { url, servers: Vec::new() }.names();
        assert!(unknown.resolve("example.org".parse().unwrap()).await.is_err());
    }
}

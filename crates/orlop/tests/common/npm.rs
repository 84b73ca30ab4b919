//! A registry of npm packages on this machine, so that the real `npm` installs without the network.

use serde_json::json;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// One package, as it is installed in a folder of this machine.
pub struct NpmRegistry {
    url: String,
    sent: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

struct Package {
    name: String,
    /// What the registry says of it.
    description: String,
    archive: Vec<u8>,
}

impl NpmRegistry {
    /// Offers a package of `modules`, if it is there.
    pub async fn with(modules: &Path, name: &str) -> Option<Self> {
        let manifest = std::fs::read_to_string(modules.join(name).join("package.json")).ok()?;
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        let version = manifest["version"].as_str().unwrap().to_owned();
        let mut tar = std::process::Command::new("tar");
        let packed = tar.args(["-czf", "-", "-C"]).arg(modules).arg(name).output().unwrap();
        assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut held = manifest.clone();
        held["dist"] = json!({ "tarball": format!("{url}/archive/{name}.tgz") });
        let tags = json!({ "latest": &version });
        let description =
            json!({ "name": name, "dist-tags": tags, "versions": { version: held } }).to_string();
        let package =
            Arc::new(Package { name: name.to_owned(), description, archive: packed.stdout });
        let sent = Arc::new(Mutex::new(Vec::new()));
        let serving = tokio::spawn(serve(listener, package, sent.clone()));
        Some(Self { url, sent, serving })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The packages whose archives were fetched.
    pub fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().clone()
    }
}

impl Drop for NpmRegistry {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, package: Arc<Package>, sent: Arc<Mutex<Vec<String>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        // Each connection in a task of its own: npm opens several and uses one.
        tokio::spawn(answer(stream, package.clone(), sent.clone()));
    }
}

async fn answer(mut stream: TcpStream, package: Arc<Package>, sent: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (status, body) = if path == format!("/{}", package.name) {
        ("200 OK", package.description.as_bytes())
    } else if path.starts_with("/archive/") {
        sent.lock().unwrap().push(package.name.clone());
        ("200 OK", package.archive.as_slice())
    } else {
        ("404 Not Found", &b"{}"[..])
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body).await;
}

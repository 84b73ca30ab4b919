//! A PostgreSQL server for tests: private, on a free port, and gone with the test process.
//!
//! It is started from the binaries on the machine. As root it runs as the user `nobody`, since
//! PostgreSQL refuses root. It does not survive a loss of power, and so is quick.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Sets up the data, runs the server until the input ends, which it does when the owner is gone
/// for whatever reason, and leaves nothing behind.
const SCRIPT: &str = r#"
cd / && mkdir -m 700 "$FOLDER" && exec > "$FOLDER/log" 2>&1 || exit 1
as_user=
if [ "$(id -u)" = 0 ]; then
    chown nobody:nogroup "$FOLDER" "$FOLDER/log"
    as_user="setpriv --reuid=nobody --regid=nogroup --clear-groups"
fi
$as_user "$BINARIES/initdb" -D "$FOLDER/data" -U postgres -A trust --no-sync --locale=C -E UTF8 || {
    echo "initdb: error"; read _; rm -rf "$FOLDER"; exit 1
}
$as_user "$BINARIES/postgres" -D "$FOLDER/data" -p "$PORT" -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories="$FOLDER" -c fsync=off -c synchronous_commit=off \
    -c full_page_writes=off -c max_connections=300 -c shared_buffers=32MB &
server=$!
read _
kill -QUIT "$server"
wait "$server"
rm -rf "$FOLDER"
"#;

/// How long a server may take to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// What can go wrong with a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// A program could not be run.
    #[error("cannot run {program}: {source}")]
    Run {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// A program failed.
    #[error("{program} failed: {output}")]
    Failed {
        /// The program.
        program: String,
        /// What it printed.
        output: String,
    },
}

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct PostgresServer {
    binaries: PathBuf,
    folder: PathBuf,
    port: u16,
    keeper: Mutex<Child>,
    databases: AtomicUsize,
}

impl PostgresServer {
    /// The one server of this test process, started when it is first asked for. `None` if the
    /// machine has no PostgreSQL.
    ///
    /// # Panics
    ///
    /// If it cannot be started: a test must not pass because it has seen nothing.
    #[expect(clippy::panic, reason = "a broken server must fail the test that needs it")]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<PostgresServer>> = OnceLock::new();
        let server = SHARED.get_or_init(|| match Self::start() {
            Ok(server) => server,
            Err(error) => panic!("{error}"),
        });
        server.as_ref()
    }

    /// Starts a server of its own. `None` if the machine has no PostgreSQL.
    pub fn start() -> Result<Option<Self>, PostgresError> {
        let Some(binaries) = binaries() else { return Ok(None) };
        let mut attempts = 3;
        loop {
            attempts -= 1;
            // Another program may take the port before the server does.
            match Self::start_from(&binaries) {
                Err(_) if attempts > 0 => {}
                result => return result.map(Some),
            }
        }
    }

    fn start_from(binaries: &Path) -> Result<Self, PostgresError> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let port = free_port()?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("orlop-postgres-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let keeper = Command::new("sh")
            .args(["-c", SCRIPT])
            .env("FOLDER", &folder)
            .env("BINARIES", binaries)
            .env("PORT", port.to_string())
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|source| PostgresError::Run { program: "sh".to_owned(), source })?;
        let server = Self {
            binaries: binaries.to_owned(),
            folder,
            port,
            keeper: Mutex::new(keeper),
            databases: AtomicUsize::new(0),
        };
        server.wait_until_ready()?;
        Ok(server)
    }

    fn wait_until_ready(&self) -> Result<(), PostgresError> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.run("psql", &["-d", "postgres", "-c", "SELECT 1"]) {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > end => return Err(error),
                Err(_) if self.has_failed() => {
                    let output = std::fs::read_to_string(self.folder.join("log"));
                    let output = output.unwrap_or_else(|error| error.to_string());
                    return Err(PostgresError::Failed { program: "postgres".to_owned(), output });
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Whether its log says that it gave up.
    fn has_failed(&self) -> bool {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        log.contains("FATAL:  could not") || log.contains("initdb: error")
    }

    /// A fresh database; gives its address.
    pub fn database(&self) -> Result<String, PostgresError> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run("createdb", &[&name])?;
        Ok(format!("postgres://postgres@127.0.0.1:{}/{name}", self.port))
    }

    /// Runs statements in a database given by its address; gives what they answer, one row a line.
    pub fn sql(&self, address: &str, sql: &str) -> Result<String, PostgresError> {
        self.run("psql", &["-d", address, "-Atq", "-v", "ON_ERROR_STOP=1", "-c", sql])
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, PostgresError> {
        let output = Command::new(self.binaries.join(program))
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.port.to_string())
            .env("PGUSER", "postgres")
            .args(arguments)
            .output()
            .map_err(|source| PostgresError::Run { program: program.to_owned(), source })?;
        if !output.status.success() {
            let output = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(PostgresError::Failed { program: program.to_owned(), output });
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut input) = keeper.stdin.take() {
            let _ = input.flush();
        }
        let _ = keeper.wait();
    }
}

/// The folder with the server's binaries: the newest of Debian's, or one of the search path.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = folders.into_iter().rev().map(|(_, folder)| folder);
    let is_complete = |folder: &PathBuf| {
        ["postgres", "initdb", "psql", "createdb"].iter().all(|name| folder.join(name).is_file())
    };
    folders.chain(std::env::split_paths(&path)).find(is_complete)
}

fn free_port() -> Result<u16, PostgresError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|source| PostgresError::Run { program: "a listener".to_owned(), source })
}

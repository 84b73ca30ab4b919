//! Plugins that try to reach more than they were granted: the kernel refuses it.

#![cfg(target_os = "linux")]
use crate::common::stage::*;
use crate::common::*;
use expect_test::{Expect, expect};
use orlop_core::ActionCall;
use orlop_runtime::Package;
use orlop_testkit::scripted::ScriptedReply;
use serde_json::json;
use std::net::TcpListener;

/// What both plugins try, and say of each whether it worked. `ADDRESS` is a server that listens.
const PYTHON: &str = r#"
import os, pathlib, socket, subprocess, tempfile, orlop
HERE = pathlib.Path(__file__).parent
WORK = pathlib.Path(os.environ["WORKING_DIR"])
OUT = WORK.parent
def local():
    with socket.socket(socket.AF_UNIX) as one: one.connect("/run/nobody")
def raises(kind, work):
    try: work()
    except kind: raise OSError("refused")
    except OSError: pass
ATTEMPTS = {
    "read its own files": lambda: (HERE / "own.txt").read_text(),
    "write its own files": lambda: (HERE / "own.txt").write_text("mine"),
    "write its data": lambda: pathlib.Path(os.environ["PLUGIN_DATA"], "x").write_text("x"),
    "write a temporary file": lambda: tempfile.TemporaryFile().write(b"x"),
    "read the working folder": lambda: (WORK / "note.txt").read_text(),
    "write the working folder": lambda: (WORK / "note.txt").write_text("new"),
    "read beside it": lambda: (OUT / "theirs.txt").read_text(),
    "read the logins": lambda: (OUT / "home/credentials.json").read_text(),
    "read through a link": lambda: (HERE / "link.txt").read_text(),
    "read in a process of its own": lambda: subprocess.run(["cat", OUT / "theirs.txt"], check=True, capture_output=True),
    "run a program": lambda: subprocess.run(["true"], check=True),
    "connect": lambda: socket.create_connection(("127.0.0.1", ADDRESS)).close(),
    "send UDP": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", ADDRESS)),
    "listen": lambda: socket.create_server(("127.0.0.1", 0)).close(),
    "use a local socket": lambda: raises(PermissionError, local),
}
@orlop.tool
def attempt() -> str:
    """Tries."""
    lines = []
    for name, work in ATTEMPTS.items():
        try: work(); lines.append(f"{name}: done")
        except (OSError, subprocess.CalledProcessError): lines.append(f"{name}: refused")
    return "\n".join(lines)
"#;

const NODE: &str = r#"
import { tool } from "orlop";
import fs from "node:fs"; import net from "node:net"; import os from "node:os"; import path from "node:path";
import dgram from "node:dgram"; import { execFileSync } from "node:child_process";
const HERE = import.meta.dirname, WORK = process.env.WORKING_DIR, OUT = path.dirname(WORK);
const connected = (where, allowed = []) => new Promise((resolve, reject) => {
  const one = net.connect(where, () => { one.destroy(); resolve(); });
  one.on("error", (error) => (allowed.includes(error.code) ? resolve() : reject(error)));
});
const attempts = {
  "read its own files": () => fs.readFileSync(`${HERE}/own.txt`),
  "write its own files": () => fs.writeFileSync(`${HERE}/own.txt`, "mine"),
  "write its data": () => fs.writeFileSync(`${process.env.PLUGIN_DATA}/x`, "x"),
  "write a temporary file": () => fs.mkdtempSync(`${os.tmpdir()}/x`),
  "read the working folder": () => fs.readFileSync(`${WORK}/note.txt`),
  "write the working folder": () => fs.writeFileSync(`${WORK}/note.txt`, "new"),
  "read beside it": () => fs.readFileSync(`${OUT}/theirs.txt`),
  "read the logins": () => fs.readFileSync(`${OUT}/home/credentials.json`),
  "read through a link": () => fs.readFileSync(`${HERE}/link.txt`),
  "read in a process of its own": () => execFileSync("cat", [`${OUT}/theirs.txt`], { stdio: "pipe" }),
  "run a program": () => execFileSync("true"),
  "connect": () => connected({ host: "127.0.0.1", port: ADDRESS }),
  "send UDP": () => new Promise((resolve, reject) => {
    const one = dgram.createSocket("udp4");
    one.on("error", reject);
    one.send("x", ADDRESS, "127.0.0.1", (error) => { one.close(); error ? reject(error) : resolve(); });
  }),
  "listen": () => new Promise((resolve, reject) => {
    const one = net.createServer().on("error", reject).listen(0, "127.0.0.1", () => one.close(resolve));
  }),
  "use a local socket": () => connected({ path: "/run/nobody" }, ["ENOENT", "ECONNREFUSED"]),
};
export const attempt = tool({
  name: "attempt", description: "Tries.", parameters: { type: "object", properties: {} },
  async run() {
    const lines = [];
    for (const [name, work] of Object.entries(attempts)) {
      try { await work(); lines.push(`${name}: done`); } catch { lines.push(`${name}: refused`); }
    }
    return lines.join("\n");
  },
});
"#;

/// Kernels before Linux 6.12 refuse less.
fn can_be_tested() -> bool {
    let support = orlop_app::confine::support();
    if support.landlock < 6 || !support.network {
        orlop_testkit::skip("grants of plugins", &support.to_string());
        return false;
    }
    true
}

/// What plugins with these grants can do; the same in both languages.
async fn check(grants: &str, expected: Expect) {
    if !can_be_tested() {
        return;
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    for (name, code) in [("snake", PYTHON), ("knot", NODE)] {
        let stage = Stage::calls(&[("c1", "attempt", json!({}))]).file("note.txt", "note");
        std::fs::write(stage.outside().join("theirs.txt"), "theirs").unwrap();
        std::fs::write(stage.home().join("credentials.json"), "{}").unwrap();
        let code = code.replace("ADDRESS", &port);
        let package: Package = match name {
            "snake" => package(&stage, name, Some(grants), &code),
            _ => node_package(&stage, name, Some(grants), &code),
        };
        std::fs::write(package.folder.join("own.txt"), "own").unwrap();
        let target = stage.outside().join("theirs.txt");
        std::os::unix::fs::symlink(target, package.folder.join("link.txt")).unwrap();
        let (stage, runtime) = with_packages(stage, vec![package]);
        let app = stage.start().await;
        let events = events_of(&app, ask("s", "go")).await;
        runtime.stop().await;
        expected.assert_eq(&results(&events).join("\n"));
    }
}

#[tokio::test]
async fn a_package_without_grants_has_its_own_files_only() {
    check(
        "",
        expect![[r#"
            read its own files: done
            write its own files: refused
            write its data: done
            write a temporary file: done
            read the working folder: refused
            write the working folder: refused
            read beside it: refused
            read the logins: refused
            read through a link: refused
            read in a process of its own: refused
            run a program: done
            connect: refused
            send UDP: refused
            listen: refused
            use a local socket: refused"#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_granted_can_be_reached() {
    check(
        "[grants]\nfiles = [\"read:${WORKING_DIR}\"]\nnetwork = [\"127.0.0.1\"]\n",
        expect![[r#"
            read its own files: done
            write its own files: refused
            write its data: done
            write a temporary file: done
            read the working folder: done
            write the working folder: refused
            read beside it: refused
            read the logins: refused
            read through a link: refused
            read in a process of its own: refused
            run a program: done
            connect: done
            send UDP: done
            listen: done
            use a local socket: done"#]],
    )
    .await;
}

#[tokio::test]
async fn orlops_own_data_is_hidden_in_what_is_granted() {
    check(
        "[grants]\nfiles = [\"write:${WORKING_DIR}\", \"read:${WORKING_DIR}/..\"]\n",
        expect![[r#"
            read its own files: done
            write its own files: refused
            write its data: done
            write a temporary file: done
            read the working folder: done
            write the working folder: done
            read beside it: done
            read the logins: refused
            read through a link: done
            read in a process of its own: done
            run a program: done
            connect: refused
            send UDP: refused
            listen: refused
            use a local socket: refused"#]],
    )
    .await;
}

/// An answer that took 600 tokens.
fn took(say: &str) -> ScriptedReply {
    let usage = json!({ "input_tokens": 500, "output_tokens": 100 });
    ScriptedReply::items(vec![json!({
        "who": "assistant", "say": say, "_metadata": { "usage": usage, "model": "m-1" },
    })])
}

#[tokio::test]
async fn requests_of_a_plugin_stay_within_its_tokens_of_a_day() {
    let code = r#"
class Asker:
    name = "asker"

    def get_actions(self):
        return [{"id": "ask", "label": "Ask"}, {"id": "chat", "label": "Chat"}]

    def execute_action(self, app, action_id, context):
        core, config, session = app.load_session("s")
        if action_id == "ask":
            core.send_request(session, config)
        else:
            last = app.send_request(core, session, message="again")[-1]
            if last["type"] != "final":
                raise RuntimeError(last["error"]["message"])
        return {"message": "asked"}
"#;
    let stage = Stage::default().feature(orlop_plugins::Usage::default());
    for _ in 0..4 {
        stage.model.reply(took("fine"));
    }
    let manifest = "[grants]\napp = [\"load_session\", \"send_request\", \"update_agent\"]\n[limits]\ntokens_per_day = 1000\n";
    let package = package(&stage, "asker", Some(manifest), code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    // What its user asks for is nobody's but the user's.
    events_of(&app, ask("s", "hi")).await;
    for (action, told) in [("ask", None), ("chat", None), ("ask", Some(1)), ("chat", Some(1))] {
        let done = app.execute_action(ActionCall::new("asker", action), None).await;
        let failed = done.err().map(|error| error.message().to_owned());
        assert_eq!(failed.is_some(), told.is_some(), "{action}: {failed:?}");
        if let Some(failed) = failed {
            let expected = "plugin \"asker\" took 1,200 tokens today, and limits.tokens_per_day of its package allows 1,000";
            assert!(failed.contains(expected), "{action}: {failed}");
        }
    }
    runtime.stop().await;
}

#[tokio::test]
async fn a_grant_that_means_nothing_is_told() {
    let stage = Stage::default();
    let package = package(&stage, "lost", Some("[grants]\nfiles = [\"notes\"]\n"), "");
    let mut runtime = orlop_runtime::Runtime::new(env(&stage), stage.home());
    let error = runtime.add(package, orlop_core::Map::new()).unwrap_err();
    assert!(error.message().contains("\"notes\" does not say what for"), "{error}");
}

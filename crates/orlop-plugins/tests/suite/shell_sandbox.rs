//! Attempts to leave the sandbox by commands.

#![cfg(target_os = "linux")]
use crate::stage::*;
use expect_test::{Expect, expect};
use orlop_plugins::{Files, Sandbox, Shell};
use serde_json::json;
use std::fs;
use std::net::TcpListener;

fn stage() -> Stage {
    let mut stage = Stage::default().tool(Shell::default()).file("mine.txt", "mine");
    let outside = stage.outside().to_owned();
    fs::write(outside.join("theirs.txt"), "theirs").unwrap();
    fs::write(stage.home().join("credentials.json"), "{}").unwrap();
    fs::create_dir_all(outside.join("person/.ssh")).unwrap();
    fs::write(outside.join("person/.ssh/id"), "key").unwrap();
    stage.vars.insert("HOME".to_owned(), outside.join("person").display().to_string());
    stage.vars.insert("OUT".to_owned(), outside.display().to_string());
    stage.vars.insert("DATA".to_owned(), stage.home().display().to_string());
    stage
}

/// Kernels before Linux 6.12 refuse less.
fn can_be_tested(what: &str) -> bool {
    let support = Sandbox::support();
    if support.landlock < 6 {
        orlop_testkit::skip(what, &support.to_string());
    }
    support.landlock >= 6
}

/// Makes the attempts in one command; a line for each.
async fn check(stage: &Stage, attempts: &[(&str, &str)], expected: Expect) {
    if !can_be_tested("the sandbox of commands") {
        return;
    }
    let attempt = |(name, command): &(&str, &str)| {
        format!(
            "if ( {command} ) >/dev/null 2>&1; then echo '{name}: done'; else echo '{name}: refused'; fi\n"
        )
    };
    let script: String = attempts.iter().map(attempt).collect();
    let app = stage.start().await;
    let told = run_call(&app, &stage.model, "shell", json!({ "command": script })).await;
    expected.assert_eq(told.split("[exit code").next().unwrap());
}

#[tokio::test] // M-28
async fn commands_stay_in_the_workspace() {
    let stage = stage();
    check(
        &stage,
        &[
            ("write in the workspace", "echo x > new.txt && mkdir -p a/b && mv new.txt a/b/"),
            ("write a temporary file", "echo x > \"$TMPDIR/x\" && mktemp"),
            ("run a program of the workspace", "cp /bin/true mine && ./mine"),
            (
                "use /dev/null and /dev/shm",
                "echo x > /dev/null && echo x > /dev/shm/orlop-$$ && rm /dev/shm/orlop-$$",
            ),
            ("write outside", "echo x > $OUT/fresh.txt"),
            ("change outside", "echo x >> $OUT/theirs.txt"),
            ("cut to length", "truncate -s 0 $OUT/theirs.txt"),
            ("remove outside", "rm -f $OUT/theirs.txt"),
            ("write through a link", "ln -s $OUT out && echo x > out/fresh.txt"),
            ("write through a link to a file", "ln -s $OUT/theirs.txt file && echo x > file"),
            ("write through /proc/self/root", "echo x > /proc/self/root$OUT/fresh.txt"),
            ("write through /proc/self/cwd", "echo x > /proc/self/cwd/../fresh.txt"),
            ("link a file in", "ln $OUT/theirs.txt hard"),
            ("move in", "mv $OUT/theirs.txt stolen"),
            ("move out", "mv mine.txt $OUT/"),
            ("swap with outside", "mv --exchange mine.txt $OUT/theirs.txt"),
            ("make a node of a device", "mknod disk b 254 0"),
            ("mount", "mkdir -p m && mount --bind $OUT m"),
            (
                "another namespace",
                "unshare -Urm sh -c \"mount --bind $OUT m && echo x > m/fresh.txt\"",
            ),
            ("signal the application", "kill -0 $PPID"),
        ],
        expect![[r#"
            write in the workspace: done
            write a temporary file: done
            run a program of the workspace: done
            use /dev/null and /dev/shm: done
            write outside: refused
            change outside: refused
            cut to length: refused
            remove outside: refused
            write through a link: refused
            write through a link to a file: refused
            write through /proc/self/root: refused
            write through /proc/self/cwd: refused
            link a file in: refused
            move in: refused
            move out: refused
            swap with outside: refused
            make a node of a device: refused
            mount: refused
            another namespace: refused
            signal the application: refused
        "#]],
    )
    .await;
    assert_eq!(fs::read_to_string(stage.outside().join("theirs.txt")).unwrap(), "theirs");
    assert!(!stage.outside().join("fresh.txt").exists());
}

#[tokio::test] // M-28
async fn commands_read_no_secrets() {
    let stage = stage();
    check(
        &stage,
        &[
            ("read a system file", "cat /etc/passwd"),
            ("read outside", "cat $OUT/theirs.txt"),
            ("read logins", "cat $DATA/credentials.json"),
            ("copy logins", "cp $DATA/credentials.json copy"),
            ("read logins through a link", "ln -s $DATA data && cat data/credentials.json"),
            ("link logins in", "ln $DATA/credentials.json hard"),
            ("read logins through /proc/self/root", "cat /proc/self/root$DATA/credentials.json"),
            ("read logins through the application", "cat /proc/$PPID/root$DATA/credentials.json"),
            ("read the environment of the application", "cat /proc/$PPID/environ"),
            ("read the memory of the application", "head -c 1 /proc/$PPID/mem"),
            ("open the folder of the application", "ls /proc/$PPID/cwd/"),
            ("open files of the application", "cat /proc/$PPID/fd/*"),
            ("read a key", "cat ~/.ssh/id"),
            ("pack keys", "tar cf keys.tar -C ~ .ssh/id"),
            ("read a disk", "for disk in /dev/vda /dev/sda /dev/nvme0n1; do head -c 1 $disk && exit; done; exit 1"),
            ("read the messages of the kernel", "dmesg"),
        ],
        expect![[r#"
            read a system file: done
            read outside: done
            read logins: refused
            copy logins: refused
            read logins through a link: refused
            link logins in: refused
            read logins through /proc/self/root: refused
            read logins through the application: refused
            read the environment of the application: refused
            read the memory of the application: refused
            open the folder of the application: refused
            open files of the application: refused
            read a key: refused
            pack keys: refused
            read a disk: refused
            read the messages of the kernel: refused
        "#]],
    )
    .await;
}

#[tokio::test] // M-28
async fn a_race_of_links_leads_nowhere() {
    let stage = stage();
    let race = "(while [ ! -e over ]; do ln -sfn $OUT place; rm -rf place; mkdir place; rm -rf place; done) & \
        for i in $(seq 300); do echo x > place/fresh.txt; done; touch over; wait; true";
    check(
        &stage,
        &[("race", race)],
        expect![[r#"
        race: done
    "#]],
    )
    .await;
    assert!(!stage.outside().join("fresh.txt").exists());
}

#[tokio::test] // M-28
async fn the_network_can_be_taken_away() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    let attempts = [
        ("connect", "exec 3<>/dev/tcp/127.0.0.1/$PORT"),
        ("send a datagram", "exec 3<>/dev/udp/127.0.0.1/$PORT && echo x >&3"),
    ];
    let with = |settings: &str| {
        let mut stage = stage().settings(settings);
        stage.vars.insert("PORT".to_owned(), port.clone());
        stage
    };
    check(
        &with(""),
        &attempts,
        expect![[r#"
        connect: done
        send a datagram: done
    "#]],
    )
    .await;
    check(
        &with("sandbox.network = false"),
        &attempts,
        expect![[r#"
        connect: refused
        send a datagram: refused
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_refusal_is_explained_to_the_model() {
    if !can_be_tested("refusals of the sandbox") {
        return;
    }
    let stage = stage();
    let app = stage.start().await;
    let command = json!({ "command": "echo x > $OUT/fresh.txt" });
    let told = run_call(&app, &stage.model, "shell", command).await;
    let folder = stage.outside().display().to_string();
    let temp = told.split("/tmp/").last().unwrap().split(' ').next().unwrap().to_owned();
    expect![[r#"
        bash: line 1: /stage/fresh.txt: Permission denied
        [exit code 1]
        [commands write in /stage/work, /stage/home/tmp/SESSION ($TMPDIR) only, and read no keys and passwords; the settings sandbox.write and sandbox.read add to it]"#]].assert_eq(&told.replace(&folder, "/stage").replace(&temp, "SESSION"));
}

#[tokio::test]
async fn a_folder_that_is_closed_to_new_files_is_explained_to_the_model() {
    if !can_be_tested("folders around something hidden") {
        return;
    }
    // The data folder lies in the workspace.
    let stage = stage().tool(Files::default()).settings("folders = [\"..\"]");
    let app = stage.start().await;
    let folder = stage.outside().display().to_string();
    let command = json!({ "command": "echo x > $OUT/fresh.txt" });
    let told = run_call(&app, &stage.model, "shell", command).await;
    let why = format!(
        "nothing new can be made directly in {folder}, because {folder}/home lies in it and is hidden from tools"
    );
    assert!(told.contains(&why), "{told}");
    let file = json!({ "path": format!("{folder}/fresh.txt"), "content": "x" });
    let told = run_call(&app, &stage.model, "write_file", file).await;
    assert!(told.contains("permission denied") && told.contains(&why), "{told}");
}

//! `orlop mcp`: how the MCP servers of the configuration are doing.

use crate::cli::Mcp;
use crate::exit::{Failure, INTERRUPTED};
use crate::interrupt::Interrupts;
use crate::output;
use crate::workplace::Workplace;
use orlop_mcp::ServerStatus;
use std::process::ExitCode;

pub(super) async fn run(workplace: &Workplace, command: Mcp) -> Result<ExitCode, Failure> {
    let servers = &workplace.mcp;
    match command {
        Mcp::List { json } => list(&servers.list(), json),
        Mcp::Add(add) => super::mcp_file::add(workplace, &add),
        Mcp::Remove { name, project } => super::mcp_file::remove(workplace, &name, project),
        Mcp::Test { name, json } => {
            let tested = or_interrupt(servers.test(&name)).await;
            servers.stop().await;
            show(&tested?, json)
        }
        Mcp::Login { name } => {
            let show = |url: &str| output::tell(&format!("Open {url}"));
            or_interrupt(servers.log_in(&name, show)).await?;
            output::line(&format!("You are logged in to {name}."))?;
            Ok(ExitCode::SUCCESS)
        }
        Mcp::Logout { name } => {
            let was = if servers.log_out(&name)? { "is removed" } else { "was not there" };
            output::line(&format!("The login to {name} {was}."))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn or_interrupt<T>(work: impl Future<Output = orlop_core::Result<T>>) -> Result<T, Failure> {
    let mut interrupts = Interrupts::new();
    tokio::select! {
        done = work => Ok(done?),
        () = interrupts.next() => {
            Err(Failure { code: INTERRUPTED, message: "stopped".to_owned() })
        }
    }
}

fn list(servers: &[ServerStatus], json: bool) -> Result<ExitCode, Failure> {
    if json {
        return Ok(output::json(&servers)?);
    }
    let rows: Vec<Vec<String>> = servers
        .iter()
        .map(|server| {
            let known = match (&server.error, server.known_for_s) {
                (Some(error), _) => error.clone(),
                (None, Some(seconds)) => format!("said so {}", ago(seconds)),
                (None, None) => "starts with the next request".to_owned(),
            };
            vec![
                server.name.clone(),
                server.transport.unwrap_or("-").to_owned(),
                server.state.to_owned(),
                server.tools.len().to_string(),
                server.prompts.len().to_string(),
                server.resources.len().to_string(),
                known,
            ]
        })
        .collect();
    let header = ["SERVER", "TRANSPORT", "STATE", "TOOLS", "PROMPTS", "RESOURCES", ""];
    Ok(output::table(&header, &rows)?)
}

fn show(server: &ServerStatus, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return Ok(output::json(&server)?);
    }
    let about = server.server.as_deref().unwrap_or("a server without a name");
    let protocol = server.protocol.as_deref().unwrap_or("-");
    output::line(&format!("{}: {about}, protocol {protocol}", server.name))?;
    for tool in &server.tools {
        let reads = if tool.reads_only { " (reads only)" } else { "" };
        let first = tool.description.lines().next().unwrap_or_default();
        output::line(&format!("  {}{reads}  {first}", tool.name))?;
    }
    for name in server.prompts.iter().chain(&server.resources) {
        output::line(&format!("  {name}"))?;
    }
    if let Some(instructions) = &server.instructions {
        output::line(&format!("\n{instructions}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A time that has passed, in words.
fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

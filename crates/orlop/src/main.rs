//! The `orlop` program with the plugins that ship with it.

use std::process::ExitCode;

/// Streams allocate much that is small and lives shortly on several threads at once: a host with 200 of
/// them needs a fifth less of the processor with it. `docs/benchmarks.md` has the figures.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    orlop::run(std::env::args_os(), orlop::shipped_plugins())
}

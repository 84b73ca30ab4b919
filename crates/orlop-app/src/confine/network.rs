//! Takes the network away from a thread and its children: a filter of system calls (seccomp) that
//! refuses sockets, UDP and raw ones included.

use super::Network;
use orlop_core::{Error, Result};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Whether there is a filter for this processor.
pub(super) const IS_POSSIBLE: bool =
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));

/// On x86_64 every call has a second number, which few kernels still know.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBERS: &[i64] = &[0, 0x4000_0000];
#[cfg(not(target_arch = "x86_64"))]
const SECOND_NUMBERS: &[i64] = &[0];

/// Refuses sockets to the calling thread, and whatever it starts, for good. Processors without a
/// filter keep what Landlock refuses, which is TCP.
pub(super) fn restrict(network: Network) -> Result<()> {
    if network == Network::Open || !IS_POSSIBLE {
        return Ok(());
    }
    let failed = |error: &dyn std::fmt::Display| {
        Error::unavailable(format!(
            "the sandbox cannot be made: the network cannot be taken away: {error}"
        ))
    };
    let program = filter(network).map_err(|error| failed(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| failed(&error))
}

fn filter(network: Network) -> std::result::Result<BpfProgram, seccompiler::BackendError> {
    // A call without conditions is refused whatever its arguments.
    let refused_sockets = match network {
        Network::Local => vec![SeccompRule::new(vec![SeccompCondition::new(
            0,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Ne,
            libc::AF_UNIX as u64,
        )?])?],
        Network::Open | Network::Closed => Vec::new(),
    };
    let mut rules = std::collections::BTreeMap::new();
    for second in SECOND_NUMBERS {
        rules.insert(libc::SYS_socket | second, refused_sockets.clone());
        // It opens sockets past the filter; programs fall back to ordinary calls.
        rules.insert(libc::SYS_io_uring_setup | second, Vec::new());
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = SeccompAction::Errno(libc::EACCES as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
}

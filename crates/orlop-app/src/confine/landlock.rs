//! Tells Landlock what a thread may reach.
//!
//! Landlock knows permissions only, each for everything below a folder. Where something hidden
//! lies below, its neighbours are permitted one by one, on every step of the way to it.

use super::places::DEVICES;
use super::{Network, Reach, Support, network};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use orlop_core::{Error, Result};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, openat};
use rustix::thread::CapabilitySet;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The newest interface whose effects are known here. Older kernels enforce what they can.
const KNOWN: ABI = ABI::V6;

/// Restricts the calling thread, and whatever it starts, for good.
pub(super) fn enforce(reach: &Reach) -> Result<()> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Error::unavailable(format!("the sandbox cannot be made: {what}: {error}"))
    };
    restrict(reach).map_err(|error| failed("files cannot be protected", &error))?;
    drop_privileges().map_err(|error| failed("root keeps its privileges", &error))?;
    network::restrict(reach.network)
}

/// What root keeps: the privileges over files and users that programs expect. With others, such as
/// looking into every process, it would lead around Landlock.
const PRIVILEGES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Programs that are started do not get them back: the restriction before has seen to that.
fn drop_privileges() -> rustix::io::Result<()> {
    let mut held = rustix::thread::capabilities(None)?;
    held.effective &= PRIVILEGES;
    held.permitted &= PRIVILEGES;
    held.inheritable &= PRIVILEGES;
    rustix::thread::set_capabilities(None, held)
}

/// What this kernel can do. A thread tries it, and ends.
pub(super) fn support() -> Support {
    let probe = || {
        let rules = Ruleset::default().handle_access(AccessFs::MakeBlock)?.create()?;
        rules.restrict_self()
    };
    let status = std::thread::Builder::new().spawn(probe).ok().and_then(|it| it.join().ok()?.ok());
    let landlock = match status.map(|status: RestrictionStatus| status.landlock) {
        Some(LandlockStatus::Available { effective_abi, kernel_abi }) => {
            kernel_abi.map_or(effective_abi as u32, i32::unsigned_abs)
        }
        _ => 0,
    };
    Support { landlock, network: network::IS_POSSIBLE }
}

fn restrict(reach: &Reach) -> std::result::Result<(), RulesetError> {
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(KNOWN))?;
    if reach.network != Network::Open {
        rules = rules.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let rules = rules.scope(Scope::from_all(KNOWN))?.create()?;
    let mut grants = Grants { rules, reach };
    let read = AccessFs::from_read(KNOWN);
    // Nodes of devices would lead around every permission.
    let write = AccessFs::from_all(KNOWN)
        & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    for folder in &reach.read {
        grants.root(folder, read)?;
    }
    for folder in &reach.write {
        grants.root(folder, write)?;
    }
    for device in DEVICES {
        grants.root(
            Path::new(device),
            AccessFs::from_all(KNOWN) & !AccessFs::MakeBlock & !AccessFs::MakeChar,
        )?;
    }
    grants.rules.restrict_self().map(drop)
}

/// A set of permissions under construction.
struct Grants<'a> {
    rules: RulesetCreated,
    reach: &'a Reach,
}

impl Grants<'_> {
    /// Permits what is below a path. There is nothing to permit where nothing is.
    fn root(
        &mut self,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> std::result::Result<(), RulesetError> {
        match openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(opened) => self.below(opened, path.to_owned(), access),
            Err(_) => Ok(()),
        }
    }

    /// Goes down by open folders and follows no link, so that nobody can put another one in the
    /// place of a folder meanwhile.
    fn below(
        &mut self,
        opened: OwnedFd,
        path: PathBuf,
        access: BitFlags<AccessFs>,
    ) -> std::result::Result<(), RulesetError> {
        if !self.reach.hides_below(&path) {
            return self.permit(&opened, access);
        }
        // Names may be seen; without them nobody finds their way around.
        self.permit(&opened, access & AccessFs::ReadDir)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = openat(&opened, ".", flags, Mode::empty()).and_then(Dir::new);
        // What cannot be listed is not permitted.
        for entry in listed.into_iter().flatten().flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") || entry.file_type() == FileType::Symlink {
                continue;
            }
            let path = path.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            if self.reach.hidden.contains(&path) {
                continue;
            }
            let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            if let Ok(opened) = openat(&opened, name, flags, Mode::empty()) {
                self.below(opened, path, access)?;
            }
        }
        Ok(())
    }

    fn permit(
        &mut self,
        opened: impl AsFd,
        access: BitFlags<AccessFs>,
    ) -> std::result::Result<(), RulesetError> {
        (&mut self.rules).add_rule(PathBeneath::new(opened, access)).map(drop)
    }
}

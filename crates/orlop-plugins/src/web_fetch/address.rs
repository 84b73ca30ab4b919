//! Which addresses are part of the public internet. Everything else belongs to this machine, its
//! network or its cloud, and a page must not be able to make an agent read that.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Blocks of IPv4 that nobody on the internet is reached by: first address and length of prefix.
const CLOSED_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // shared by providers; metadata of one cloud
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // this machine
    (Ipv4Addr::new(168, 63, 129, 16), 32), // the host of a cloud's machines
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // the link; metadata of clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocols; metadata of one cloud
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // examples
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // relays to IPv6
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // measurements
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // examples
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // examples
    (Ipv4Addr::new(224, 0, 0, 0), 3),      // groups, reserved, everybody
];

/// Blocks within the IPv6 internet (2000::/3) that are not open to everybody.
const CLOSED_V6: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocols, tunnels among them
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // examples
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // examples
];

/// Whether an address is on the public internet, also where it is written inside of another.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let bits = u32::from(address);
            !CLOSED_V4.iter().any(|(first, prefix)| {
                (bits ^ u32::from(*first)).checked_shr(32 - prefix).unwrap_or(0) == 0
            })
        }
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let part = address.segments();
    let within = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
    };
    match part {
        // ::ffff:a.b.c.d, an IPv4 address in the clothes of IPv6; and 64:ff9b::a.b.c.d, one that a
        // gateway translates.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            within(high, low)
        }
        // 2002:a.b.c.d::, a tunnel to an IPv4 address.
        [0x2002, high, low, ..] => within(high, low),
        [first, ..] if first & 0xe000 == 0x2000 => {
            let bits = u128::from(address);
            !CLOSED_V6
                .iter()
                .any(|(start, prefix)| (bits ^ u128::from(*start)) >> (128 - prefix) == 0)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_internet_is_public() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:4860:4860::8888",
            "2001:200::1",
            "::ffff:1.1.1.1",
            "64:ff9b::8.8.8.8",
            "2002:101:101::1",
        ];
        let closed = [
            // this machine
            "127.0.0.1",
            "127.255.255.255",
            "0.0.0.0",
            "0.1.2.3",
            "::1",
            "::",
            // private
            "10.0.0.1",
            "10.255.255.255",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "fc00::1",
            "fd12:3456::1",
            // the link and metadata of clouds
            "169.254.169.254",
            "169.254.0.1",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "fd00:ec2::254",
            "fe80::1",
            "fe80::a9fe:a9fe",
            "febf::1",
            "fec0::1",
            // shared, reserved, groups, everybody
            "100.64.0.1",
            "100.127.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "192.0.2.1",
            "198.51.100.7",
            "203.0.113.9",
            "192.88.99.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "ff02::1",
            "100::1",
            "2001:db8::1",
            "3fff::1",
            "4000::1",
            // tunnels, and IPv4 inside of IPv6
            "2001::1",
            "2001:0:53aa:64c::1",
            "2001:10::1",
            "2001:20::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "::7f00:1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::10.1.1.1",
            "64:ff9b:1::1.1.1.1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2002:c0a8:1::1",
        ];
        for (addresses, expected) in [(&public[..], true), (&closed[..], false)] {
            for text in addresses {
                assert_eq!(is_public(text.parse().unwrap()), expected, "{text}");
            }
        }
    }
}

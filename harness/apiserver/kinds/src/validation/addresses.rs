//! Addresses and ranges of addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use baton_apimachinery::field::{ErrorList, FieldPath};

const NO_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NO_RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// An address; `None`, and an error, if it is none.
pub(crate) fn ip(text: &str, at: &FieldPath<'_>, found: &mut ErrorList) -> Option<IpAddr> {
    match parsed(text) {
        Ok(address) => Some(address),
        Err(problem) => {
            found.invalid(at, text, problem);
            None
        }
    }
}

fn parsed(text: &str) -> Result<IpAddr, &'static str> {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(six)) if six.to_ipv4_mapped().is_some() => Err("must not be an IPv4-mapped IPv6 address"),
        Ok(address) => Ok(address),
        Err(_) if sloppy(text).is_some() => Err("must not have leading 0s"),
        Err(_) => Err(NO_ADDRESS),
    }
}

/// An address in the one way in which it is to be written.
pub(crate) fn strict_ip(text: &str) -> Result<IpAddr, String> {
    let address = parsed(text)?;
    if address.to_string() == text {
        Ok(address)
    } else {
        Err(format!("must be in canonical form ({:?})", address.to_string()))
    }
}

/// A range of addresses, such as `10.9.8.0/24`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    address: IpAddr,
    length: u8,
}

impl Range {
    /// Whether it is a range of the sixth version.
    pub(crate) fn is_ipv6(self) -> bool {
        self.address.is_ipv6()
    }

    /// Whether all addresses of the other range, but not all others, are in this one.
    pub(crate) fn is_strictly_around(self, inner: Self) -> bool {
        self.address.is_ipv6() == inner.address.is_ipv6()
            && inner.length > self.length
            && masked(self.address, self.length) == masked(inner.address, self.length)
    }
}

/// A range; `None`, and an error, if it is none.
pub(crate) fn cidr(text: &str, at: &FieldPath<'_>, found: &mut ErrorList) -> Option<Range> {
    match range(text) {
        Ok(range) => Some(range),
        Err(problem) => {
            found.invalid(at, text, problem);
            None
        }
    }
}

/// [`cidr`] in the one way in which it is to be written.
pub(crate) fn strict_cidr(text: &str, at: &FieldPath<'_>, found: &mut ErrorList) -> Option<Range> {
    let range = cidr(text, at, found)?;
    let canonical = format!("{}/{}", range.address, range.length);
    if canonical == text {
        return Some(range);
    }
    found.invalid(at, text, &format!("must be in canonical form ({canonical:?})"));
    None
}

fn range(text: &str) -> Result<Range, &'static str> {
    let (address, length) = text.split_once('/').ok_or(NO_RANGE)?;
    let digits = !length.is_empty() && length.len() <= 3 && length.bytes().all(|digit| digit.is_ascii_digit());
    let length_has_zeros = length.len() > 1 && length.starts_with('0');
    let length: u8 = length.parse().ok().filter(|_| digits).ok_or(NO_RANGE)?;
    let lenient = address
        .parse::<IpAddr>()
        .ok()
        .or_else(|| sloppy(address).map(IpAddr::V4));
    let bits = lenient.map(|address| if address.is_ipv4() { 32 } else { 128 });
    let (Some(parsed), true) = (lenient, bits.is_some_and(|bits| length <= bits)) else {
        return Err(NO_RANGE);
    };
    if length_has_zeros || address.parse::<IpAddr>().is_err() {
        return Err("must not have leading 0s in IP or prefix length");
    }
    if matches!(parsed, IpAddr::V6(six) if six.to_ipv4_mapped().is_some()) {
        return Err("must not have an IPv4-mapped IPv6 address");
    }
    if masked(parsed, length) != parsed {
        return Err("must not have bits set beyond the prefix length");
    }
    Ok(Range {
        address: parsed,
        length,
    })
}

/// An address of which only the first bits are left.
fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(four) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            Ipv4Addr::from(u32::from(four) & mask).into()
        }
        IpAddr::V6(six) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            Ipv6Addr::from(u128::from(six) & mask).into()
        }
    }
}

/// What was once read as an address: numbers with zeros before them.
fn sloppy(text: &str) -> Option<Ipv4Addr> {
    let mut parts = text.split('.').map(|part| {
        let digits = !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
        part.parse::<u8>().ok().filter(|_| digits)
    });
    let octets = [parts.next()??, parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(Ipv4Addr::from(octets))
}

/// Addresses that are nobody's.
pub(crate) fn reachable(ip: IpAddr, address: &str, at: &FieldPath<'_>, found: &mut ErrorList) {
    let local = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.segments()[0] == 0xff02),
    };
    let details = [
        (ip.is_unspecified(), format!("may not be unspecified ({address})")),
        (
            ip.is_loopback(),
            "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned(),
        ),
        (
            local.0,
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned(),
        ),
        (
            local.1,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned(),
        ),
    ];
    for (_, detail) in details.iter().filter(|(is, _)| *is) {
        found.invalid(at, address, detail);
    }
}

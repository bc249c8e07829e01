//! IP addresses and address ranges.

use std::net::IpAddr;

use super::super::super::formats::is_cidr;
use super::super::budget::Budget;
use super::super::error::{CelError, Outcome};
use super::super::value::Val;

pub(super) fn call<'a>(_: &mut Budget, name: &str, is_member: bool, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    if is_member {
        return match args {
            [Val::Ip(address)] => of_ip(name, address).map(Ok),
            [Val::Cidr(address, length)] => of_cidr(name, *address, *length).map(Ok),
            [Val::Cidr(address, length), other] => contains(name, *address, *length, other),
            _ => None,
        };
    }
    let [Val::Str(text)] = args else { return None };
    let text = text.as_str();
    let address = || text.parse::<IpAddr>();
    Some(match name {
        "ip" => address().map(Val::Ip).map_err(|_| {
            CelError::Eval(format!(
                "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): unable to parse IP"
            ))
        }),
        "isIP" => Ok(Val::Bool(address().is_ok())),
        "ip.isCanonical" => match address() {
            Ok(address) => Ok(Val::Bool(address.to_string() == text)),
            Err(_) => Err(CelError::Eval(format!(
                "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): unable to parse IP"
            ))),
        },
        "cidr" => match cidr(text) {
            Some((address, length)) => Ok(Val::Cidr(address, length)),
            None => Err(CelError::Eval(format!(
                "network address parse error during conversion from string: netip.ParsePrefix({text:?}): no '/'"
            ))),
        },
        "isCIDR" => Ok(Val::Bool(cidr(text).is_some())),
        _ => return None,
    })
}

fn cidr(text: &str) -> Option<(IpAddr, u8)> {
    if !is_cidr(text) {
        return None;
    }
    let (address, length) = text.split_once('/')?;
    Some((address.parse().ok()?, length.parse().ok()?))
}

fn of_ip<'a>(name: &str, address: &IpAddr) -> Option<Val<'a>> {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments().first().is_some_and(|first| first & 0xffc0 == 0xfe80),
    };
    let link_local_multicast = match address {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => address.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
    };
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    Some(match name {
        "family" => Val::Int(if address.is_ipv4() { 4 } else { 6 }),
        "isUnspecified" => Val::Bool(address.is_unspecified()),
        "isLoopback" => Val::Bool(address.is_loopback()),
        "isLinkLocalUnicast" => Val::Bool(link_local),
        "isLinkLocalMulticast" => Val::Bool(link_local_multicast),
        "isGlobalUnicast" => {
            let special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
            Val::Bool(!(special || link_local || broadcast))
        }
        _ => return None,
    })
}

fn of_cidr<'a>(name: &str, address: IpAddr, length: u8) -> Option<Val<'a>> {
    Some(match name {
        "ip" => Val::Ip(address),
        "prefixLength" => Val::Int(i64::from(length)),
        "masked" => Val::Cidr(masked(address, length), length),
        _ => return None,
    })
}

fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

fn contains<'a>(name: &str, address: IpAddr, length: u8, other: &Val<'a>) -> Option<Outcome<'a>> {
    let (inner, inner_length) = match (name, other) {
        ("containsIP", Val::Ip(inner)) => (*inner, 128),
        ("containsIP", Val::Str(text)) => match text.as_str().parse::<IpAddr>() {
            Ok(inner) => (inner, 128),
            Err(_) => {
                return Some(Err(CelError::Eval(format!(
                    "IP Address {:?} parse error",
                    text.as_str()
                ))));
            }
        },
        ("containsCIDR", Val::Cidr(inner, inner_length)) => (*inner, *inner_length),
        ("containsCIDR", Val::Str(text)) => match cidr(text.as_str()) {
            Some(parsed) => parsed,
            None => {
                return Some(Err(CelError::Eval(format!(
                    "network address parse error: {:?}",
                    text.as_str()
                ))));
            }
        },
        _ => return None,
    };
    let within = inner.is_ipv4() == address.is_ipv4()
        && inner_length >= length
        && masked(inner, length) == masked(address, length);
    Some(Ok(Val::Bool(within)))
}

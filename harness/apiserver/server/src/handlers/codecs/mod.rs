//! From the bytes of a request to objects, and from answers to bytes: which form is accepted ([`accept`]), decoding
//! ([`decode`]), what an answer is ([`reply`]) and how it is written ([`negotiate`], [`table`]).

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod decode;
pub(crate) mod negotiate;
pub(crate) mod reply;
pub(crate) mod strategic_decode;
pub(crate) mod table;

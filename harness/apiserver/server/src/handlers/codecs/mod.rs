//! Decoding of requests and encoding of answers: accepted forms ([`accept`]), decoding ([`decode`]), answers
//! ([`reply`]), their form ([`wish`]) and their encoding ([`negotiate`], [`table`]).

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod decode;
pub(crate) mod negotiate;
pub(crate) mod reply;
pub(crate) mod strategic_decode;
pub(crate) mod table;
pub(crate) mod wish;

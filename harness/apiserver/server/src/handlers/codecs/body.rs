//! The body of an answer: bytes, or the lines of a watch.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};

type Lines = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// The body of an answer.
pub struct ResponseBody(Inner);

enum Inner {
    Full(Option<Bytes>),
    Lines(Lines),
}

impl ResponseBody {
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Full(Some(bytes.into())))
    }

    pub(crate) fn lines(lines: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Self {
        Self(Inner::Lines(Box::pin(lines)))
    }
}

impl std::fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Inner::Full(bytes) => f.debug_tuple("Full").field(bytes).finish(),
            Inner::Lines(_) => f.write_str("Lines"),
        }
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.get_mut().0 {
            Inner::Full(bytes) => Poll::Ready(
                bytes
                    .take()
                    .filter(|bytes| !bytes.is_empty())
                    .map(|b| Ok(Frame::data(b))),
            ),
            Inner::Lines(lines) => lines
                .as_mut()
                .poll_next(cx)
                .map(|line| line.map(|line| line.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Inner::Full(bytes) if bytes.as_ref().is_none_or(Bytes::is_empty))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Full(bytes) => {
                SizeHint::with_exact(u64::try_from(bytes.as_ref().map_or(0, Bytes::len)).unwrap_or_default())
            }
            Inner::Lines(_) => SizeHint::default(),
        }
    }
}

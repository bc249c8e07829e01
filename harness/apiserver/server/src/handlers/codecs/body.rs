//! The body of an answer: bytes, or the lines of a watch.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};

type Lines = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// The body of an answer.
pub struct ResponseBody(Inner);

enum Inner {
    Full(Option<Bytes>),
    /// The lines, and where their bytes are counted.
    Lines(Lines, Option<Arc<AtomicU64>>),
}

impl ResponseBody {
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Full(Some(bytes.into())))
    }

    pub(crate) fn lines(lines: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Self {
        Self(Inner::Lines(Box::pin(lines), None))
    }

    /// Returns the number of bytes; `None` for the lines of a watch.
    pub(crate) fn full_len(&self) -> Option<u64> {
        match &self.0 {
            Inner::Full(bytes) => u64::try_from(bytes.as_ref().map_or(0, Bytes::len)).ok(),
            Inner::Lines(..) => None,
        }
    }

    /// Adds the bytes of the lines of a watch to `sent` when they are sent.
    pub(crate) fn count_lines(&mut self, sent: Arc<AtomicU64>) {
        match &mut self.0 {
            Inner::Full(_) => {}
            Inner::Lines(_, counted) => *counted = Some(sent),
        }
    }
}

impl std::fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Inner::Full(bytes) => f.debug_tuple("Full").field(bytes).finish(),
            Inner::Lines(..) => f.write_str("Lines"),
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
            Inner::Lines(lines, counter) => {
                let line = lines.as_mut().poll_next(cx);
                if let (Poll::Ready(Some(Ok(line))), Some(counter)) = (&line, counter) {
                    counter.fetch_add(line.len() as u64, Ordering::Relaxed);
                }
                line.map(|line| line.map(|line| line.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Inner::Full(bytes) if bytes.as_ref().is_none_or(Bytes::is_empty))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Full(_) => SizeHint::with_exact(self.full_len().unwrap_or_default()),
            Inner::Lines(..) => SizeHint::default(),
        }
    }
}

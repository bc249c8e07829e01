//! Files that a run writes, and documents made from them. Everything here is made from the events of a run
//! and from nothing else.
//!
//! - [`model`]: the ConformanceReport, an API type for publication; [`build`]: builds it from events;
//! - [`defects`]: the findings of all cases, each difference once; [`baseline`]: the known defects that still show;
//! - [`causes`]: failed cases by their likely cause;
//! - `extent`: how much of the suite a report is about;
//! - [`described`]: defects in words; [`junit`] and [`summary`]: a report for CI systems, as XML and as Markdown;
//!   [`lines`]: the events, a line of JSON each;
//! - [`timeline_view`]: a timeline as swim lanes, for people to look at; [`difference`]: what a revision changed;
//! - [`verify`]: makes a report again from its evidence; [`settled`]: what of it timelines carry; [`compare`]: what
//!   became better or worse between two reports; [`merge`]: one report from those of several shards.

pub mod baseline;
pub mod build;
pub mod causes;
pub mod compare;
pub mod defects;
pub mod described;
pub mod difference;
mod extent;
pub mod junit;
pub mod lines;
pub mod merge;
pub mod model;
pub mod settled;
pub mod summary;
pub mod timeline_view;
pub mod verify;

pub use build::Builder;
pub use model::ConformanceReport;

//! Standard output: who reads it may stop reading before the end, as `head` does. What follows then goes nowhere, and
//! the command ends as it would have.

use std::{
    fmt,
    io::{self, Write as _},
};

/// Writes to standard output, as `print!` does, but does not panic when nobody reads any more.
macro_rules! out {
    ($($arg:tt)*) => { $crate::stdout::write(format_args!($($arg)*)) };
}

/// Writes a line to standard output, as `println!` does, but does not panic when nobody reads any more.
macro_rules! outln {
    () => { $crate::stdout::write(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::stdout::write(format_args!("{}\n", format_args!($($arg)*))) };
}

pub(crate) use {out, outln};

/// Writes to standard output.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_fmt(text).and_then(|()| stdout.flush())
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        // Such as a full disk. There is nobody else to tell, and it must not end a run that has clusters to remove.
        let _ = writeln!(io::stderr(), "error: standard output: {error}");
    }
}

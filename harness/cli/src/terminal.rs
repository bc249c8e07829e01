//! Standard output and standard error: all output to the terminal goes through this module.
//!
//! - Texts of cases, targets and clusters may contain anything, so control characters are shown, not obeyed: no text
//!   moves the cursor, clears the screen, hides text or reaches the clipboard. On a terminal plain colours pass, which
//!   are ours.
//! - A reader may stop before the end, as `head` does. The rest of the output is dropped, and the command ends as it
//!   would have.

use std::{
    borrow::Cow,
    fmt,
    io::{self, IsTerminal as _, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

/// Set if writing to standard output failed.
static LOST: AtomicBool = AtomicBool::new(false);

/// Writes to standard output, as `print!` does, but does not panic when the reader is gone.
macro_rules! out {
    ($($arg:tt)*) => { $crate::terminal::write(format_args!($($arg)*)) };
}

/// Writes a line to standard output, as `println!` does, but does not panic when the reader is gone.
macro_rules! outln {
    () => { $crate::terminal::write(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::terminal::write(format_args!("{}\n", format_args!($($arg)*))) };
}

/// Writes to standard error, as `eprint!` does, but does not panic when the reader is gone.
macro_rules! err {
    ($($arg:tt)*) => { $crate::terminal::write_error(format_args!($($arg)*)) };
}

/// Writes a line to standard error, as `eprintln!` does, but does not panic when the reader is gone.
macro_rules! errln {
    ($($arg:tt)*) => { $crate::terminal::write_error(format_args!("{}\n", format_args!($($arg)*))) };
}

pub(crate) use {err, errln, out, outln};

/// Writes to standard output.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    let text = fitting(text.to_string());
    let text = clean(&text, stdout.is_terminal());
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        && error.kind() != io::ErrorKind::BrokenPipe
        && !LOST.swap(true, Ordering::SeqCst)
    {
        // For example a full disk. The error must not end a run that has clusters to remove.
        let _ = writeln!(io::stderr(), "error: cannot write to standard output: {error}");
    }
}

/// Returns `true` if writing to standard output failed for another reason than that its reader is gone.
pub(crate) fn lost_output() -> bool {
    LOST.load(Ordering::SeqCst)
}

/// Writes to standard error. An error is ignored: there is no other place to report it.
pub(crate) fn write_error(text: fmt::Arguments<'_>) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(clean(&fitting(text.to_string()), stderr.is_terminal()).as_bytes());
}

/// Standard error for logs; each event is one write.
#[derive(Debug, Clone, Copy)]
pub struct Logs;

impl io::Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_error(format_args!("{}", String::from_utf8_lossy(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes colours if the terminal has none.
fn fitting(text: String) -> String {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if dumb { without_colours(&text) } else { text }
}

fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = colour(rest).map_or(0, str::len);
        if taken == 0 {
            plain.push('\u{1b}');
        }
        rest = &rest[taken.max(1)..];
    }
    plain + rest
}

/// Returns a text in one line, without characters that a terminal obeys.
pub(crate) fn line(text: &str) -> String {
    clean(text, false).replace(['\n', '\t'], " ")
}

/// Returns a text without characters that a terminal obeys, except for line ends, tabs, and colours if `colours` is
/// set.
pub(crate) fn clean(text: &str, colours: bool) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_obeyed) {
        clean.push_str(&rest[..at]);
        rest = &rest[at..];
        let colour = colour(rest).filter(|_| colours);
        let taken = if let Some(colour) = colour {
            clean.push_str(colour);
            colour.len()
        } else {
            let first = rest.chars().next().unwrap_or_default();
            // Line ends of other systems are line ends, too.
            if !rest.starts_with("\r\n") {
                clean.push(picture(first));
            }
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

fn is_obeyed(c: char) -> bool {
    let direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let separator = matches!(c, '\u{2028}' | '\u{2029}');
    direction || separator || (c.is_control() && c != '\n' && c != '\t')
}

/// Returns a visible character in place of one that a terminal obeys.
fn picture(c: char) -> char {
    match u32::from(c) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// Returns the escape sequence at the beginning of a text if it only sets the colour or the weight of letters, and does
/// not hide them.
fn colour(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("\u{1b}[")?;
    let end = inner.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let plain = match &inner[..end] {
        "" | "0" | "1" | "3" | "4" | "22" | "23" | "24" | "39" => true,
        // Black is invisible on many terminals.
        "30" => false,
        one if one.len() == 2 => one.starts_with('3') || one.starts_with('9'),
        indexed => matches!(
            indexed.strip_prefix("38;5;"),
            Some("9" | "10" | "11" | "12" | "13" | "14" | "15")
        ),
    };
    (plain && inner[end..].starts_with('m')).then(|| &text[..=2 + end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        for (hostile, shown) in [
            ("\u{1b}[2J\u{1b}[H247 conform", "␛[2J␛[H247 conform"),
            ("\u{1b}]52;c;cm0gLXJm\u{7}", "␛]52;c;cm0gLXJm␇"),
            ("\u{9b}2J\u{90}x\u{9c}", "\u{fffd}2J\u{fffd}x\u{fffd}"),
            ("passed\rfailed\u{8}\u{7f}", "passed␍failed␈␡"),
            ("\u{202e}degnahc\u{2066}\u{200f}", "\u{fffd}degnahc\u{fffd}\u{fffd}"),
            ("one\u{2028}two", "one\u{fffd}two"),
            ("\u{0}", "␀"),
            ("\u{1b}[31mred", "␛[31mred"),
        ] {
            assert_eq!(clean(hostile, false), shown);
        }
        assert_eq!(line("one\n247 conform"), "one 247 conform");
        assert_eq!(clean("über\tzwei\r\nZeilen 🎉", false), "über\tzwei\nZeilen 🎉");
    }

    #[test]
    fn a_terminal_without_colours_is_given_none() {
        assert_eq!(
            without_colours("\u{1b}[1m\u{1b}[92mconforms\u{1b}[0m \u{1b}[2J"),
            "conforms \u{1b}[2J"
        );
    }

    #[test]
    fn a_terminal_is_given_colours_but_nothing_that_hides_or_moves() {
        for colour in ["[0m", "[1m", "[31m", "[92m", "[38;5;10m", "[m"] {
            let text = format!("\u{1b}{colour}x");
            assert_eq!(clean(&text, true), text);
        }
        for other in [
            "[8m",
            "[30m",
            "[40m",
            "[7m",
            "[5m",
            "[38;5;0m",
            "[2J",
            "[31",
            "[38;2;0;0;0m",
            "]0;x",
        ] {
            let text = format!("\u{1b}{other}x");
            assert_eq!(clean(&text, true), format!("␛{other}x"));
        }
    }
}

//! Comments, messages, guides and cases are written in plain English.
//!
//! [`RULES`] lists phrasings that make a reader translate, each with a plain replacement. The test counts them in the
//! comments and string literals of Rust, and in Markdown, YAML and HTML. A match is a place to look at and not always a
//! mistake, so a few are allowed: see [`CEILING`].

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

/// Highest number of matches allowed per 10,000 lines. It may only fall.
const CEILING: usize = 12;

/// Folders with text from elsewhere: recorded answers, timelines, published reports, definitions of other projects.
const NOT_OURS: [&str; 9] = [
    "fixtures/answers",
    "fixtures/crds",
    "fixtures/flink/crd-of-operator.yaml",
    "fixtures/recordings",
    "fixtures/reports/karmada",
    "fixtures/reports/reference",
    "fixtures/timelines",
    "fixtures/transcripts",
    // This file quotes the phrasings that it looks for.
    "harness/cli/tests/prose.rs",
];

/// An awkward phrasing and its plain replacement.
struct Rule {
    name: &'static str,
    instead: &'static str,
    place: Place,
    /// Word patterns, of which one must match: `|` separates alternatives of a word, `*` stands for any word.
    patterns: &'static [&'static str],
    /// Last words of a pattern that make the phrasing an ordinary one.
    except: &'static str,
    /// Rust source that contains the phrasing.
    example: &'static str,
    /// The same statement in plain English.
    plain: &'static str,
}

/// Place in a passage where a rule applies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Anywhere,
    /// The beginning of a sentence that is not a question.
    Sentence,
    /// The beginning of a paragraph of a doc comment.
    DocParagraph,
}

const RULES: [Rule; 11] = [
    Rule {
        name: "a doc comment begins with a question word",
        instead: "name the thing with a noun, or say what the function does with a verb",
        place: Place::DocParagraph,
        patterns: &["what|whether|which|why|where|who", "how long|many|much|often"],
        except: "",
        example: "/// Whether the cluster answers.\nfn answers() {}",
        plain: "/// Returns `true` if the cluster answers.\nfn answers() {}",
    },
    Rule {
        name: "a person without a name",
        instead: "name the person or the program: the user, the author of a case, the caller",
        place: Place::Anywhere,
        patterns: &["somebody|somebody's|nobody|nobody's|whoever|whosever"],
        except: "",
        example: "// Ends when somebody interrupts the run.",
        plain: "// Ends when the user interrupts the run.",
    },
    Rule {
        name: "\"is no\" before a noun",
        instead: "\"is not a …\", or say what it is",
        place: Place::Anywhere,
        patterns: &["is|are|was|were|be no *"],
        except: "longer more less such matter one other need way different risk reason change point",
        example: "fn f() { fail(\"{key} is no label key\") }",
        plain: "fn f() { fail(\"{key} is not a label key\") }",
    },
    Rule {
        name: "\"is to be\" for a duty",
        instead: "\"must be\", \"should be\" or the present tense",
        place: Place::Anywhere,
        patterns: &["is|are|was|were to be"],
        except: "",
        example: "// The object is to be deleted first.",
        plain: "// The object must be deleted first.",
    },
    Rule {
        name: "a program that is told",
        instead: "reported, notified, passed, configured",
        place: Place::Anywhere,
        patterns: &["is|are|was|were told"],
        except: "",
        example: "// The watcher is told of each change.",
        plain: "// The watcher is notified of each change.",
    },
    Rule {
        name: "a thing that can be had",
        instead: "available, or the verb that gets it",
        place: Place::Anywhere,
        patterns: &["can|could|may be had", "could not be had"],
        except: "",
        example: "fn f() { fail(\"no thread can be had\") }",
        plain: "fn f() { fail(\"cannot start a thread\") }",
    },
    Rule {
        name: "an amount without a measure",
        instead: "name the duration or the number",
        place: Place::Anywhere,
        patterns: &["for so long", "so often"],
        except: "",
        example: "// Every request waits for so long.",
        plain: "// Every request waits for `delay`.",
    },
    Rule {
        name: "a sentence whose subject is a clause with what",
        instead: "a noun as the subject",
        place: Place::Sentence,
        patterns: &["what * is|was|are|were|has|have|had|does|do|says|brings|holds|comes|stands"],
        except: "",
        example: "// What others have written is skipped.",
        plain: "// Files that were read are skipped.",
    },
    Rule {
        name: "a thing of its own, or by itself",
        instead: "\"its own …\", \"separate\", \"alone\", \"automatically\"",
        place: Place::Anywhere,
        patterns: &["of its|their own", "by itself|themselves"],
        except: "",
        example: "// Each case has a namespace of its own.",
        plain: "// Each case has its own namespace.",
    },
    Rule {
        name: "beside, besides, meanwhile",
        instead: "next to, with, at the same time, in addition, until then",
        place: Place::Anywhere,
        patterns: &["beside|besides|meanwhile"],
        except: "",
        example: "// The limit holds besides the timeout.",
        plain: "// The limit holds in addition to the timeout.",
    },
    Rule {
        name: "a program that wants",
        instead: "needs, expects, requires",
        place: Place::Anywhere,
        patterns: &["it|somebody wants"],
        except: "",
        example: "// The server closes the stream when it wants a new list.",
        plain: "// The server closes the stream when it needs a new list.",
    },
];

#[test]
fn the_text_of_the_repository_is_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut lines, mut found) = (0, Vec::new());
    for file in text_files(&root) {
        let text = fs::read_to_string(root.join(&file)).unwrap();
        lines += text.lines().count();
        found.extend(matches_in(&file, &text));
    }
    assert!(lines > 10_000, "only {lines} lines were read");
    let rate = (found.len() * 10_000).div_ceil(lines);
    assert!(
        rate <= CEILING,
        "{rate} awkward phrasings per 10,000 lines, {CEILING} are allowed\n{}",
        report(&found)
    );
}

#[test]
fn each_rule_finds_its_example_and_accepts_the_plain_sentence() {
    for rule in &RULES {
        assert!(
            rules_in(rule.example).contains(&rule.name),
            "{}: {}",
            rule.name,
            rule.example
        );
        assert_eq!(rules_in(rule.plain), [""; 0], "{}", rule.plain);
        for word in rule.except.split_whitespace() {
            let text = format!("// There is no {word} nobody");
            assert_eq!(rules_in(&text), ["a person without a name"], "{text}");
        }
    }
}

fn rules_in(text: &str) -> Vec<&'static str> {
    let found = matches_in(Path::new("example.rs"), text).into_iter();
    found.map(|found| found.rule.name).collect()
}

#[test]
fn comments_and_strings_of_rust_are_read_and_code_is_not() {
    let text = concat!(
        "fn nobody<'a>(meanwhile: &'a str) -> char {\n",
        "    let _ = ('\"', '\\'', r#\"a \"raw\" nobody\"#, \"two \\\"\\\n        lines, meanwhile\");\n",
        "    'x' // it /* wants */ `nobody`\n",
        "}\n",
        "/* of /* its */ own */\n",
        "/// Fine. What happened?\n///\n/// What happened, and when.\n",
    );
    let found = matches_in(Path::new("example.rs"), text);
    let places: Vec<_> = found.iter().map(|found| (found.line, found.quote.as_str())).collect();
    assert_eq!(
        places,
        [(2, "nobody"), (3, "meanwhile"), (6, "of its own"), (9, "what")],
    );
}

#[test]
fn markdown_is_read_except_for_blocks_of_code() {
    let text = "# Title\n\n```\nnobody\n```\n- What it says is\n  of its\n  own `besides`\n- What is it?\n";
    let found = matches_in(Path::new("guide.md"), text);
    let places: Vec<_> = found.iter().map(|found| (found.line, found.quote.as_str())).collect();
    assert_eq!(places, [(6, "what it says"), (7, "of its own")]);
}

/// One awkward phrasing in a file.
struct Match {
    file: PathBuf,
    line: usize,
    rule: &'static Rule,
    quote: String,
}

/// Files with text of this project, relative to the root of the repository.
fn text_files(root: &Path) -> Vec<PathBuf> {
    let relative = |path: &Path| path.strip_prefix(root).unwrap().to_owned();
    let is_ours = |path: &Path| {
        let path = relative(path);
        !NOT_OURS.iter().any(|other| path.starts_with(other)) && !path.ends_with("target") && !path.ends_with(".git")
    };
    let walk = WalkDir::new(root).sort_by_file_name().into_iter();
    let entries = walk.filter_entry(|entry| is_ours(entry.path())).map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| relative(entry.path()))
        .filter(|path| {
            path.extension().is_some_and(|extension| {
                ["rs", "md", "yaml", "yml", "html"]
                    .iter()
                    .any(|known| extension == *known)
            })
        })
        .collect()
}

fn matches_in(file: &Path, text: &str) -> Vec<Match> {
    let extension = file.extension().unwrap().to_str().unwrap();
    let passages = match extension {
        "rs" => passages_of_rust(text),
        _ => passages_of_prose(text, extension == "md"),
    };
    let mut found = Vec::new();
    for passage in passages {
        let words = words(&passage);
        let starts = words
            .iter()
            .enumerate()
            .filter(|(_, word)| word.text.starts_with(char::is_alphabetic));
        for (start, _) in starts {
            for rule in &RULES {
                let longest = rule
                    .patterns
                    .iter()
                    .filter_map(|pattern| rule.length_at(pattern, &words[start..]))
                    .max();
                if let Some(length) = longest {
                    let quote: Vec<&str> = words[start..start + length]
                        .iter()
                        .map(|word| word.text.as_str())
                        .collect();
                    found.push(Match {
                        file: file.to_owned(),
                        line: words[start].line,
                        rule,
                        quote: quote.join(" "),
                    });
                }
            }
        }
    }
    found
}

impl Rule {
    /// Number of words that a pattern of this rule covers at the beginning of `words`.
    fn length_at(&self, pattern: &str, words: &[Word]) -> Option<usize> {
        let mut length = 0;
        for slot in pattern.split(' ') {
            let word = &words.get(length)?.text;
            let fits = match slot {
                "*" => word.starts_with(char::is_alphabetic),
                alternatives => alternatives.split('|').any(|alternative| alternative == word),
            };
            if !fits {
                return None;
            }
            length += 1;
        }
        let last = &words[length - 1].text;
        let is_ordinary = self.except.split_whitespace().any(|word| word == last);
        let is_here = match self.place {
            Place::Anywhere => true,
            place => words[0].begins >= place && !is_question(words),
        };
        (is_here && !is_ordinary).then_some(length)
    }
}

fn is_question(words: &[Word]) -> bool {
    let end = words.iter().find(|word| ".?!¶".contains(&word.text));
    end.is_some_and(|end| end.text == "?")
}

/// Text between two pieces of code, or a paragraph.
struct Passage {
    line: usize,
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Doc,
    Comment,
    Other,
}

/// A word in lower case, or a punctuation mark.
struct Word {
    text: String,
    line: usize,
    /// The largest unit of text that this word begins; `Anywhere` if it begins none.
    begins: Place,
}

/// The words and punctuation marks of a passage. A span of code between backticks counts as one mark.
fn words(passage: &Passage) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (index, line) in passage.text.split('\n').enumerate() {
        let line_number = passage.line + index;
        let mut rest = line.trim_start();
        let is_item = ["- ", "* "].iter().any(|bullet| rest.starts_with(bullet));
        if rest.is_empty() || is_item {
            words.push(mark("¶", line_number));
        }
        while let Some(first) = rest.chars().next() {
            let belongs = |c: char| c.is_alphanumeric() || "'_-".contains(c);
            let length = match first {
                '`' => rest[1..].find('`').map_or(1, |end| end + 2),
                c if c.is_alphanumeric() => rest.find(|c| !belongs(c)).unwrap_or(rest.len()),
                c => c.len_utf8(),
            };
            let (word, after) = rest.split_at(length);
            rest = after;
            if first.is_whitespace() {
                continue;
            }
            let begins = match words.last().map(|word| word.text.as_str()) {
                _ if !first.is_uppercase() => Place::Anywhere,
                None | Some("¶") if passage.kind == Kind::Doc => Place::DocParagraph,
                None | Some("¶" | "." | "!" | "?" | "|" | ":" | "-" | "*" | "#" | "\"") => Place::Sentence,
                Some(_) => Place::Anywhere,
            };
            words.push(Word {
                text: word.to_lowercase(),
                line: line_number,
                begins,
            });
        }
    }
    words
}

fn mark(text: &str, line: usize) -> Word {
    Word {
        text: text.to_owned(),
        line,
        begins: Place::Anywhere,
    }
}

/// Paragraphs of a file that is prose as a whole, without the fenced blocks of code of Markdown.
fn passages_of_prose(text: &str, is_markdown: bool) -> Vec<Passage> {
    let mut in_code = false;
    let mut kept = String::new();
    for line in text.lines() {
        let is_fence = is_markdown && line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if !is_fence && !in_code {
            kept.push_str(line.trim_start_matches([' ', '#']));
        }
        kept.push('\n');
    }
    vec![Passage {
        line: 1,
        kind: Kind::Other,
        text: kept,
    }]
}

/// Comments and string literals of a Rust file. Comments on adjacent lines are one passage.
fn passages_of_rust(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, passage) = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            (length, Some(line_comment(&rest[..length])))
        } else if rest.starts_with("/*") {
            let length = block_comment(rest);
            (
                length,
                Some((Kind::Comment, rest[..length].replace("/*", "").replace("*/", ""))),
            )
        } else if c == '"' {
            let (length, content) = string_literal(&text[..at], rest);
            (length, Some((Kind::Other, content)))
        } else {
            (if c == '\'' { quote_length(rest) } else { c.len_utf8() }, None)
        };
        if let Some((kind, text)) = passage {
            match passages.last_mut() {
                Some(last)
                    if kind != Kind::Other
                        && last.kind == kind
                        && last.line + last.text.split('\n').count() == line =>
                {
                    last.text.push('\n');
                    last.text.push_str(&text);
                }
                _ => passages.push(Passage { line, kind, text }),
            }
        }
        line += rest[..length].matches('\n').count();
        at += length;
    }
    passages
}

fn line_comment(comment: &str) -> (Kind, String) {
    let doc = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"));
    match doc {
        Some(text) => (Kind::Doc, text.to_owned()),
        None => (Kind::Comment, comment.trim_start_matches('/').to_owned()),
    }
}

/// Length of the block comment at the beginning of `text`; block comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let step = match text.as_bytes()[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Length and content of the string literal at the beginning of `text`; `before` shows if it is a raw one.
fn string_literal(before: &str, text: &str) -> (usize, String) {
    let unhashed = before.trim_end_matches('#');
    if unhashed.ends_with('r') {
        let end = format!("\"{}", "#".repeat(before.len() - unhashed.len()));
        let length = text[1..].find(&end).map_or(text.len(), |found| found + 1 + end.len());
        return (length, text[1..length].trim_end_matches(&end).to_owned());
    }
    let mut content = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((index, c)) = chars.next() {
        match c {
            '"' => return (index + 1, content),
            '\\' => content.push(chars.next().filter(|(_, c)| *c == '\n').map_or(' ', |(_, c)| c)),
            c => content.push(c),
        }
    }
    (text.len(), content)
}

/// Length of a character literal, or of the quote alone that begins a lifetime.
fn quote_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(1, |end| end + 4),
        Some(_) => chars
            .next()
            .filter(|(_, c)| *c == '\'')
            .map_or(1, |(index, _)| index + 1),
        None => 1,
    }
}

/// The number of matches by rule and by file, and the lines of the worst files.
fn report(found: &[Match]) -> String {
    let mut by_rule: BTreeMap<&str, (usize, &Rule)> = BTreeMap::new();
    let mut by_file: BTreeMap<&Path, Vec<&Match>> = BTreeMap::new();
    for one in found {
        by_rule.entry(one.rule.name).or_insert((0, one.rule)).0 += 1;
        by_file.entry(&one.file).or_default().push(one);
    }
    let mut text = String::from("by phrasing:\n");
    for (name, (count, rule)) in by_rule {
        writeln!(text, "{count:6}  {name} (instead: {})", rule.instead).unwrap();
    }
    let mut files: Vec<_> = by_file.into_iter().collect();
    files.sort_by_key(|(_, found)| std::cmp::Reverse(found.len()));
    text.push_str("the worst files:\n");
    for (file, found) in files.into_iter().take(20) {
        writeln!(text, "{:6}  {}", found.len(), file.display()).unwrap();
        for one in found.into_iter().take(10) {
            writeln!(text, "          {}:{}: {}", file.display(), one.line, one.quote).unwrap();
        }
    }
    text
}

//! Label selectors: `a=b,c!=d,e in (f,g),!h,i>1`.

use thiserror::Error;

use crate::metadata::names;

/// An error in a label selector, in the words of a kube-apiserver.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LabelSelectorError {
    /// Another token is expected.
    #[error("found '{found}', expected: {expected}")]
    Unexpected {
        /// Text of the token.
        found: String,
        /// The tokens that are expected.
        expected: &'static str,
    },
    /// A list of values does not begin with a parenthesis.
    #[error("found '{found}' expected: '('")]
    Unopened {
        /// Text of the token.
        found: String,
    },
    /// A key or value is invalid.
    #[error("{field}: Invalid value: {value:?}: {detail}")]
    Invalid {
        /// Place in the requirement.
        field: String,
        /// The key or value.
        value: String,
        /// Reason.
        detail: String,
    },
    /// A requirement cannot be parsed.
    #[error("unable to parse requirement: {0}")]
    Requirement(#[source] Box<Self>),
}

impl LabelSelectorError {
    fn unexpected(found: &Token, expected: &'static str) -> Self {
        let found = found.text().to_owned();
        Self::Unexpected { found, expected }
    }
}

/// A parsed label selector; all requirements must hold.
#[derive(Debug, Clone, Default)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Exists,
    Absent,
    In,
    NotIn,
    Greater,
    Less,
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let listed = |value: &str| self.values.iter().any(|each| each == value);
        let number = |text: &str| text.parse::<i64>().ok();
        let bound = || self.values.first().and_then(|text| number(text));
        match self.operator {
            Operator::Exists => value.is_some(),
            Operator::Absent => value.is_none(),
            Operator::In => value.is_some_and(listed),
            Operator::NotIn => !value.is_some_and(listed),
            Operator::Greater => value
                .and_then(number)
                .zip(bound())
                .is_some_and(|(value, bound)| value > bound),
            Operator::Less => value
                .and_then(number)
                .zip(bound())
                .is_some_and(|(value, bound)| value < bound),
        }
    }
}

impl LabelSelector {
    /// Returns `true` if the selector selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Matches the selector against an object whose labels are looked up one by one.
    pub fn matches_with(&self, label: impl Fn(&str, &dyn Fn(Option<&str>) -> bool) -> bool) -> bool {
        self.0
            .iter()
            .all(|requirement| label(&requirement.key, &|value| requirement.matches(value)))
    }

    /// Parses a selector.
    ///
    /// # Errors
    /// If the text is not a label selector.
    pub fn parse(text: &str) -> Result<Self, LabelSelectorError> {
        let mut parser = Parser {
            tokens: lex(text),
            position: 0,
        };
        let mut requirements = Vec::new();
        loop {
            match parser.peek() {
                Token::End => break,
                Token::Word(_) | Token::Not | Token::In | Token::NotIn => {}
                other => {
                    let expected = "!, identifier, or 'end of string'";
                    return Err(LabelSelectorError::unexpected(other, expected));
                }
            }
            let requirement = parser.requirement();
            requirements.push(requirement.map_err(|error| LabelSelectorError::Requirement(Box::new(error)))?);
            match parser.next() {
                Token::End => break,
                Token::Comma => {
                    let next = parser.peek();
                    if !matches!(next, Token::Word(_) | Token::Not | Token::In | Token::NotIn) {
                        return Err(LabelSelectorError::unexpected(next, "identifier after ','"));
                    }
                }
                other => return Err(LabelSelectorError::unexpected(&other, "',' or 'end of string'")),
            }
        }
        Ok(Self(requirements))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Not,
    Equal,
    DoubleEqual,
    NotEqual,
    Greater,
    Less,
    Open,
    Close,
    Comma,
    In,
    NotIn,
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Not => "!",
            Self::Equal => "=",
            Self::DoubleEqual => "==",
            Self::NotEqual => "!=",
            Self::Greater => ">",
            Self::Less => "<",
            Self::Open => "(",
            Self::Close => ")",
            Self::Comma => ",",
            Self::In => "in",
            Self::NotIn => "notin",
            Self::End => "",
        }
    }
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn lex(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_special(first) {
            if rest.starts_with("==") || rest.starts_with("!=") {
                2
            } else {
                1
            }
        } else {
            rest.find(|c: char| is_special(c) || c.is_ascii_whitespace())
                .unwrap_or(rest.len())
        };
        let (lexeme, after) = rest.split_at(length);
        tokens.push(match lexeme {
            "!" => Token::Not,
            "=" => Token::Equal,
            "==" => Token::DoubleEqual,
            "!=" => Token::NotEqual,
            ">" => Token::Greater,
            "<" => Token::Less,
            "(" => Token::Open,
            ")" => Token::Close,
            "," => Token::Comma,
            "in" => Token::In,
            "notin" => Token::NotIn,
            word => Token::Word(word.to_owned()),
        });
        rest = after.trim_start();
    }
    tokens.push(Token::End);
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.position).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.position += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, LabelSelectorError> {
        let negated = self.peek() == &Token::Not;
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(word) => word,
            word @ (Token::In | Token::NotIn) => word.text().to_owned(),
            other => return Err(LabelSelectorError::unexpected(&other, "identifier")),
        };
        check_key(&key)?;
        let bare = matches!(self.peek(), Token::End | Token::Comma);
        if negated || bare {
            let operator = if negated { Operator::Absent } else { Operator::Exists };
            return Ok(Requirement {
                key,
                operator,
                values: Vec::new(),
            });
        }
        let token = self.next();
        let (operator, values) = match &token {
            Token::In => (Operator::In, self.values()?),
            Token::NotIn => (Operator::NotIn, self.values()?),
            Token::Equal | Token::DoubleEqual => (Operator::In, vec![self.exact_value()?]),
            Token::NotEqual => (Operator::NotIn, vec![self.exact_value()?]),
            Token::Greater => (Operator::Greater, vec![self.exact_value()?]),
            Token::Less => (Operator::Less, vec![self.exact_value()?]),
            Token::Word(_) | Token::Not | Token::Open | Token::Close | Token::Comma | Token::End => {
                return Err(LabelSelectorError::unexpected(&token, "in, notin, =, ==, !=, gt, lt"));
            }
        };
        check_values(&key, operator, &values)?;
        Ok(Requirement { key, operator, values })
    }

    fn exact_value(&mut self) -> Result<String, LabelSelectorError> {
        match self.peek() {
            Token::End | Token::Comma => Ok(String::new()),
            Token::Word(_) | Token::In | Token::NotIn => Ok(self.next().text().to_owned()),
            other => Err(LabelSelectorError::unexpected(other, "identifier")),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, LabelSelectorError> {
        let open = self.next();
        if open != Token::Open {
            let found = open.text().to_owned();
            return Err(LabelSelectorError::Unopened { found });
        }
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::In | Token::NotIn => values.push(self.next().text().to_owned()),
                Token::Comma | Token::Close => values.push(String::new()),
                other => return Err(LabelSelectorError::unexpected(other, "',', ')' or identifier")),
            }
            match self.next() {
                Token::Comma => {}
                Token::Close => break,
                other => return Err(LabelSelectorError::unexpected(&other, "',' or ')'")),
            }
        }
        values.sort();
        values.dedup();
        Ok(values)
    }
}

fn check_key(key: &str) -> Result<(), LabelSelectorError> {
    let errors = names::qualified_name(key);
    if errors.is_empty() {
        return Ok(());
    }
    Err(LabelSelectorError::Invalid {
        field: "<nil>".to_owned(),
        value: key.to_owned(),
        detail: errors.join("; "),
    })
}

fn check_values(key: &str, operator: Operator, values: &[String]) -> Result<(), LabelSelectorError> {
    if matches!(operator, Operator::Greater | Operator::Less)
        && let Some(value) = values.iter().find(|value| value.parse::<i64>().is_err())
    {
        let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
        return Err(LabelSelectorError::Invalid {
            field: "values[0]".to_owned(),
            value: value.clone(),
            detail: detail.to_owned(),
        });
    }
    for (index, value) in values.iter().enumerate() {
        let errors = names::label_value(value);
        if !errors.is_empty() {
            return Err(LabelSelectorError::Invalid {
                field: format!("values[{index}][{key}]"),
                value: value.clone(),
                detail: errors.join("; "),
            });
        }
    }
    Ok(())
}

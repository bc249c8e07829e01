//! Label selectors: `a=b,c!=d,e in (f,g),!h,i>1`.

use crate::metadata::names;

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

    /// Parses a selector; the error is a kube-apiserver's own message.
    pub fn parse(text: &str) -> Result<Self, String> {
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
                    let found = other.text();
                    return Err(format!("found '{found}', expected: !, identifier, or 'end of string'"));
                }
            }
            let requirement = parser.requirement();
            requirements.push(requirement.map_err(|error| format!("unable to parse requirement: {error}"))?);
            match parser.next() {
                Token::End => break,
                Token::Comma => {
                    let next = parser.peek();
                    if !matches!(next, Token::Word(_) | Token::Not | Token::In | Token::NotIn) {
                        return Err(format!("found '{}', expected: identifier after ','", next.text()));
                    }
                }
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
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

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek() == &Token::Not;
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(word) => word,
            word @ (Token::In | Token::NotIn) => word.text().to_owned(),
            other => return Err(format!("found '{}', expected: identifier", other.text())),
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
                return Err(format!(
                    "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                    token.text()
                ));
            }
        };
        check_values(&key, operator, &values)?;
        Ok(Requirement { key, operator, values })
    }

    fn exact_value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Comma => Ok(String::new()),
            Token::Word(_) | Token::In | Token::NotIn => Ok(self.next().text().to_owned()),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != Token::Open {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::In | Token::NotIn => values.push(self.next().text().to_owned()),
                Token::Comma | Token::Close => values.push(String::new()),
                other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
            }
            match self.next() {
                Token::Comma => {}
                Token::Close => break,
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
        values.sort();
        values.dedup();
        Ok(values)
    }
}

fn check_key(key: &str) -> Result<(), String> {
    let errors = names::qualified_name(key);
    if errors.is_empty() {
        return Ok(());
    }
    Err(format!("<nil>: Invalid value: {key:?}: {}", errors.join("; ")))
}

fn check_values(key: &str, operator: Operator, values: &[String]) -> Result<(), String> {
    if matches!(operator, Operator::Greater | Operator::Less)
        && let Some(value) = values.iter().find(|value| value.parse::<i64>().is_err())
    {
        let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
        return Err(format!("values[0]: Invalid value: {value:?}: {detail}"));
    }
    for (index, value) in values.iter().enumerate() {
        let errors = names::label_value(value);
        if !errors.is_empty() {
            return Err(format!(
                "values[{index}][{key}]: Invalid value: {value:?}: {}",
                errors.join("; ")
            ));
        }
    }
    Ok(())
}

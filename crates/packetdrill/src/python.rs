//! The few statements of Python that scripts use: `assert`, with comparisons of integers, and `print`.

/// Why code could not be carried out, or what it found.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// An assertion does not hold.
    Wrong(String),
    /// Not of this subset, or it names what is not known.
    Beyond(String),
}

/// Variables that statements have set; they stay until the end of the script.
pub type Variables = std::collections::BTreeMap<String, i64>;

/// Runs statements; `lookup` gives the values of names that are no variables.
///
/// # Errors
/// The first assertion that does not hold, with the values of its names.
pub fn execute(
    code: &str,
    variables: &mut Variables,
    lookup: &mut dyn FnMut(&str) -> Option<i64>,
) -> Result<(), Problem> {
    let code = code.replace("\\\n", " ");
    for statement in split(&code, &[';', '\n']) {
        let statement = statement.split("#").next().unwrap_or("").trim();
        if statement.is_empty() || statement.starts_with("print") {
            continue;
        }
        if let Some((name, number)) = assignment(statement) {
            variables.insert(name.to_string(), number);
            continue;
        }
        let Some(assertion) = statement.strip_prefix("assert ") else {
            return Err(Problem::Beyond(format!("the Python statement `{statement}`")));
        };
        let text = split(assertion, &[',']).first().copied().unwrap_or("").trim();
        let mut expression = Expression {
            text,
            at: 0,
            lookup: &mut |name: &str| variables.get(name).copied().or_else(|| lookup(name)),
            names: Vec::new(),
        };
        let value = expression.either()?;
        expression.skip_space();
        if expression.at < text.len() {
            return Err(Problem::Beyond(format!("the Python expression `{text}`")));
        }
        if value == 0 {
            let names: Vec<String> =
                expression.names.iter().map(|(name, value)| format!("{name} is {value}")).collect();
            return Err(Problem::Wrong(format!("expected {text}; {}", names.join(", "))));
        }
    }
    Ok(())
}

/// `name = number`.
fn assignment(statement: &str) -> Option<(&str, i64)> {
    let (name, number) = statement.split_once('=')?;
    let (name, number) = (name.trim(), number.trim());
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    let number = match number.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => number.parse(),
    };
    number.ok().filter(|_| is_name).map(|number| (name, number))
}

/// Parts between separators that stand outside of brackets and strings.
fn split<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0, None);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('(' | '[', None) => depth += 1,
            (')' | ']', None) => depth -= 1,
            (c, None) if depth == 0 && separators.contains(&c) => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

struct Expression<'a, 'b> {
    text: &'a str,
    at: usize,
    lookup: &'b mut dyn FnMut(&str) -> Option<i64>,
    names: Vec<(String, i64)>,
}

impl Expression<'_, '_> {
    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }
    fn accept(&mut self, token: &str) -> bool {
        self.skip_space();
        let rest = &self.text[self.at..];
        let word = token.chars().all(|c| c.is_ascii_alphabetic());
        let ends =
            |rest: &str| !rest[token.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let there = rest.starts_with(token) && (!word || ends(rest));
        if there {
            self.at += token.len();
        }
        there
    }
    fn either(&mut self) -> Result<i64, Problem> {
        let mut value = self.both()?;
        while self.accept("or") {
            let other = self.both()?;
            value = i64::from(value != 0 || other != 0);
        }
        Ok(value)
    }
    fn both(&mut self) -> Result<i64, Problem> {
        let mut value = self.negation()?;
        while self.accept("and") {
            let other = self.negation()?;
            value = i64::from(value != 0 && other != 0);
        }
        Ok(value)
    }
    fn negation(&mut self) -> Result<i64, Problem> {
        if self.accept("not") { Ok(i64::from(self.negation()? == 0)) } else { self.comparison() }
    }
    /// `a < b <= c` is `a < b and b <= c`.
    fn comparison(&mut self) -> Result<i64, Problem> {
        let mut left = self.sum()?;
        let mut result = None;
        loop {
            let compare: fn(i64, i64) -> bool = if self.accept("==") {
                |a, b| a == b
            } else if self.accept("!=") {
                |a, b| a != b
            } else if self.accept("<=") {
                |a, b| a <= b
            } else if self.accept(">=") {
                |a, b| a >= b
            } else if self.accept("<") {
                |a, b| a < b
            } else if self.accept(">") {
                |a, b| a > b
            } else {
                return Ok(result.map_or(left, i64::from));
            };
            let right = self.sum()?;
            result = Some(result.unwrap_or(true) && compare(left, right));
            left = right;
        }
    }
    fn sum(&mut self) -> Result<i64, Problem> {
        let mut value = self.product()?;
        loop {
            if self.accept("+") {
                value += self.product()?;
            } else if self.accept("-") {
                value -= self.product()?;
            } else if self.accept("&") {
                value &= self.product()?;
            } else {
                return Ok(value);
            }
        }
    }
    fn product(&mut self) -> Result<i64, Problem> {
        let mut value = self.operand()?;
        loop {
            if self.accept("*") {
                value *= self.operand()?;
            } else if self.accept("//") || self.accept("/") {
                let divisor = self.operand()?;
                value = value.checked_div(divisor).ok_or(Problem::Beyond("a division by 0".to_string()))?;
            } else {
                return Ok(value);
            }
        }
    }
    fn operand(&mut self) -> Result<i64, Problem> {
        if self.accept("(") {
            let value = self.either()?;
            return if self.accept(")") { Ok(value) } else { Err(self.beyond()) };
        }
        if self.accept("-") {
            return Ok(-self.operand()?);
        }
        self.skip_space();
        let rest = &self.text[self.at..];
        let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = &rest[..len];
        if word.is_empty() {
            return Err(self.beyond());
        }
        self.at += len;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = match word.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16),
                None => word.parse(),
            };
            return number.map_err(|_| self.beyond());
        }
        match (self.lookup)(word) {
            Some(value) => {
                if word.starts_with("tcpi_") && !self.names.iter().any(|(name, _)| name == word) {
                    self.names.push((word.to_string(), value));
                }
                Ok(value)
            }
            None => Err(Problem::Beyond(format!("the name {word} in Python"))),
        }
    }
    fn beyond(&self) -> Problem {
        Problem::Beyond(format!("the Python expression `{}`", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(code: &str) -> Result<(), Problem> {
        execute(code, &mut Variables::new(), &mut |name| match name {
            "tcpi_snd_cwnd" => Some(10),
            "tcpi_rtt" => Some(100_000),
            "TCP_CA_Open" => Some(0),
            _ => None,
        })
    }

    #[test]
    fn assertions_compare_integers() {
        assert_eq!(run("assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd"), Ok(()));
        assert_eq!(run("MOST = 0x0b\nassert tcpi_snd_cwnd < MOST"), Ok(()));
        assert_eq!(run("assert 90000 <= tcpi_rtt < 110 * 1000, 'rtt=%d' % tcpi_rtt; print(1, 2)"), Ok(()));
        assert_eq!(
            run("\nassert tcpi_snd_cwnd >= 10 and \\\n not TCP_CA_Open\nassert (1 + 2) * 3 == 9"),
            Ok(())
        );
    }

    #[test]
    fn a_wrong_assertion_gives_the_values() {
        let wrong = "expected tcpi_snd_cwnd == 12; tcpi_snd_cwnd is 10".to_string();
        assert_eq!(run("assert tcpi_snd_cwnd == 12, tcpi_snd_cwnd"), Err(Problem::Wrong(wrong)));
    }

    #[test]
    fn what_is_not_known_is_beyond() {
        assert_eq!(
            run("assert tcpi_foo == 1"),
            Err(Problem::Beyond("the name tcpi_foo in Python".to_string()))
        );
        let beyond = Problem::Beyond("the Python statement `import os`".to_string());
        assert_eq!(run("import os"), Err(beyond));
    }
}

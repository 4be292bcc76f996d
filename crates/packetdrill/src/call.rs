//! System calls as a script writes them.

/// An argument or a result.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `...`
    Any,
    Number(i64),
    /// A name, or several with `|` between them.
    Word(String),
    Text(String),
    /// `[a, b]`
    List(Vec<Value>),
    /// `{a, b=c}`
    Record(Vec<Value>),
    /// `name=value`, `name(...)=value`
    Named(String, Box<Value>),
}

impl Value {
    /// The number; `None` for anything else.
    pub fn number(&self) -> Option<i64> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }
    /// The number alone in brackets.
    pub fn only_number(&self) -> Option<i64> {
        match self {
            Value::List(values) => match &values[..] {
                [value] => value.number(),
                _ => None,
            },
            _ => self.number(),
        }
    }
    /// True if this word, or one of those joined by `|`, is `name`.
    pub fn has_word(&self, name: &str) -> bool {
        matches!(self, Value::Word(word) if word.split('|').any(|part| part == name))
    }
    /// The value that a record gives this name.
    pub fn field(&self, name: &str) -> Option<&Value> {
        let (Value::Record(values) | Value::List(values)) = self else { return None };
        values.iter().find_map(|value| match value {
            Value::Named(key, value) if key == name => Some(&**value),
            _ => None,
        })
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |f: &mut std::fmt::Formatter<'_>, values: &[Value], open: &str, close: &str| {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            write!(f, "{open}{}{close}", values.join(", "))
        };
        match self {
            Value::Any => f.write_str("..."),
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => f.write_str(word),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::List(values) => list(f, values, "[", "]"),
            Value::Record(values) => list(f, values, "{", "}"),
            Value::Named(name, value) => write!(f, "{name}={value}"),
        }
    }
}

/// `name(arguments) = result ERRNO (text)`.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    pub arguments: Vec<Value>,
    pub result: Value,
    /// The errno that goes with a result of -1, if it is given.
    pub errno: Option<String>,
}

impl Call {
    /// The argument with this number, from 0.
    pub fn argument(&self, index: usize) -> Option<&Value> {
        self.arguments.get(index)
    }
    /// The same as a number.
    pub fn number(&self, index: usize) -> Option<i64> {
        self.argument(index).and_then(Value::number)
    }
}

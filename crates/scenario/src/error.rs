//! What is wrong with a scenario, with all that is needed to correct it: file, line, the line itself, what is right.

use std::fmt;

/// Why a scenario was refused. Its `Display` is the whole message, ready to be shown.
#[derive(Clone, PartialEq, Debug)]
pub struct ScenarioError {
    /// The file's name, or another name of the source.
    pub source_name: String,
    /// Line (from 1) and column (from 1), if known.
    pub position: Option<(usize, usize)>,
    /// The line's text.
    pub line: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

impl std::error::Error for ScenarioError {}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source_name)?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)?;
        if let (Some((number, column)), Some(line)) = (self.position, &self.line) {
            let margin = number.to_string();
            let (line, column) = excerpt(line, column);
            write!(f, "\n{margin} | {line}\n{:width$} | {:>column$}", "", "^", width = margin.len())?;
        }
        if let Some(help) = &self.help {
            write!(f, "\nhelp: {help}")?;
        }
        Ok(())
    }
}

impl ScenarioError {
    /// An error about the document as a whole.
    pub fn new(source_name: &str, message: impl Into<String>) -> Self {
        ScenarioError {
            source_name: source_name.to_string(),
            position: None,
            line: None,
            message: message.into(),
            help: None,
        }
    }

    /// An error at byte `offset` of `text`.
    pub fn at(source_name: &str, text: &str, offset: usize, message: impl Into<String>) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let number = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = text[start..offset].chars().count() + 1;
        let line = text[start..].lines().next().unwrap_or("");
        ScenarioError {
            position: Some((number, column)),
            line: Some(line.trim_end().to_string()),
            ..ScenarioError::new(source_name, message)
        }
    }

    /// Adds what would be right.
    pub fn with_help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }
}

/// Of a line that no terminal has room for, the part around a column; and the column there.
fn excerpt(line: &str, column: usize) -> (String, usize) {
    const BEFORE: usize = 60;
    const LONGEST: usize = 160;
    if line.chars().count() <= LONGEST {
        return (line.to_string(), column);
    }
    let skipped = column.saturating_sub(BEFORE + 1);
    let start = if skipped > 0 { "..." } else { "" };
    let shown: String = line.chars().skip(skipped).take(LONGEST).collect();
    let end = if line.chars().count() > skipped + LONGEST { "..." } else { "" };
    (format!("{start}{shown}{end}"), column - skipped + start.len())
}

/// How many letters differ, whatever their case.
pub(crate) fn distance(given: &str, name: &str) -> usize {
    strsim::damerau_levenshtein(&given.to_lowercase(), &name.to_lowercase())
}

/// "did you mean ...", if one of the names is close.
pub(crate) fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let (distance, name) =
        names.into_iter().map(|name| (distance(given, name), name)).min_by_key(|(distance, _)| *distance)?;
    (distance <= (name.len() / 3).max(1) && distance < name.len())
        .then(|| format!("did you mean \"{name}\"?"))
}

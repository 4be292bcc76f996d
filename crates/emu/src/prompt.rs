//! A shell whose prompt shows that it is behind a path, and where.

/// How a shell is started for this.
pub(crate) struct Prompt {
    /// The shell and its arguments.
    pub arguments: Vec<String>,
    /// Variables of its environment.
    pub environment: Vec<(&'static str, String)>,
}

/// What bash reads in the place of the user's file: that, and then the prompt before it.
const BASH: &str = "for LONGHAUL_FILE in /etc/bash.bashrc ~/.bashrc; do [ ! -r \"$LONGHAUL_FILE\" ] || . \"$LONGHAUL_FILE\"; done\n\
    unset LONGHAUL_FILE LONGHAUL_BASH\nPS1=\"$LONGHAUL_PROMPT$PS1\"\n";
/// What fish runs behind the user's configuration.
const FISH: &str = "functions --query fish_prompt; and functions --copy fish_prompt longhaul_prompt; \
    or function longhaul_prompt; echo '> '; end; \
    function fish_prompt; echo -n \"$LONGHAUL_PROMPT\"; longhaul_prompt; end";

/// What zsh reads before the user's files, in a directory of its own, which it removes: then the user's, and the prompt before each line,
/// since themes set theirs anew.
const ZSH: &str = "command rm -rf -- \"$ZDOTDIR\"\n\
    if [[ -n $LONGHAUL_ZDOTDIR ]]; then ZDOTDIR=$LONGHAUL_ZDOTDIR; else unset ZDOTDIR; fi\n\
    unset LONGHAUL_ZDOTDIR LONGHAUL_ZSH\n\
    [[ ! -r ${ZDOTDIR:-$HOME}/.zshenv ]] || source ${ZDOTDIR:-$HOME}/.zshenv\n\
    longhaul_prompt() {\n\
    [[ $PS1 == \"$LONGHAUL_PROMPT\"* ]] || PS1=\"$LONGHAUL_PROMPT$PS1\"\n\
    precmd_functions=(${precmd_functions:#longhaul_prompt} longhaul_prompt)\n\
    }\n\
    typeset -ga precmd_functions\n\
    precmd_functions+=(longhaul_prompt)\n";
/// How zsh is started with it; without room for the directory, without it.
const ZSH_START: &str = "directory=$(mktemp -d) && print -rn -- \"$LONGHAUL_ZSH\" >$directory/.zshenv && \
    LONGHAUL_ZDOTDIR=$ZDOTDIR ZDOTDIR=$directory exec \"$0\" -i; exec \"$0\" -i";

impl Prompt {
    /// Of a shell whose prompt begins with a text. Shells without a way to add to the user's prompt have it in `LONGHAUL_PROMPT` only.
    pub fn of(shell: &str, text: &str) -> Prompt {
        let text = text.to_string();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
        let mut environment = vec![("LONGHAUL_PROMPT", text.clone())];
        let arguments = match shell.rsplit('/').next().unwrap_or_default() {
            "bash" => {
                environment.push(("LONGHAUL_BASH", BASH.to_string()));
                // The file is a pipe, which leaves nothing behind.
                let start = "exec \"$0\" --rcfile <(printf %s \"$LONGHAUL_BASH\") -i";
                words(&[shell, "--norc", "-c", start, shell])
            }
            "fish" => words(&[shell, "--init-command", FISH]),
            "zsh" => {
                environment.push(("LONGHAUL_ZSH", ZSH.to_string()));
                words(&[shell, "-f", "-c", ZSH_START, shell])
            }
            "sh" | "dash" | "ash" | "busybox" => {
                environment.push(("PS1", format!("{text}$ ")));
                words(&[shell])
            }
            _ => words(&[shell]),
        };
        Prompt { arguments, environment }
    }
}

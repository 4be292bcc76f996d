//! The shell commands of a script's preamble: sysctl settings become settings of the connection. No command is run.

use std::path::{Path, PathBuf};

/// Files that source each other do not go deeper.
const DEEPEST: u32 = 4;

/// What the commands of a preamble set.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Names as in `net.ipv4.tcp_sack`, without `net.ipv4.`; in order.
    pub sysctls: Vec<(String, String)>,
    /// The queueing discipline paces (fq).
    pub paced: bool,
}

impl Machine {
    /// Carries out commands; those that are files beside the script are read.
    ///
    /// # Errors
    /// The command which changes something that a connection alone does not have.
    pub fn execute(&mut self, commands: &str, folder: &Path) -> Result<(), String> {
        self.execute_nested(commands, folder, 0)
    }

    fn execute_nested(&mut self, commands: &str, folder: &Path, depth: u32) -> Result<(), String> {
        let joined = commands.replace("\\\n", " ");
        for line in joined.split(['\n', ';']) {
            let words = words(line);
            let Some(command) = words.first() else { continue };
            let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            match command.rsplit('/').next().unwrap_or(command) {
                "sysctl" => self.assign(arguments.iter().filter(|word| !word.starts_with('-')))?,
                "set_sysctls.py" => self.assign(arguments.iter())?,
                "tc" => self.queue(&arguments, line)?,
                "ip" if arguments.first() == Some(&"tcp_metrics") => {}
                // Offloads: segments leave here one by one, and those of one instant count as one packet.
                "ethtool" => {}
                // Linux's CUBIC looks for both signs of HyStart by default, as ours does.
                "echo"
                    if words[1..] == ["3"]
                        && line.trim_end().ends_with("tcp_cubic/parameters/hystart_detect") => {}
                "sleep" | "true" | ":" | "set" | "exit" | "rm" | "dd" => {}
                name if name.starts_with("sysctl_restore") => {}
                name if name.ends_with(".sh") && depth < DEEPEST => {
                    let (path, text) = read_script(folder, command)?;
                    let inside = path.parent().unwrap_or(folder).to_path_buf();
                    self.execute_nested(&text, &inside, depth + 1)?;
                }
                _ => return Err(format!("the shell command `{}`", line.trim())),
            }
        }
        Ok(())
    }

    fn assign<'a>(&mut self, assignments: impl Iterator<Item = &'a &'a str>) -> Result<(), String> {
        for assignment in assignments {
            let Some((name, value)) = assignment.split_once('=') else {
                return Err(format!("the setting `{assignment}`"));
            };
            let name = name.trim_start_matches("/proc/sys/").replace('/', ".");
            let name = name.trim_start_matches("net.ipv4.").to_string();
            self.sysctls.push((name, value.to_string()));
        }
        Ok(())
    }

    fn queue(&mut self, arguments: &[&str], line: &str) -> Result<(), String> {
        if arguments.contains(&"limit") || arguments.contains(&"netem") {
            return Err(format!("the queueing discipline of `{}`", line.trim()));
        }
        self.paced = arguments.contains(&"fq");
        Ok(())
    }
}

/// A file of commands, named from the script's folder.
fn read_script(folder: &Path, name: &str) -> Result<(PathBuf, String), String> {
    let path = folder.join(name);
    match std::fs::read_to_string(&path) {
        // A link that was stored as a file.
        Ok(text) if !text.contains('\n') && text.trim().ends_with(".sh") => {
            let inside = path.parent().unwrap_or(folder).to_path_buf();
            read_script(&inside, text.trim())
        }
        Ok(text) => Ok((path, text)),
        Err(error) => Err(format!("the file {} ({error})", path.display())),
    }
}

/// Words of one line, as a shell splits them: quotes, comments, `$((...))`, and no more.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (c, quote) {
            ('#', None) if word.is_none() => break,
            ('>', None) => break,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words.iter().map(|word| arithmetic(word)).collect()
}

/// Every `$((product))` replaced by its value.
fn arithmetic(word: &str) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, inside)) = rest.split_once("$((") {
        let Some((expression, after)) = inside.split_once("))") else { break };
        let factors: Option<Vec<u64>> =
            expression.split('*').map(|factor| factor.trim().parse().ok()).collect();
        out.push_str(before);
        match factors {
            Some(factors) => out.push_str(&factors.iter().product::<u64>().to_string()),
            None => out.push_str(expression),
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last<'a>(machine: &'a Machine, name: &str) -> Option<&'a str> {
        machine.sysctls.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn sysctls_of_both_notations_are_read() {
        let mut machine = Machine::default();
        let text = "sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\" # sizes\n\
                    ../set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \\\n /proc/sys/net/ipv4/tcp_sack=1 > /dev/null";
        machine.execute(text, Path::new(".")).unwrap();
        assert_eq!(last(&machine, "tcp_rmem"), Some("4096 540000 15728640"));
        assert_eq!(last(&machine, "tcp_timestamps"), Some("0"));
        assert_eq!(last(&machine, "tcp_sack"), Some("1"));
        assert_eq!(last(&machine, "tcp_dsack"), None);
    }

    #[test]
    fn a_command_that_changes_the_network_is_beyond() {
        let mut machine = Machine::default();
        let error = machine.execute("ip route change 192.0.2.1 mtu lock 640", Path::new("."));
        assert_eq!(error, Err("the shell command `ip route change 192.0.2.1 mtu lock 640`".to_string()));
        machine.execute("tc qdisc replace dev tun0 root fq", Path::new(".")).unwrap();
        assert!(machine.paced);
    }
}

//! `baton completions`: clap's scripts, extended by the names of cases, which they get from `baton list --names`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;

const BASH: &str = r#"
_baton_with_cases() {
    _baton "$@"
    local word="${COMP_WORDS[COMP_CWORD]}"
    [[ "$word" == -* ]] && return
    case " ${COMP_WORDS[*]:1:COMP_CWORD-1} " in
        *" run "* | *" plan "* | *" lint "* | *" judge "*)
            COMPREPLY+=($(compgen -W "$("$1" list --names 2>/dev/null)" -- "$word"))
            ;;
    esac
}
complete -F _baton_with_cases -o bashdefault -o default baton
"#;

const FISH: &str = r#"
complete -c baton -n "__fish_baton_using_subcommand run plan lint" -a "(baton list --names 2>/dev/null)"
"#;

/// End of the script for zsh, after the functions.
const ZSH: &str = r#"
(( $+functions[_baton_cases] )) ||
_baton_cases() {
    _alternative 'cases:case:{compadd -- ${(f)"$(baton list --names 2>/dev/null)"}}' 'files:file:_files'
}
"#;

/// Returns the script for a shell.
pub(super) fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "baton", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => format!("{script}{BASH}"),
        Shell::Fish => format!("{script}{FISH}"),
        Shell::Zsh => with_cases_in_zsh(&script),
        _ => script.into_owned(),
    }
}

/// Completes arguments that are cases with our function.
fn with_cases_in_zsh(script: &str) -> String {
    let mut with_cases = String::new();
    for line in script.lines() {
        let (start, rest) = line.split_at(line.len() - line.trim_start().len());
        // Without `*` before subcommands, as in `explore`.
        let is_cases = ["'::cases -- Cases, by name", "'::files -- Cases, by name"]
            .iter()
            .any(|argument| rest.replacen("'*", "'", 1).starts_with(argument));
        let rest = if is_cases {
            rest.replace(":_default'", ":_baton_cases'")
        } else {
            rest.to_owned()
        };
        with_cases.extend([start, &rest, "\n"]);
        if line.starts_with("autoload ") {
            with_cases.push_str(ZSH);
        }
    }
    with_cases
}

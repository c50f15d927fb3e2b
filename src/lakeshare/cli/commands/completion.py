"""completion: the script by which a shell completes commands, flags, aliases, buckets and prefixes."""

import click

from lakeshare.cli.flags import command
from lakeshare.cli.output import Record
from lakeshare.cli.session import Session

BASH = r"""_lakeshare_completion() {
    local IFS=$'\n' line type value words
    COMPREPLY=() words="${COMP_WORDS[*]}"
    for line in $(COMP_WORDS=$words COMP_CWORD=$COMP_CWORD _LAKESHARE_COMPLETE=bash_complete lakeshare); do
        IFS=, read -r type value <<< "$line"
        case $type in
            file) COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")) && compopt -o filenames ;;
            plain)
                COMPREPLY+=("$value")
                [[ $value == */* ]] && compopt -o filenames
                [[ $value == */ ]] && compopt -o nospace
                ;;
        esac
    done
    return 0
}
complete -o nosort -F _lakeshare_completion lakeshare
"""

ZSH = r"""#compdef lakeshare
_lakeshare_completion() {
    local -a response words_only folders described
    (( ! $+commands[lakeshare] )) && return 1
    local -x COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) _LAKESHARE_COMPLETE=zsh_complete
    response=("${(@f)$(lakeshare)}")
    for type key descr in ${response}; do
        if [[ $type == file ]]; then
            _path_files -f
        elif [[ $key == */ ]]; then
            folders+=("$key")
        elif [[ $descr == _ ]]; then
            words_only+=("$key")
        else
            described+=("$key:$descr")
        fi
    done
    (( $#described )) && _describe -V unsorted described -U
    (( $#folders )) && compadd -U -S '' -V folders -a folders
    (( $#words_only )) && compadd -U -V unsorted -a words_only
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _lakeshare_completion "$@"
else
    compdef _lakeshare_completion lakeshare
fi
"""

FISH = r"""function _lakeshare_completion
    set -lx _LAKESHARE_COMPLETE fish_complete
    set -lx COMP_WORDS (commandline -cp)
    set -lx COMP_CWORD (commandline -t)
    for completion in (lakeshare)
        set -l metadata (string split --max 1 "," $completion)
        if test $metadata[1] = file
            __fish_complete_path $metadata[2]
        else
            echo $metadata[2]
        end
    end
end
complete --no-files --command lakeshare --arguments "(_lakeshare_completion)"
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@command()
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def completion(session: Session, shell: str) -> Record:
    r"""Print the completion for a shell: commands and flags, and after an alias its buckets and prefixes.

    \b
    bash, in ~/.bashrc:   eval "$(lakeshare completion bash)"
    zsh, in ~/.zshrc:     eval "$(lakeshare completion zsh)"
    fish:                 lakeshare completion fish > ~/.config/fish/completions/lakeshare.fish
    """
    del session
    return Record({"shell": shell, "script": SCRIPTS[shell]}, SCRIPTS[shell].rstrip("\n"))

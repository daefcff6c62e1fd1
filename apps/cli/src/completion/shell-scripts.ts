const bash = `# nightshift completion for bash. In ~/.bashrc:  source <(nightshift completion bash)
_nightshift() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(nightshift complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _nightshift nightshift
`;

const zsh = `#compdef nightshift
# nightshift completion for zsh. In ~/.zshrc, after compinit:  source <(nightshift completion zsh)
_nightshift() {
  local out
  local -a found
  out="$(nightshift complete-words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"
  if [[ -z "$out" ]]; then
    _files
    return
  fi
  found=("\${(@f)out}")
  found=("\${(@)found/$'\\t'/:}")
  _describe nightshift found
}
compdef _nightshift nightshift
`;

const fish = `# nightshift completion for fish. In ~/.config/fish/config.fish:  nightshift completion fish | source
function __nightshift_words
  set -l words (commandline -opc)
  set -e words[1]
  nightshift complete-words -- $words (commandline -ct) 2>/dev/null
end
complete -c nightshift -f -a '(__nightshift_words)'
complete -c nightshift -n '__fish_seen_subcommand_from validate push' -F
`;

/** The setup for each shell; the words themselves come from `complete-words`, so a script never is out of date. */
export const shells: Readonly<Record<string, string>> = { bash, zsh, fish };

import type { Command, Option } from 'commander';

import { usageError } from '../cli.errors.js';
import { jobKinds, jobStatuses } from '../commands/jobs.command.js';
import { memberRoles } from '../commands/members.command.js';
import { notificationTypes } from '../commands/notifications.command.js';
import type { Perform } from '../commands/perform.js';
import { triggerEvents } from '../commands/triggers.command.js';
import { exitCodes } from '../exit-code.js';

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
const shells: Readonly<Record<string, string>> = { bash, zsh, fish };

/** What a word may be completed to. */
interface Candidate {
  readonly word: string;
  readonly about: string;
}

const lower = (words: readonly string[]) => words.map((word) => word.toLowerCase());

/** Values of flags that are one of a few words. */
const values: Readonly<Record<string, readonly string[]>> = {
  '--status': lower(jobStatuses),
  '--event': triggerEvents,
  '--kind': lower(jobKinds),
  '--type': lower(notificationTypes),
  '--role': memberRoles,
  '--grant': ['5', '10', '30'],
  '--action': ['submit', 'approve', 'modify', 'custom', 'skip', 'reject'],
  '--decision': ['happened', 'did_not_happen', 'repeat', 'report'],
};

/** The possible completions of the last word; empty where it is a file, an id or a text. */
export function completeWords(program: Command, words: readonly string[]): Candidate[] {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const { command, awaited, given } = walk(program, before);
  const all = candidates(program, { command, awaited, given, current });
  return all.filter(({ word }) => word.startsWith(current));
}

interface Place {
  readonly command: Command;
  /** The option whose value comes next. */
  readonly awaited: Option | undefined;
  /** Words that are neither flags nor their values. */
  readonly given: number;
}

function walk(program: Command, before: readonly string[]): Place {
  let place: Place = { command: program, awaited: undefined, given: 0 };
  for (const word of before) {
    if (place.awaited !== undefined) {
      place = { ...place, awaited: undefined };
    } else if (word.startsWith('-')) {
      const option = optionsOf(program, place.command).find(({ long, short }) => word === long || word === short);
      place = { ...place, awaited: option?.required === true ? option : undefined };
    } else {
      const next = place.given === 0 ? place.command.commands.find((command) => command.name() === word) : undefined;
      place = next === undefined ? { ...place, given: place.given + 1 } : { ...place, command: next };
    }
  }
  return place;
}

function candidates(program: Command, place: Place & { readonly current: string }): Candidate[] {
  const { command, awaited, given, current } = place;
  if (awaited !== undefined)
    return (awaited.argChoices ?? values[awaited.long ?? ''] ?? []).map((word) => ({ word, about: '' }));
  if (current.startsWith('-')) {
    const help = { word: '--help', about: 'show the help' };
    return [
      ...optionsOf(program, command).map(({ long, description }) => ({ word: long ?? '', about: description })),
      help,
    ];
  }
  if (given > 0) return [];
  if (command.name() === 'completion') return Object.keys(shells).map((word) => ({ word, about: '' }));
  return command.commands
    .filter((candidate) => candidate.name() !== 'complete-words')
    .map((candidate) => ({ word: candidate.name(), about: candidate.summary() || candidate.description() }));
}

function optionsOf(program: Command, command: Command): Option[] {
  return command === program ? [...program.options] : [...command.options, ...program.options];
}

/** `completion`: prints the setup for a shell; and, unlisted, the words that the shell then requests. */
export function addCompletion(program: Command, perform: Perform): void {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description('Prints the completion script of a shell; the first line of the script explains how to load it.')
    .argument('<shell>', Object.keys(shells).join(', '))
    .action((shell: string) =>
      perform(({ screen, json, emit }) => {
        const script = shells[shell];
        if (script === undefined)
          throw usageError(`${shell} is not supported.`, `Use one of ${Object.keys(shells).join(', ')}.`);
        if (json) emit({ shell, script });
        else screen.text(script);
        return Promise.resolve(exitCodes.ok);
      }),
    );
  program
    .command('complete-words', { hidden: true })
    .argument('[words...]')
    .action((words: string[]) =>
      perform(({ screen }) => {
        for (const { word, about } of completeWords(program, words)) screen.line(`${word}\t${about}`);
        return Promise.resolve(exitCodes.ok);
      }),
    );
}

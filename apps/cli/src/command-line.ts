/** Writes a command of this program as it works when it is pasted: with the program's name and the flags that found the server. */
export type CommandLine = (words: string) => string;

/** The flags that a printed command repeats. A token is a secret and is never printed. */
interface RepeatedFlags {
  readonly url?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly workspace?: string | undefined;
}

/** `program`: how this program was started. */
export function commandLine(program: string, { url, dataDir, workspace }: RepeatedFlags): CommandLine {
  const given = Object.entries({ '--url': url, '--data-dir': dataDir, '--workspace': workspace });
  const flags = given.flatMap(([flag, value]) => (value === undefined ? [] : [flag, shellWord(value)]));
  return (words) => [program, ...flags, words].join(' ');
}

/** One word for a shell, quoted if it has to be. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : quoted(text);
}

/** Quoted for a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

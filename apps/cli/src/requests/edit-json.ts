import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CliError } from '../cli.errors.js';
import { exitCodes } from '../exit-code.js';
import { LEFT, type Prompts } from './prompts.js';

/** What is edited, and with what. */
export interface Edit {
  readonly title: string;
  readonly value: unknown;
  /** A command line; undefined: one line at the prompt. */
  readonly editor: string | undefined;
}

/** Lets a person change JSON, in the editor of their choice or in one line. */
export async function editJson(
  prompts: Prompts,
  { title, value, editor }: Edit,
): Promise<{ value: unknown } | typeof LEFT> {
  if (editor === undefined) return editLine(prompts, title, JSON.stringify(value));
  const edited = await editInFile(editor, `${JSON.stringify(value, null, 2)}\n`);
  const problem = problemOf(edited);
  if (problem === undefined) return { value: JSON.parse(edited) as unknown };
  return editLine(prompts, `${title}: ${problem}`, edited.replaceAll(/\s*\n\s*/g, ' ').trim());
}

async function editLine(prompts: Prompts, title: string, initial: string): Promise<{ value: unknown } | typeof LEFT> {
  const line = await prompts.line(title, { initial, check: problemOf });
  return line === LEFT ? LEFT : { value: JSON.parse(line) as unknown };
}

function problemOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return 'This is not JSON.';
  }
}

async function editInFile(editor: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nightshift-'));
  try {
    const file = join(folder, 'edit.json');
    await writeFile(file, text, { mode: 0o600 });
    await runEditor(editor, file);
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** `EDITOR` is a command line (`code --wait`), so a shell reads it, as git does. */
function runEditor(editor: string, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'nightshift', file], { stdio: 'inherit' });
    const fail = (why: string) => {
      reject(
        new CliError({ exitCode: exitCodes.failed, code: 'editor_failed', message: `The editor (${editor}) ${why}.` }),
      );
    };
    child.once('error', () => {
      fail('could not be started');
    });
    child.once('close', (code) => {
      if (code === 0) resolve();
      else fail(`ended with ${code === null ? 'a signal' : `exit code ${code}`}`);
    });
  });
}

import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';

import type { FileAttachmentInput, Nightshift, StartChat, StartedJob } from '@nightshift/client';
import type { Command } from 'commander';

import { usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { listOf } from '../words.js';
import { followToEnd, type StayFlags } from './follow-to-end.js';
import type { Perform } from './perform.js';
import { readInput } from './read-input.js';

/** Maximum files of one message at the server. */
const maxFiles = 20;

/** Types that a server accepts by default, by the extension of a file. */
const types: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.webp': 'image/webp',
};

interface LocalFile {
  readonly path: string;
  readonly content: Blob;
}

/** Collects the values of a flag that may be repeated. */
const repeated = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** The files, opened: their bytes are read when they are sent. Throws a usage error for a path that is no readable file. */
async function openFiles(paths: readonly string[]): Promise<readonly LocalFile[]> {
  if (paths.length > maxFiles) throw usageError(`A message can have at most ${maxFiles} files.`);
  return Promise.all(paths.map(async (path) => ({ path, content: await open(path) })));
}

/** Uploads the files, one after the other. */
async function uploadFiles(
  { files }: Pick<Nightshift, 'files'>,
  opened: readonly LocalFile[],
): Promise<readonly FileAttachmentInput[]> {
  const attachments: FileAttachmentInput[] = [];
  for (const { path, content } of opened) {
    const name = basename(path);
    const { hash, mime } = await files.upload(content, { name });
    attachments.push({ hash, mime, name }); // the server knows the content perhaps by another name
  }
  return attachments;
}

async function open(path: string): Promise<Blob> {
  try {
    if (!(await stat(path)).isFile()) throw usageError(`${path} is not a file.`);
    return await openAsBlob(path, { type: types[extname(path).toLowerCase()] ?? 'text/plain' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw usageError(`${path} cannot be read: ${error.message}`);
  }
}

interface RunFlags extends StayFlags {
  readonly tools?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly thread?: string;
  readonly file?: string;
  readonly attach?: readonly string[];
  readonly label?: readonly string[];
  readonly ask?: boolean;
  readonly detach?: boolean;
}

/** `run`: starts a job and prints its text as the model writes it. */
export function addRun(program: Command, perform: Perform): void {
  program
    .command('run')
    .summary('start a job and follow it')
    .description(
      'Starts a job and prints its text, a line for each tool call, and the token count. The command asks for approvals. Ctrl-C stops following; the job keeps running.',
    )
    .argument('[prompt...]', 'the prompt; if you omit it, it is read from standard input')
    .option(
      '-t, --tools <names>',
      'tools that the job may call, for example calculate,web_search (`tools list` shows them)',
    )
    .option('-a, --agent <name>', 'the agent of the job: its id, slug or name; auto: a model chooses')
    .option('-m, --model <name>', 'the model; default: the model of the agent or of the workspace')
    .option('--thread <id>', 'continue this thread; default: start a new one')
    .option('-f, --file <path>', 'append this file to the prompt, or use it as the prompt; - is standard input')
    .option('--attach <path>', 'upload a file and attach it to the prompt; may be repeated', repeated)
    .option('--label <key=value>', 'a label of the job; may be repeated', repeated)
    .option('--ask', 'require an approval for every tool call, even if the policy allows the call')
    .option('-d, --detach', 'start the job, print its id and exit')
    .option(
      '--wait',
      'keep following when the job waits for another person or a client, instead of exiting with code 6',
    )
    .option('--cancel-on-exit', 'Ctrl-C cancels the job')
    .action((words: string[], flags: RunFlags) => perform((context) => run(context, words, flags)));
}

async function run(context: Context, words: readonly string[], flags: RunFlags): Promise<ExitCode> {
  const labels = labelsOf(flags.label ?? []);
  const message = await messageOf(context, words, flags);
  const files = await openFiles(flags.attach ?? []);
  const client = await context.client();
  const attachments = await uploadFiles(client, files);
  const job = await client.startChat({
    ...toStart(message, flags),
    ...(labels !== undefined && { labels }),
    ...(attachments.length > 0 && { attachments }),
  });
  if (flags.detach === true) {
    sayStarted(context, job);
    return exitCodes.ok;
  }
  const announce = () => {
    sayFirst(context, job);
  };
  return followToEnd(context, { ...flags, client, job, after: 0, announce });
}

function toStart(message: string, { tools, model, thread, agent, ask }: RunFlags): StartChat {
  return {
    message,
    ...(tools !== undefined && { serverTools: listOf(tools) }),
    ...(model !== undefined && { model }),
    ...(thread !== undefined && { threadId: thread }),
    ...(agent !== undefined && { agent: agent === 'auto' ? { auto: true } : { id: agent } }),
    ...(ask === true && { toolApproval: { rules: [{ match: '*', action: 'require_approval' }] } }),
  };
}

/** Labels from `key=value`; the value may contain `=`. The server checks their limits. Throws a usage error. */
function labelsOf(words: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (words.length === 0) return undefined;
  const pairs = words.map((word): readonly [string, string] => {
    const at = word.indexOf('=');
    if (at < 1) throw usageError(`--label must be key=value, not "${word}".`, 'Example: --label team=billing');
    return [word.slice(0, at), word.slice(at + 1)];
  });
  const twice = pairs.find(([name], index) => pairs.findIndex(([other]) => other === name) < index);
  if (twice !== undefined) throw usageError(`--label sets "${twice[0]}" twice.`);
  return Object.fromEntries(pairs);
}

async function messageOf({ screen }: Context, words: readonly string[], { file }: RunFlags): Promise<string> {
  const prompt = words.join(' ');
  const isPiped = screen.input.isTTY !== true;
  const source = file ?? (prompt === '' && isPiped ? '-' : undefined);
  const added = source === undefined ? '' : (await readInput(source, screen.input)).trimEnd();
  const message = [prompt, added].filter((part) => part !== '').join('\n\n');
  if (message !== '') return message;
  throw usageError(
    'The prompt is missing.',
    (command) => `Example: ${command('run "What is 17 * 23?" --tools calculate')}`,
  );
}

function sayStarted({ json, emit, screen }: Context, job: StartedJob): void {
  const { id: jobId, threadId, messageId } = job;
  if (json) emit({ jobId, threadId, messageId });
  else screen.line(jobId);
}

/** Before anything else, so that it can be found again. */
function sayFirst({ json, screen }: Context, { id, threadId }: StartedJob): void {
  if (json) return; // the first event contains it
  const thread = threadId === null ? '' : ` · thread ${threadId}`;
  screen.note(screen.paint('dim', `job ${id}${thread}`));
}

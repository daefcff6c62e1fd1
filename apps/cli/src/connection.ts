import { readFile, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { CliError, usageError } from './cli.errors.js';
import type { CliEnvironment } from './environment.js';
import { exitCodes } from './exit-code.js';

/** Where the server is, who asks, and how that became known. */
export interface Connection {
  /** Without a slash at its end. */
  readonly url: string;
  readonly urlFrom: string;
  readonly token: string | undefined;
  readonly tokenFrom: string;
  readonly workspace: string | undefined;
}

/** The options on the command line. */
export interface ConnectionFlags {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly workspace?: string | undefined;
  /** Where `npm start` keeps its key and its address. */
  readonly dataDir?: string | undefined;
}

const DEFAULT_URL = 'http://127.0.0.1:4000';

/**
 * Flags come before the environment, and that before what a server started by `npm start` has left in its data directory: the
 * address it serves at, and the key of the demo workspace. Such a folder is used only if no other user could have written it,
 * and only for addresses of this machine: it must not send a token elsewhere. Its key stays on this machine too.
 */
export async function findConnection(
  flags: ConnectionFlags,
  environment: CliEnvironment,
  from = process.cwd(),
): Promise<Connection> {
  const dataDir = await findDataDir(flags.dataDir ?? environment.dataDir, from);
  const serving = dataDir === undefined ? undefined : await servedAt(dataDir);
  const [url, urlFrom] = firstOf<string>([
    [flags.url, '--url'],
    [environment.url, 'NIGHTSHIFT_URL'],
    [serving, 'the server that runs here'],
    [DEFAULT_URL, 'the default'],
  ]);
  const base = checkedUrl(url, urlFrom);
  const keyFile = dataDir === undefined ? undefined : join(dataDir, 'demo-api-key');
  const key = keyFile === undefined || !isThisMachine(base) ? undefined : (await textOf(keyFile))?.trim();
  const [token, tokenFrom] = firstOf<string | undefined>([
    [flags.token, '--token'],
    [environment.token, environment.tokenFrom],
    [key, keyFile === undefined ? '' : relative(from, keyFile)],
    [undefined, ''],
  ]);
  return { url: base, urlFrom, token, tokenFrom, workspace: flags.workspace ?? environment.workspace };
}

/** Throws without a credential. */
export function tokenOf({ token }: Connection): string {
  if (token !== undefined) return token;
  throw new CliError({
    exitCode: exitCodes.auth,
    code: 'unauthenticated',
    message: 'The API key is missing.',
    remedy:
      'Set NIGHTSHIFT_KEY (nsk_…) or NIGHTSHIFT_TOKEN. Or run this command in the folder where you ran `npm start`, with the same `--data-dir` if you gave one: it reads the demo key there.',
  });
}

function firstOf<T>(candidates: readonly (readonly [value: T | undefined, from: string])[]): readonly [T, string] {
  const found = candidates.find(([value]) => value !== undefined) ?? candidates.at(-1);
  return found as readonly [T, string]; // the last candidate is the answer when all others are absent
}

function checkedUrl(text: string, from: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usageError(`${from} must be a URL such as ${DEFAULT_URL}, not "${text}".`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Whether the URL names this machine, also by the address of a server that listens on all interfaces. */
function isThisMachine(url: string): boolean {
  const { hostname } = new URL(url);
  return ['localhost', '[::1]', '0.0.0.0', '[::]'].includes(hostname) || /^127(\.\d+){3}$/.test(hostname);
}

/** The nearest `.nightshift` of this user's own with a key in it, in this folder or above. */
async function findDataDir(given: string | undefined, from: string): Promise<string | undefined> {
  if (given !== undefined) return given;
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, '.nightshift');
    if ((await isOwn(candidate)) && (await textOf(join(candidate, 'demo-api-key'))) !== undefined) return candidate;
    if (dirname(folder) === folder) return undefined;
  }
}

/** Anybody may put a folder into one that all may write to. Where there are no users, it is everybody's own. */
async function isOwn(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => null);
  return found !== null && (process.getuid === undefined || found.uid === process.getuid());
}

/** What the running server has written there, `<pid> <url>`; undefined when that process is gone, or serves elsewhere. */
async function servedAt(dataDir: string): Promise<string | undefined> {
  const [pid, url] = ((await textOf(join(dataDir, 'serving'))) ?? '').trim().split(' ');
  if (url === undefined || !isAlive(Number(pid))) return undefined;
  return URL.canParse(url) && isThisMachine(url) ? url : undefined;
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function textOf(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined);
}

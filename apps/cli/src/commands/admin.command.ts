import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import type { KeyScope, MemberRole } from '@nightshift/client/operations';
import type { Command } from 'commander';

import { CliError, usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { showTable } from '../format/show-table.js';
import { oneLine } from '../terminal/plain-text.js';
import { enumWord, enumWords } from '../words.js';
import { addAdminFlags } from './admin-flags.js';
import { memberRoles } from './members.command.js';
import type { Perform } from './perform.js';

/** The operator's entry of the server, beside which this program is compiled. */
const entry = fileURLToPath(new URL('../../../admin.main.js', import.meta.url));
const scopes = ['READ', 'WRITE', 'ADMIN', 'APPROVE'] as const satisfies readonly KeyScope[];
const roles = ['OWNER', 'ADMIN', 'MEMBER', 'VIEWER'] as const satisfies readonly MemberRole[];

/** A result of the entry: rows for people, values for programs. */
type Row = Readonly<Record<string, unknown>>;

/** `admin`: the installation of this machine's settings, not through the API. */
export function addAdmin(program: Command, perform: Perform): void {
  const admin = program
    .command('admin')
    .summary('administer the installation on this machine')
    .description(
      'Administers the installation of DATABASE_URL and NIGHTSHIFT_SECRET, or of the data directory. It uses the database directly and needs no API key.',
    );
  const run: Run = (request, show) =>
    perform((context) => {
      const asked = typeof request === 'function' ? request() : request;
      return administer(context, { request: asked, show });
    });
  addTenants(admin, run);
  addAdminMembers(admin, run);
  addAdminKeys(admin, run);
  addAdminFlags(admin, {
    rows: (request, columns) => run(request, table(columns)),
    line: (request, of) => run(request, line(of)),
  });
  addSecrets(admin, run);
}

type Show = (context: Context, result: Row | readonly Row[]) => void;
/** A request that reads options as enums or numbers is a function, so that a usage error is printed as one. */
type Run = (request: Row | (() => Row), show: Show) => Promise<void>;

function addTenants(admin: Command, run: Run): void {
  const workspaces = admin.command('workspaces').description('Workspaces of the installation.');
  workspaces
    .command('list')
    .description('Lists all workspaces.')
    .action(() =>
      run(
        { command: 'workspaces list' },
        table({ WORKSPACE: 'id', NAME: 'name', MEMBERS: 'members', OWNERS: 'owners' }),
      ),
    );
  workspaces
    .command('create')
    .description('Creates a workspace, and its owner if no user has the address.')
    .argument('<name>', 'its name')
    .requiredOption('--owner <email>', 'the address of its owner')
    .action((name: string, { owner }: { owner: string }) =>
      run(
        { command: 'workspaces create', name, owner },
        line((row) => `created ${text(row['name'])}: ${text(row['id'])}`),
      ),
    );
  const users = admin.command('users').description('Users of the installation.');
  users
    .command('list')
    .description('Lists all users.')
    .action(() =>
      run(
        { command: 'users list' },
        table({ USER: 'id', ADDRESS: 'email', NAME: 'name', WORKSPACES: 'workspaces', 'SIGNS IN': 'signsIn' }),
      ),
    );
  users
    .command('create')
    .description('Creates a user. A person who signs in with this address, verified, becomes this user.')
    .argument('<email>', 'the address')
    .option('--name <name>', 'the name')
    .action((email: string, flags: { name?: string }) =>
      run(
        { command: 'users create', email, ...flags },
        line((row) => `user ${text(row['id'])}`),
      ),
    );
}

function addAdminMembers(admin: Command, run: Run): void {
  const members = admin.command('members').description('Members of a workspace.');
  const named = (name: string, about: string) =>
    members
      .command(name)
      .description(about)
      .argument('<workspace>', 'its id')
      .argument('<email>', 'the address of the user');
  const shown = line((row) => `${text(row['email'])}: ${text(row['role'])}`);
  members
    .command('list')
    .description('Lists the members of a workspace.')
    .argument('<workspace>', 'its id')
    .action((workspace: string) =>
      run(
        { command: 'members list', workspace },
        table({ ADDRESS: 'email', ROLE: 'role', NAME: 'name', USER: 'userId' }),
      ),
    );
  named('add', 'Adds a member at once, without an invitation.')
    .option('-r, --role <role>', memberRoles.join(', '), 'member')
    .action((workspace: string, email: string, { role }: { role: string }) =>
      run(() => ({ command: 'members add', workspace, email, role: roleOf(role) }), shown),
    );
  named('role', 'Changes the role of a member.')
    .requiredOption('-r, --role <role>', memberRoles.join(', '))
    .action((workspace: string, email: string, { role }: { role: string }) =>
      run(() => ({ command: 'members role', workspace, email, role: roleOf(role) }), shown),
    );
  named('remove', 'Removes a member and revokes their API keys of the workspace.').action(
    (workspace: string, email: string) =>
      run(
        { command: 'members remove', workspace, email },
        line((row) => `removed ${text(row['email'])}`),
      ),
  );
}

function addAdminKeys(admin: Command, run: Run): void {
  const keys = admin.command('keys').description('API keys of a workspace.');
  keys
    .command('list')
    .description('Lists the API keys of a workspace.')
    .argument('<workspace>', 'its id')
    .action((workspace: string) =>
      run(
        { command: 'keys list', workspace },
        table({ KEY: 'id', NAME: 'name', PREFIX: 'prefix', USER: 'userId', SCOPES: 'scopes', REVOKED: 'revokedAt' }),
      ),
    );
  keys
    .command('create')
    .description('Creates an API key that acts as a member, and prints it once.')
    .argument('<workspace>', 'its id')
    .argument('<email>', 'the address of the member')
    .option('--name <name>', 'its name', 'Made by the operator')
    .option('-s, --scopes <words>', 'read, write, admin, approve', 'read,write')
    .option('--expires <date>', 'when it expires')
    .action((workspace: string, email: string, flags: { name: string; scopes: string; expires?: string }) => {
      const request = () => {
        const wanted = enumWords(flags.scopes, scopes, '--scopes').map((scope) => scope.toLowerCase());
        const expiresAt = flags.expires === undefined ? undefined : instant(flags.expires);
        return { command: 'keys create', workspace, email, name: flags.name, scopes: wanted, expiresAt };
      };
      return run(request, (context, row) => {
        context.screen.note('The key is shown only now:');
        line((key) => text(key['secret']))(context, row);
      });
    });
  keys
    .command('revoke')
    .description('Revokes an API key, and the keys made with it.')
    .argument('<workspace>', 'its id')
    .argument('<key>', 'the id of the key')
    .action((workspace: string, key: string) =>
      run(
        { command: 'keys revoke', workspace, key },
        line((row) => `revoked ${text(row['name'])}: ${text(row['id'])}`),
      ),
    );
}

function addSecrets(admin: Command, run: Run): void {
  admin
    .command('secret')
    .description('The secret of the installation.')
    .command('rotate')
    .description(
      'Replaces the secret of the installation and encrypts the stored secrets with the new one. Stop Nightshift first.',
    )
    .action(() =>
      run({ command: 'secret rotate' }, (context, result) => {
        const { columns } = result as { columns: { table: string; resealed: number; unreadable: number }[] };
        for (const { table: name, resealed, unreadable } of columns)
          context.screen.line(`${name}: ${resealed} encrypted again, ${unreadable} unreadable`);
        context.screen.note('Start all processes with the new secret.');
      }),
    );
  admin
    .command('tools-key')
    .description(
      'Prints the settings of a process with role tools: the key that decrypts the secrets of tools, and its database.',
    )
    .action(() =>
      run({ command: 'tools-key' }, (context, result) => {
        for (const [name, value] of Object.entries(result)) context.screen.line(`${name}=${text(value)}`);
      }),
    );
  admin
    .command('token')
    .description('Prints what a token (JWT) must contain to be accepted.')
    .action(() => run({ command: 'token' }, showToken));
}

function showToken({ screen }: Context, result: Row | readonly Row[]): void {
  const token = result as {
    readonly accepted: boolean;
    readonly algorithms: readonly string[];
    readonly keys: readonly string[];
    readonly claims: readonly { claim: string; required: boolean; meaning: string }[];
    readonly issuer: string | null;
    readonly audience: string | null;
    readonly example: object;
  }; // as the entry of this build prints it
  if (!token.accepted) screen.note('The server accepts no tokens: set JWT_SECRET, or JWT_JWKS_URL with JWT_ISSUER.');
  else screen.line(`signed with ${token.algorithms.join(', ')}, checked against ${token.keys.join(', ')}`);
  screen.line(`issuer ${token.issuer ?? 'any'}, audience ${token.audience ?? 'any'}`);
  const rows = token.claims.map(({ claim, required, meaning }) => cells(claim, required ? 'yes' : 'no', meaning));
  showTable(screen, ['CLAIM', 'REQUIRED', 'MEANING'], rows);
  screen.line(JSON.stringify(token.example, null, 2));
}

interface Asked {
  readonly request: Row;
  readonly show: Show;
}

async function administer(context: Context, { request, show }: Asked): Promise<ExitCode> {
  const folder = context.dataDir;
  const result = await ask([JSON.stringify(request), ...(folder === undefined ? [] : [folder])]);
  if (!context.json) show(context, result);
  else for (const row of Array.isArray(result) ? (result as Row[]) : [result]) context.emit(row);
  return exitCodes.ok;
}

async function ask(words: readonly string[]): Promise<Row | readonly Row[]> {
  const child = spawn(process.execPath, [entry, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (chunk: string) => (output[stream] += chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code === 0) return JSON.parse(output.stdout) as Row;
  const failure = /^\{"error":.*\}$/m.exec(output.stderr)?.[0];
  const { error } = JSON.parse(failure ?? '{}') as { error?: { code: string; message: string } };
  throw new CliError({
    exitCode:
      code === exitCodes.usage ? exitCodes.usage : error?.code === 'not_found' ? exitCodes.notFound : exitCodes.failed,
    code: error?.code ?? 'internal',
    message: error?.message ?? output.stderr.trim(),
    remedy:
      error?.code === 'secret_not_rotated'
        ? (command) => `Run this first: ${command('admin secret rotate')}`
        : undefined,
  });
}

function table(columns: Readonly<Record<string, string>>): Show {
  return ({ screen }, result) => {
    const rows = (result as readonly Row[]).map((row) =>
      cells(...Object.values(columns).map((name) => text(row[name]))),
    );
    showTable(screen, Object.keys(columns), rows);
  };
}

function line(of: (row: Row) => string): Show {
  return ({ screen }, result) => {
    screen.line(of(result as Row));
  };
}

function cells(...texts: string[]) {
  return texts.map((one) => ({ text: one }));
}

function text(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(text).join(' ');
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value));
}

function roleOf(word: string): string {
  return enumWord(word, roles, '--role').toLowerCase();
}

function instant(word: string): number {
  const at = Date.parse(word);
  if (Number.isNaN(at)) throw usageError(`--expires must be a date, not "${word}".`, 'Example: --expires 2027-01-31.');
  return at;
}

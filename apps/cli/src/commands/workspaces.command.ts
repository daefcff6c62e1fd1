import {
  ApiKeysDocument,
  CreateApiKeyDocument,
  CreateWorkspaceDocument,
  type KeyScope,
  LeaveWorkspaceDocument,
  MeDocument,
  RevokeApiKeyDocument,
} from '@nightshift/client/operations';
import type { Command } from 'commander';

import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { showTable } from '../format/show-table.js';
import { oneLine } from '../terminal/plain-text.js';
import { enumWords } from '../words.js';
import type { Perform } from './perform.js';
import { allPages, changed } from './replies.js';

const scopes = ['READ', 'WRITE', 'ADMIN', 'APPROVE'] as const satisfies readonly KeyScope[];

/** `workspaces`: lists, creates and leaves workspaces. */
export function addWorkspaces(program: Command, perform: Perform): void {
  const workspaces = program
    .command('workspaces')
    .summary('list, create and leave workspaces')
    .description('Workspaces that you are a member of.');
  workspaces
    .command('list')
    .description('Lists your workspaces, with your role in each.')
    .action(() => perform(listWorkspaces));
  workspaces
    .command('create')
    .description(
      'Creates a workspace with you as its owner. With an API key, prints the first key of the new workspace.',
    )
    .argument('<name>', 'its name')
    .action((name: string) =>
      perform(async ({ client, json, emit, screen }) => {
        const { createWorkspace } = await (await client()).mutate(CreateWorkspaceDocument, { name });
        const workspace = changed(createWorkspace, createWorkspace.workspace);
        const { secret } = createWorkspace;
        if (json) emit({ ...workspace, secret });
        else screen.line(`created ${oneLine(workspace.name)}: ${workspace.id}`);
        if (!json && secret !== null) screen.line(`first API key, shown only now: ${secret}`);
        return exitCodes.ok;
      }),
    );
  workspaces
    .command('leave')
    .description('Leaves a workspace and revokes your API keys of it. Only a user with a token can do this.')
    .argument('<workspace>', 'its id')
    .action((workspaceId: string) =>
      perform(async ({ client, json, emit, screen }) => {
        const { leaveWorkspace } = await (await client()).mutate(LeaveWorkspaceDocument, { workspaceId });
        changed(leaveWorkspace, leaveWorkspace.member);
        if (json) emit({ workspaceId });
        else screen.line(`left ${workspaceId}`);
        return exitCodes.ok;
      }),
    );
}

/** `keys`: API keys of the workspace. */
export function addKeys(program: Command, perform: Perform): void {
  const keys = program.command('keys').summary('list, create and revoke API keys').description('API keys.');
  keys
    .command('list')
    .description('Lists the API keys that you may see.')
    .action(() => perform(listKeys));
  keys
    .command('create')
    .description('Creates an API key that acts as you, and prints it once.')
    .argument('<name>', 'its name')
    .option('-s, --scopes <words>', 'read, write, admin, approve', 'read,write')
    .action((name: string, flags: { scopes: string }) =>
      perform(async ({ client, json, emit, screen }) => {
        const input = { name, scopes: enumWords(flags.scopes, scopes, '--scopes') };
        const { createApiKey } = await (await client()).mutate(CreateApiKeyDocument, { input });
        const key = changed(createApiKey, createApiKey.apiKey);
        if (json) emit({ ...key, secret: createApiKey.secret });
        else {
          screen.note(`created ${oneLine(key.name)}: ${key.id}. The key is shown only now:`);
          screen.line(createApiKey.secret ?? '');
        }
        return exitCodes.ok;
      }),
    );
  keys
    .command('revoke')
    .description('Revokes an API key, and the keys made with it.')
    .argument('<key>', 'its id')
    .action((id: string) =>
      perform(async ({ client, json, emit, screen }) => {
        const { revokeApiKey } = await (await client()).mutate(RevokeApiKeyDocument, { id });
        const key = changed(revokeApiKey, revokeApiKey.apiKey);
        if (json) emit(key);
        else screen.line(`revoked ${oneLine(key.name)}: ${key.id}`);
        return exitCodes.ok;
      }),
    );
}

async function listWorkspaces({ client, json, emit, screen }: Context): Promise<ExitCode> {
  const { me } = await (await client()).query(MeDocument, {});
  if (json) for (const row of me.memberships) emit(row);
  else if (me.memberships.length === 0) screen.note('You are a member of no workspace.');
  else
    showTable(
      screen,
      ['WORKSPACE', 'ROLE', 'NAME'],
      me.memberships.map((row) => texts(row.workspaceId, row.role.toLowerCase(), oneLine(row.workspaceName))),
    );
  return exitCodes.ok;
}

async function listKeys({ client, json, emit, screen }: Context): Promise<ExitCode> {
  const asked = await client();
  const rows = await allPages(async (page) => (await asked.query(ApiKeysDocument, page)).workspace?.apiKeys);
  if (json) for (const row of rows) emit(row);
  else
    showTable(
      screen,
      ['NAME', 'STARTS WITH', 'SCOPES', 'STATE', 'KEY'],
      rows.map((row) =>
        texts(
          oneLine(row.name),
          `nsk_${row.prefix}_`,
          row.scopes.join(' ').toLowerCase(),
          row.revokedAt === null ? 'valid' : 'revoked',
          row.id,
        ),
      ),
    );
  return exitCodes.ok;
}

function texts(...cells: string[]) {
  return cells.map((text) => ({ text }));
}

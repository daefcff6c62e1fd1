import {
  AcceptInvitationDocument,
  AddMemberDocument,
  ChangeMemberRoleDocument,
  DeclineInvitationDocument,
  InvitationsDocument,
  type MemberRole,
  MembersDocument,
  ReceivedInvitationsDocument,
  RemoveMemberDocument,
  RevokeInvitationDocument,
} from '@nightshift/client/operations';
import type { Command } from 'commander';

import { notFound } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { showTable } from '../format/show-table.js';
import { oneLine } from '../terminal/plain-text.js';
import { enumWord } from '../words.js';
import type { Perform } from './perform.js';
import { allPages, changed } from './replies.js';

const roles = ['OWNER', 'ADMIN', 'MEMBER', 'VIEWER'] as const satisfies readonly MemberRole[];
/** The words that a role flag takes, for completion. */
export const memberRoles: readonly string[] = roles.map((role) => role.toLowerCase());

/** `members`: who is in the workspace. */
export function addMembers(program: Command, perform: Perform): void {
  const members = program
    .command('members')
    .summary('list, invite and remove members')
    .description('Members of the workspace. Only a user with a token can change roles; an API key cannot.');
  members
    .command('list')
    .description('Lists the members.')
    .action(() => perform(listMembers));
  members
    .command('invite')
    .description('Invites a person, who becomes a member when they sign in with this address and accept.')
    .argument('<email>', 'their address')
    .option('-r, --role <role>', memberRoles.join(', '), 'member')
    .action((email: string, { role }: { role: string }) =>
      perform(async (context) => {
        const asked = { email, role: enumWord(role, roles, '--role') };
        const { addMember } = await (await context.client()).mutate(AddMemberDocument, asked);
        const invitation = changed(addMember, addMember.invitation);
        return report(
          context,
          invitation,
          `invited ${invitation.email} as ${lower(invitation.role)}: ${invitation.id}`,
        );
      }),
    );
  addMemberChanges(members, perform);
}

function addMemberChanges(members: Command, perform: Perform): void {
  members
    .command('role')
    .description('Changes the role of a member.')
    .argument('<user>', 'the id or the address of the member')
    .argument('<role>', memberRoles.join(', '))
    .action((user: string, role: string) =>
      perform(async (context) => {
        const asked = { userId: await userIdOf(context, user), role: enumWord(role, roles, 'The role') };
        const { changeMemberRole } = await (await context.client()).mutate(ChangeMemberRoleDocument, asked);
        const member = changed(changeMemberRole, changeMemberRole.member);
        return report(context, member, `${member.email} is now ${lower(member.role)}`);
      }),
    );
  members
    .command('remove')
    .description('Removes a member and revokes their API keys of this workspace.')
    .argument('<user>', 'the id or the address of the member')
    .action((user: string) =>
      perform(async (context) => {
        const userId = await userIdOf(context, user);
        const { removeMember } = await (await context.client()).mutate(RemoveMemberDocument, { userId });
        const member = changed(removeMember, removeMember.member);
        return report(context, member, `removed ${member.email}`);
      }),
    );
}

/** `invitations`: those of the workspace, and one's own. */
export function addInvitations(program: Command, perform: Perform): void {
  const invitations = program
    .command('invitations')
    .summary('list, accept and revoke invitations')
    .description('Invitations to workspaces. `received`, `accept` and `decline` need a token with a verified address.');
  invitations
    .command('list')
    .description('Lists the open invitations of the workspace.')
    .action(() => perform(listInvitations));
  invitations
    .command('revoke')
    .description('Revokes an invitation.')
    .argument('<invitation>', 'its id')
    .action((id: string) =>
      perform(async (context) => {
        const { revokeInvitation } = await (await context.client()).mutate(RevokeInvitationDocument, { id });
        const invitation = changed(revokeInvitation, revokeInvitation.invitation);
        return report(context, invitation, `revoked the invitation of ${invitation.email}`);
      }),
    );
  invitations
    .command('received')
    .description('Lists the invitations that you may accept.')
    .action(() => perform(listReceived));
  invitations
    .command('accept')
    .description('Accepts an invitation: you become a member of its workspace.')
    .argument('<invitation>', 'its id')
    .action((id: string) =>
      perform(async (context) => {
        const { acceptInvitation } = await (await context.client()).mutate(AcceptInvitationDocument, { id });
        const member = changed(acceptInvitation, acceptInvitation.member);
        const { workspaceId } = acceptInvitation;
        return report(context, { workspaceId, member }, `joined ${workspaceId ?? ''} as ${lower(member.role)}`);
      }),
    );
  invitations
    .command('decline')
    .description('Declines an invitation that you received.')
    .argument('<invitation>', 'its id')
    .action((id: string) =>
      perform(async (context) => {
        const { declineInvitation } = await (await context.client()).mutate(DeclineInvitationDocument, { id });
        const workspaceId = changed(declineInvitation, declineInvitation.workspaceId);
        return report(context, { workspaceId }, `declined the invitation to ${workspaceId}`);
      }),
    );
}

async function listMembers(context: Context): Promise<ExitCode> {
  const rows = await membersOf(context);
  const { json, emit, screen } = context;
  if (json) for (const row of rows) emit(row);
  else
    showTable(
      screen,
      ['ADDRESS', 'ROLE', 'NAME', 'USER'],
      rows.map(({ email, role, name, userId }) => texts(email, lower(role), oneLine(name), userId)),
    );
  return exitCodes.ok;
}

async function listInvitations({ client, json, emit, screen, command }: Context): Promise<ExitCode> {
  const asked = await client();
  const rows = await allPages(async (page) => (await asked.query(InvitationsDocument, page)).workspace?.invitations);
  if (json) for (const row of rows) emit(row);
  else if (rows.length === 0)
    screen.note(`No invitations are open. Invite a person: ${command('members invite EMAIL')}`);
  else
    showTable(
      screen,
      ['ADDRESS', 'ROLE', 'EXPIRES', 'INVITATION'],
      rows.map(({ email, role, expiresAt, id }) => texts(email, lower(role), expiresAt, id)),
    );
  return exitCodes.ok;
}

async function listReceived({ client, json, emit, screen }: Context): Promise<ExitCode> {
  const asked = await client();
  const rows = await allPages(
    async (page) => (await asked.query(ReceivedInvitationsDocument, page)).receivedInvitations,
  );
  if (json) for (const row of rows) emit(row);
  else if (rows.length === 0) screen.note('You have no open invitations.');
  else
    showTable(
      screen,
      ['WORKSPACE', 'ROLE', 'INVITED BY', 'EXPIRES', 'INVITATION'],
      rows.map((row) => texts(oneLine(row.workspaceName), lower(row.role), row.invitedBy, row.expiresAt, row.id)),
    );
  return exitCodes.ok;
}

async function membersOf({ client }: Context) {
  const asked = await client();
  return allPages(async (page) => (await asked.query(MembersDocument, page)).workspace?.members);
}

/** Addresses are unique among members. */
async function userIdOf(context: Context, user: string): Promise<string> {
  if (!user.includes('@')) return user;
  const found = (await membersOf(context)).find(({ email }) => email === user.toLowerCase());
  if (found === undefined)
    throw notFound(`A member with the address ${user}`, (command) => `List the members: ${command('members list')}`);
  return found.userId;
}

function report({ json, emit, screen }: Context, value: object, line: string): ExitCode {
  if (json) emit(value);
  else screen.line(line);
  return exitCodes.ok;
}

function lower(role: string): string {
  return role.toLowerCase();
}

function texts(...cells: string[]) {
  return cells.map((text) => ({ text }));
}

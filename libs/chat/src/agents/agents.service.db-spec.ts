import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { startTestEngine, type TestEngine } from '../../../../test/harness/engine.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import type { NewAgent } from './agent-input.js';
import { AgentsRepository } from './agents.repository.js';
import { AgentsService } from './agents.service.js';

let database: TestDatabase;
let identities: TestIdentities;
let engine: TestEngine;
let here: Record<Role, MemberPrincipal>;
let agents: AgentsService;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  engine = await startTestEngine(database, {}, false);
  agents = engine.app.get(AgentsService);
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
});
afterAll(async () => {
  await engine.close();
  identities.auth.close();
  await database.close();
});

const made = (input: Partial<NewAgent> = {}) => agents.create(here.admin, { name: 'Clerk', ...input });
const changed = (ref: string, changes: Partial<NewAgent>, expectedVersion: number | null = null) =>
  agents.update(here.admin, { ref, changes, expectedVersion });
const ten = { first: 10, below: undefined };

describe('AgentsService', () => {
  it('lets admins create agents and viewers read them', async () => {
    const agent = await made({
      description: 'Files things.',
      instructions: 'Be brief.',
      tools: ['add_numbers', 'x.*'],
    });
    expect(agent).toMatchObject({
      ...{ name: 'Clerk', slug: 'clerk', description: 'Files things.', version: 1, isDefault: true, archivedAt: null },
      ...{ model: null, instructions: 'Be brief.', tools: ['add_numbers', 'x.*'], externalTools: [], limits: {} },
      ...{ parameters: {}, toolApproval: null, createdBy: here.admin.id },
    });
    for (const ref of [agent.id, 'clerk', 'Clerk']) expect(await agents.find(here.viewer, ref)).toEqual(agent);
    await expect(agents.create(here.member, { name: 'Mine' })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(agents.archive(here.member, agent.id)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('lists agents by name with their current version', async () => {
    await made({ name: 'Second' });
    const { id, createdAt } = await made({ name: 'First', description: 'Files things.' });
    for (const instructions of ['One.', 'Two.', 'Three.']) await changed(id, { instructions });
    expect(await agents.all(here.viewer)).toMatchObject([
      { name: 'First', version: 4, instructions: 'Three.' },
      { name: 'Second', version: 1 },
    ]);
    const listed = { id, name: 'First', slug: 'first', description: 'Files things.', createdAt };
    expect(await agents.listed(here.viewer)).toEqual([listed, expect.objectContaining({ name: 'Second' })]);
  });

  it('accepts ids, slugs and names as references as soon as an agent is created, renamed or archived in this process', async () => {
    const { workspaceId } = here.owner;
    const meant = (...refs: string[]) => Promise.all(refs.map((ref) => agents.mayBeNamed(workspaceId, ref)));
    expect(await meant('clerk', 'Clerk')).toEqual([false, false]);
    const { id } = await made();
    const upper = id.toUpperCase();
    expect(await agents.find(here.viewer, upper)).toMatchObject({ id });
    expect(await meant('clerk', 'Clerk', id, upper, 'CLERK')).toEqual([true, true, true, true, false]);
    await changed(id, { name: 'Judge' });
    expect(await meant('Judge', 'Clerk')).toEqual([true, false]);
    await made({ name: 'Second' });
    expect(await meant('second')).toEqual([true]);
    await agents.archive(here.admin, 'second');
    expect(await meant('second')).toEqual([false]);
  });

  it('finds agents of its own workspace only', async () => {
    const { id } = await made();
    const elsewhere = await identities.workspaceOf(newId());
    await expect(agents.find(elsewhere.owner, id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await agents.all(elsewhere.owner)).toEqual([]);
    const repository = engine.app.get(AgentsRepository);
    expect(await repository.pinned(elsewhere.owner.workspaceId, [{ id, version: 1 }])).toEqual([]);
  });

  it('pages through the agents by name', async () => {
    for (const name of ['Clerk', 'Zoe', 'Ada']) await made({ name });
    const page = await agents.list(here.viewer, { first: 2 });
    expect(page).toMatchObject({ items: [{ name: 'Ada' }, { name: 'Clerk' }], hasMore: true });
    const rest = await agents.list(here.viewer, { first: 2, after: page.items[1]?.id });
    expect(rest).toMatchObject({ items: [{ name: 'Zoe' }], hasMore: false });
  });

  it('keeps names and slugs unique', async () => {
    const { id } = await made();
    await expect(made()).rejects.toMatchObject({ code: 'conflict', field: 'name' });
    await expect(made({ name: 'clerk!' })).rejects.toMatchObject({ code: 'conflict', field: 'slug' });
    expect(await made({ name: 'clerk!', slug: 'clerk.2' })).toMatchObject({ slug: 'clerk.2' });
    expect((await made({ name: 'Auto' })).slug).toMatch(/^agent-[0-9a-f]{6}$/);
    // Clients know it by its slug, so another name changes nothing for them.
    expect(await changed(id, { name: 'Registrar' })).toMatchObject({ name: 'Registrar', slug: 'clerk', version: 1 });
  });

  it.each<[string, Record<string, unknown>]>([
    ['name', { name: ' ' }],
    ['slug', { slug: 'auto' }],
    ['slug', { slug: 'a/b' }],
    ['model', { model: '' }],
    ['tools', { tools: ['unknown_tool'] }],
    ['externalTools', { externalTools: ['unknown_tool'] }],
    ['parameters.temperature', { parameters: { temperature: 3 } }],
    ['parameters.top_p', { parameters: { top_p: '1' } }],
    ['parameters.messages', { parameters: { messages: [] } }],
    ['limits.maxRounds', { limits: { maxRounds: 0 } }],
    ['limits.maxSeconds', { limits: { maxSeconds: 1 } }],
    ['surprise', { surprise: 1 }],
  ])('rejects an invalid %s', async (field, input) => {
    await expect(made(input)).rejects.toMatchObject({ code: 'bad_request', field });
    expect(await agents.all(here.admin)).toEqual([]);
  });
});

describe('a change of an agent', () => {
  it('creates a new version and keeps the old one', async () => {
    const { id } = await made({ instructions: 'One.' });
    expect(await changed('clerk', { instructions: 'Two.', parameters: { temperature: 0 } })).toMatchObject({
      version: 2,
    });
    expect((await agents.versions(here.viewer, id, ten)).items).toMatchObject([
      { number: 2, instructions: 'Two.', parameters: { temperature: 0 } },
      { number: 1, instructions: 'One.', parameters: {} },
    ]);
    const [pinned] = await engine.app.get(AgentsRepository).pinned(here.admin.workspaceId, [{ id, version: 1 }]);
    expect(pinned).toMatchObject({ version: 1, instructions: 'One.', name: 'Clerk' });
  });

  it('creates no version if the settings stay the same', async () => {
    const { id } = await made({ instructions: 'One.' });
    expect(await changed(id, { instructions: 'One.', description: 'Same.' })).toMatchObject({
      version: 1,
      description: 'Same.',
    });
  });

  it('fails if another member has changed the agent since the expected version', async () => {
    const { id } = await made();
    await changed(id, { instructions: 'Two.' }, 1);
    await expect(changed(id, { instructions: 'Three.' }, 1)).rejects.toMatchObject({
      ...{ code: 'conflict', field: 'expectedVersion', details: { version: 2 } },
    });
  });

  it('can be reverted by a new version', async () => {
    const { id } = await made({ instructions: 'One.' });
    await changed(id, { instructions: 'Two.' });
    expect(await agents.restore(here.admin, id, 1)).toMatchObject({ version: 3, instructions: 'One.' });
    expect(await agents.restore(here.admin, id, 1)).toMatchObject({ version: 3 });
    await expect(agents.restore(here.admin, id, 9)).rejects.toMatchObject({ code: 'not_found', field: 'version' });
  });

  it('cannot rewrite a stored version', async () => {
    const { id, workspaceId } = { ...(await made()), workspaceId: here.admin.workspaceId };
    const rewritten = database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(`UPDATE agent_version SET instructions = 'Other.' WHERE agent_id = $1`, [id]),
    );
    await expect(rewritten).rejects.toThrow(/permission denied/);
  });

  it('writes an audit entry without the instructions', async () => {
    const { id } = await made({ instructions: 'Secret plans.' });
    await changed(id, { instructions: 'Other plans.' });
    const { workspaceId } = here.admin;
    const entries = await database.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.auditEntry.findMany({ where: { workspaceId, subjectType: 'Agent' }, orderBy: { id: 'asc' } }),
    );
    expect(entries).toMatchObject([
      { action: 'agent-created', actor: here.admin.id, subjectId: id, details: { name: 'Clerk', version: 1 } },
      { action: 'agent-changed', details: { version: 2 } },
    ]);
    expect(JSON.stringify(entries)).not.toContain('plans');
  });
});

describe('the default agent', () => {
  it('defaults to the first agent until another is set', async () => {
    const first = await made();
    const second = await made({ name: 'Second' });
    expect([first.isDefault, second.isDefault]).toEqual([true, false]);
    await agents.setDefault(here.owner, 'second');
    expect(await agents.all(here.viewer)).toMatchObject([{ isDefault: false }, { isDefault: true }]);
  });

  it('can be archived only as the last agent', async () => {
    const { id } = await made();
    const { id: second } = await made({ name: 'Second' });
    await expect(agents.archive(here.admin, id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await agents.archive(here.admin, second)).toMatchObject({ archivedAt: expect.any(Number) });
    expect(await agents.archive(here.admin, id)).toMatchObject({ isDefault: false });
    await expect(agents.find(here.admin, id)).rejects.toMatchObject({ code: 'not_found' });
    // The archived agent's name is free, and the next agent that is created becomes the default; jobs still find the pinned version.
    expect(await made()).toMatchObject({ slug: 'clerk', isDefault: true });
    const repository = engine.app.get(AgentsRepository);
    expect(await repository.pinned(here.admin.workspaceId, [{ id, version: 1 }])).toMatchObject([{ id }]);
  });
});

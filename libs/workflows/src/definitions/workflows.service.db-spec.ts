import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';

import type { KeyPrincipal, KeyScope, MemberPrincipal, Role } from '#auth';
import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { startTestEngine, type TestEngine } from '../../../../test/harness/engine.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { smallWorkflow, workflowDocument } from '../../../../test/harness/workflow-documents.js';
import { WorkflowsService } from './workflows.service.js';

let database: TestDatabase;
let identities: TestIdentities;
let engine: TestEngine;
let app: INestApplicationContext;
let here: Record<Role, MemberPrincipal>;
let workflows: WorkflowsService;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  engine = await startTestEngine(database, {}, false);
  app = engine.app;
  workflows = app.get(WorkflowsService);
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
});
afterAll(async () => {
  await engine.close();
  identities.auth.close();
  await database.close();
});

const saved = (definition: unknown, who = here.member) =>
  workflows.save(who, { id: null, definition, expectedVersion: null });
const published = async (definition: unknown) => {
  const { id } = await saved(definition);
  return (await workflows.publish(here.admin, id)).workflow;
};
const scopes: readonly KeyScope[] = ['write'];
const writeOnlyKey = ({ workspaceId, userId, role }: MemberPrincipal): KeyPrincipal =>
  Object.freeze({ kind: 'key', id: 'key:k', prefix: 'p', workspaceId, userId, role, scopes, expiresAt: null });
const all = { first: 100 };
const ten = { first: 10, below: undefined };

describe('drafts', () => {
  it('can be saved by members and read by every role', async () => {
    const workflow = await saved(smallWorkflow({ name: ' Letters ', id: 'w-1', description: 'Writes them.' }));
    expect(workflow).toMatchObject({
      ...{ name: 'Letters', clientId: 'w-1', description: 'Writes them.', createdBy: here.member.id },
      ...{ draftVersion: 1, publishedVersion: null, latestVersion: 0 },
    });
    expect(await workflows.get(here.viewer, workflow.id)).toEqual(workflow);
    expect(await workflows.get(here.viewer, 'w-1')).toEqual(workflow);
    expect(await workflows.list(here.viewer, all)).toEqual({ items: [workflow], hasMore: false });
    await expect(saved(smallWorkflow({ name: 'Other' }), here.viewer)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('refuse API keys that may write and not read', async () => {
    const key = writeOnlyKey(here.member);
    await saved(smallWorkflow({ name: 'Taken' }));
    for (const name of ['Taken', 'Free']) {
      const definition = smallWorkflow({ name });
      await expect(saved(definition, key)).rejects.toMatchObject({ code: 'not_found' });
      await expect(workflows.import(key, { definition, expectedVersion: null })).rejects.toMatchObject({
        code: 'not_found',
      });
    }
  });

  it('keep their text byte for byte', async () => {
    const text = JSON.stringify(smallWorkflow({ name: 'x', ours: { b: 1, a: [1.5, null] } }), null, 3).replace(
      '1.5',
      '1.50',
    );
    const { id } = await saved(text);
    expect(await workflows.draft(here.viewer, id)).toBe(text);
  });

  it('fail to save with a list of all errors', async () => {
    const circle = workflowDocument({ name: 'x' }, [{ id: 'a' }, { id: 'b' }], ['start -> a', 'a -> b', 'b -> a']);
    await expect(saved(circle)).rejects.toMatchObject({
      code: 'workflow_invalid',
      details: { issues: [expect.objectContaining({ code: 'CYCLE_DETECTED' })] },
    });
    expect(await workflows.validate(here.viewer, circle)).toMatchObject({ isValid: false });
    expect((await workflows.list(here.viewer, all)).items).toEqual([]);
  });

  it.each([
    ['invalid JSON', '{"meta":', 'bad_request'],
    ['a document without meta', { nodes: [] }, 'bad_request'],
    ['no object', 7, 'bad_request'],
    ['a document with a blank name', smallWorkflow({ name: ' ' }), 'bad_request'],
    ['larger than 1 MiB', smallWorkflow({ name: 'x', more: 'x'.repeat(1_048_576) }), 'too_large'],
  ])('fail to save: %s', async (_, definition, code) => {
    await expect(saved(definition)).rejects.toMatchObject({ code });
    const given = { definition, expectedVersion: null };
    await expect(workflows.import(here.member, given)).rejects.toMatchObject({ code });
  });

  it.each([
    ['10,000 nodes', `{"nodes":[${'{},'.repeat(10_000)}{}]}`],
    ['100,000 members and entries', `{"others":[${'1,'.repeat(100_000)}1]}`],
  ])('fail to save with more than %s', async (most, definition) => {
    const message = `has more than ${most.replace(',', '')}`;
    await expect(saved(definition)).rejects.toThrow(message);
    await expect(workflows.import(here.member, { definition, expectedVersion: null })).rejects.toThrow(message);
  });

  it('refuse to overwrite a draft that another member saved meanwhile', async () => {
    const { id } = await saved(smallWorkflow({ name: 'x' }));
    const save = (expectedVersion: number) =>
      workflows.save(here.member, { id, definition: smallWorkflow({ name: `x${newId()}` }), expectedVersion });
    const outcomes = await Promise.allSettled([save(1), save(1), save(1)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    await expect(save(1)).rejects.toMatchObject({ code: 'workflow_changed', details: { draftVersion: 2 } });
    expect(await save(2)).toMatchObject({ draftVersion: 3 });
  });

  it('require a unique name and id', async () => {
    await saved(smallWorkflow({ name: 'x', id: 'w-1' }));
    await expect(saved(smallWorkflow({ name: 'x' }))).rejects.toMatchObject({ code: 'conflict' });
    await expect(saved(smallWorkflow({ name: 'y', id: 'w-1' }))).rejects.toMatchObject({ code: 'conflict' });
    const { id } = await saved(smallWorkflow({ name: 'y' }));
    const save = workflows.save(here.member, { id, definition: smallWorkflow({ name: 'x' }), expectedVersion: null });
    await expect(save).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('versions', () => {
  it('get increasing numbers, and never change', async () => {
    const first = smallWorkflow({ name: 'x' });
    const { id, publishedVersion } = await published(first);
    expect(publishedVersion).toBe(1);
    await workflows.save(here.member, { id, definition: smallWorkflow({ name: 'y' }), expectedVersion: null });
    expect(await workflows.get(here.viewer, id)).toMatchObject({
      publishedVersion: 1,
      latestVersion: 1,
      draftVersion: 2,
    });
    const { workflow, version } = await workflows.publish(here.owner, id);
    expect(workflow).toMatchObject({ publishedVersion: 2, latestVersion: 2 });
    expect(version).toMatchObject({ number: 2, hash: workflow.draftHash, createdBy: here.owner.id });
    expect(await workflows.versions(here.viewer, id, ten)).toMatchObject({
      items: [{ number: 2 }, { number: 1, createdBy: here.admin.id }],
      hasMore: false,
    });
    expect(await workflows.versions(here.viewer, id, { first: 1, below: 2 })).toMatchObject({ items: [{ number: 1 }] });
    expect((await workflows.version(here.viewer, id, 1)).text).toBe(JSON.stringify(first));
    const change = database.prisma.withWorkspace(here.owner, (tx) =>
      tx.workflowVersion.updateMany({ where: { workflowId: id }, data: { definition: '{}' } }),
    );
    await expect(change).rejects.toThrow(/permission denied/);
  });

  it('stay the same when the content is published twice', async () => {
    const { id } = await published(smallWorkflow({ name: 'x' }));
    const same = JSON.stringify(smallWorkflow({ name: 'x' }), null, 2);
    await workflows.save(here.member, { id, definition: same, expectedVersion: null });
    const { workflow, version } = await workflows.publish(here.admin, id);
    expect([workflow.latestVersion, version.number]).toEqual([1, 1]);
  });

  it('can be restored as the draft', async () => {
    const { id } = await published(smallWorkflow({ name: 'x' }));
    await workflows.save(here.member, { id, definition: smallWorkflow({ name: 'y' }), expectedVersion: null });
    await workflows.publish(here.admin, id);
    const restoring = { version: 1, expectedVersion: 2 };
    const restored = await workflows.restore(here.member, id, restoring);
    expect(restored).toMatchObject({ name: 'x', draftVersion: 3, publishedVersion: 2 });
    expect(JSON.parse(await workflows.draft(here.viewer, id))).toEqual(smallWorkflow({ name: 'x' }));
    await expect(workflows.restore(here.member, id, restoring)).rejects.toMatchObject({ code: 'workflow_changed' });
    const unknown = workflows.restore(here.member, id, { version: 9, expectedVersion: null });
    await expect(unknown).rejects.toMatchObject({ code: 'not_found' });
  });

  it('can be published and deleted only by roles that run the workspace', async () => {
    const { id } = await saved(smallWorkflow({ name: 'x' }));
    for (const who of [here.member, here.viewer]) {
      await expect(workflows.publish(who, id)).rejects.toMatchObject({ code: 'forbidden' });
      await expect(workflows.remove(who, id)).rejects.toMatchObject({ code: 'forbidden' });
    }
    await expect(workflows.publish(here.admin, id, 7)).rejects.toMatchObject({ code: 'workflow_changed' });
  });

  it('can use only published subflows', async () => {
    const parent = workflowDocument(
      { name: 'parent' },
      [{ id: 'child', type: 'subflow', data: { subflowId: 'w-child', inputMappings: { input: '{{input}}' } } }],
      ['start -> child'],
    );
    await expect(saved(parent)).rejects.toMatchObject({
      details: { issues: [expect.objectContaining({ code: 'SUBFLOW_NOT_FOUND' })] },
    });
    const { id } = await saved(smallWorkflow({ name: 'child', id: 'w-child' }));
    await expect(saved(parent)).rejects.toMatchObject({ code: 'workflow_invalid' });
    await workflows.publish(here.admin, id);
    expect(await saved(parent)).toMatchObject({ name: 'parent' });
  });
});

describe('documents of other systems', () => {
  it('keep their faults when imported, and cannot be published', async () => {
    const faulty = workflowDocument({ name: 'x', id: 'w-1' }, [{ id: 'a', data: { model: '' } }], ['start -> a']);
    const imported = await workflows.import(here.member, { definition: faulty, expectedVersion: null });
    expect(imported).toMatchObject({ clientId: 'w-1', draftVersion: 1 });
    await expect(workflows.publish(here.admin, imported.id)).rejects.toMatchObject({
      code: 'workflow_invalid',
      details: { issues: [expect.objectContaining({ code: 'MISSING_MODEL', nodeId: 'a' })] },
    });
  });

  it('replace the draft that came with the same id', async () => {
    const give = (name: string, expectedVersion: number | null = null) =>
      workflows.import(here.member, { definition: smallWorkflow({ name, id: 'w-1' }), expectedVersion });
    const first = await give('x');
    expect(await give('y')).toMatchObject({ id: first.id, name: 'y', draftVersion: 2 });
    await expect(give('z', 1)).rejects.toMatchObject({ code: 'workflow_changed' });
  });
});

describe('a deleted workflow', () => {
  it('disappears from every lookup and frees its name', async () => {
    const { id } = await published(smallWorkflow({ name: 'x', id: 'w-1' }));
    await workflows.remove(here.admin, id);
    for (const attempt of [
      () => workflows.get(here.owner, id),
      () => workflows.get(here.owner, 'w-1'),
      () => workflows.draft(here.owner, id),
      () => workflows.versions(here.owner, id, ten),
      () => workflows.version(here.owner, id, 1),
      () => workflows.publish(here.owner, id),
      () => workflows.remove(here.owner, id),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: 'not_found' });
    expect((await workflows.list(here.owner, all)).items).toEqual([]);
    expect(await saved(smallWorkflow({ name: 'x', id: 'w-1' }))).toMatchObject({ draftVersion: 1 });
  });
});

it('a workflow stays invisible to another tenant', async () => {
  const { id } = await saved(smallWorkflow({ name: 'x', id: 'w-1' }));
  const { owner: stranger } = await identities.workspaceOf(newId());
  for (const ref of [id, 'w-1'])
    await expect(workflows.get(stranger, ref)).rejects.toMatchObject({ code: 'not_found' });
  expect((await workflows.list(stranger, all)).items).toEqual([]);
});

it('WorkflowsService writes an audit entry for each change', async () => {
  const { id } = await published(smallWorkflow({ name: 'x', id: 'w-1' }));
  await workflows.import(here.member, { definition: smallWorkflow({ name: 'y', id: 'w-1' }), expectedVersion: null });
  await workflows.restore(here.member, id, { version: 1, expectedVersion: null });
  await workflows.remove(here.admin, id);
  const rows = await database.prisma.withWorkspace(here.owner, (tx) =>
    tx.auditEntry.findMany({ where: { subjectType: 'Workflow', subjectId: id }, orderBy: { id: 'asc' } }),
  );
  expect(rows.map(({ action, actor }) => [action, actor])).toEqual([
    ['workflow-created', here.member.id],
    ['workflow-published', here.admin.id],
    ['workflow-imported', here.member.id],
    ['workflow-restored', here.member.id],
    ['workflow-deleted', here.admin.id],
  ]);
});

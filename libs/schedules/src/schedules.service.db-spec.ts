import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { Files } from '#files';
import { StartFilters } from '#jobs';
import { AppError, newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { startTestEngine, type TestEngine } from '../../../test/harness/engine.js';
import { openTestIdentities, type TestIdentities } from '../../../test/harness/identities.js';
import { publish, sketch } from '../../../test/harness/workflows.js';
import type { Schedule } from './schedule.js';
import { ScheduleTimers } from './schedule-timers.js';
import { SchedulesService } from './schedules.service.js';

let database: TestDatabase;
let identities: TestIdentities;
let engine: TestEngine;
let here: Record<Role, MemberPrincipal>;
let workflowRef: string;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  engine = await startTestEngine(database, { MODEL_BASE_URL: 'http://127.0.0.1:9/v1' }, false);
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
  ({ id: workflowRef } = await publish(engine, here.owner, named('Echo')));
});
afterAll(async () => {
  await engine.close();
  identities.auth.close();
  await database.close();
});

const named = (name: string) => sketch({ out: { type: 'output', format: 'text' } }, ['start -> out'], { name });
const service = () => engine.app.get(SchedulesService);
const save = (change: object = {}, who = here.admin): Promise<Schedule> =>
  service().save(who, {
    ...{ id: null, workflowRef, cron: '30 7 * * 1-5', timeZone: 'Europe/Berlin', missed: 'once', prompt: 'Hello' },
    ...{ enabled: true, ...change },
  });

const chat = (change: object = {}, who = here.member, terms: object = {}): Promise<Schedule> =>
  service().saveChat(who, {
    ...{ id: null, cron: '30 7 * * 1-5', timeZone: 'UTC', missed: 'once', enabled: true, ...terms },
    chat: {
      ...{ threadRef: null, model: null, messages: [{ role: 'user', content: 'Hello' }], tools: [], parameters: {} },
      ...change,
    },
  });

describe('the schedules of chats', () => {
  it('let their member, owners and admins change them, and no other member', async () => {
    const saved = await chat();
    expect(saved).toMatchObject({ workflowId: null, savedBy: here.member.id, userId: here.member.userId });
    await expect(chat({}, here.viewer)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await service().get(here.viewer, saved.id, 'chat')).toEqual(saved);
    const other = await chat({}, here.admin);
    await expect(service().remove(here.member, other.id, 'chat')).rejects.toMatchObject({ code: 'forbidden' });
    expect(await chat({ model: 'm' }, here.admin, { id: saved.id })).toMatchObject({ savedBy: here.admin.id });
    await service().remove(here.admin, saved.id, 'chat');
    await expect(service().get(here.viewer, saved.id, 'chat')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('show in their slots why a start was denied', async () => {
    const filters = engine.app.get(StartFilters);
    const error = { code: 'hook_denied', message: 'Not on Sundays.' };
    const saved = await chat({}, here.member, { cron: '* * * * *' });
    await database.postgres.withWorkspaceSql(here.owner.workspaceId, (client) =>
      client.query(`UPDATE workflow_schedule SET next_slot_at = date_trunc('minute', clock_timestamp())`),
    );
    filters.register(() => Promise.reject(new AppError(error)));
    await engine.app.get(ScheduleTimers).sweep();
    filters.register((request) => Promise.resolve(request));
    const slots = await service().slots(here.viewer, saved.id, 5);
    expect(slots).toMatchObject([{ status: 'failed', jobId: null, error: { ...error, retryable: false } }]);
  });

  it('keep the rights of the member that saved them when an admin disables and enables them', async () => {
    const { id, chat: saved, savedBy, userId } = await chat();
    for (const enabled of [false, true]) {
      const changed = await service().setEnabled(here.admin, id, { enabled, kind: 'chat' });
      expect(changed).toMatchObject({ enabled, savedBy, userId, chat: saved });
    }
    const own = await service().setEnabled(here.member, id, { enabled: false, kind: 'chat' });
    expect(own).toMatchObject({ enabled: false, savedBy });
  });

  it('appear in a list of their own, without schedules of workflows', async () => {
    const [ofWorkflow, ofChat] = [await save(), await chat()];
    const ids = ({ items }: { readonly items: readonly Schedule[] }) => items.map(({ id }) => id);
    expect(ids(await service().list(here.viewer, { kind: 'workflow' }, { first: 5, after: undefined }))).toEqual([
      ofWorkflow.id,
    ]);
    expect(ids(await service().list(here.viewer, { kind: 'chat' }, { first: 5, after: undefined }))).toEqual([
      ofChat.id,
    ]);
    await expect(service().get(here.viewer, ofChat.id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(service().remove(here.admin, ofWorkflow.id, 'chat')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('store the files of their messages and refer to them', async () => {
    const url = `data:text/plain;base64,${Buffer.from('a scheduled file').toString('base64')}`;
    const parts = [{ type: 'file', file: { filename: 'plan.txt', file_data: url } }];
    const saved = await chat({ messages: [{ role: 'user', content: parts }] });
    const { items } = await engine.app.get(Files).list(here.member, { first: 5, after: undefined });
    expect(items).toMatchObject([{ name: 'plan.txt', mime: 'text/plain' }]);
    const reference = { type: 'file', file: { file_id: items[0]?.hash, mime: 'text/plain', filename: 'plan.txt' } };
    expect(saved.chat?.messages).toEqual([{ role: 'user', content: [reference] }]);
    const absent = [{ type: 'file', file: { file_id: '0'.repeat(64) } }];
    await expect(chat({ messages: [{ role: 'user', content: absent }] })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('reject an unknown agent, an unknown tool, no messages and a chat that is too long', async () => {
    await expect(chat({ agent: { type: 'agent', ref: 'absent' } })).rejects.toMatchObject({ field: 'agent' });
    await expect(chat({ tools: ['absent'] })).rejects.toMatchObject({ field: 'tools' });
    await expect(chat({ messages: [] })).rejects.toMatchObject({ code: 'bad_request' });
    const long = [{ role: 'user', content: 'x'.repeat(200_000) }];
    await expect(chat({ messages: long })).rejects.toMatchObject({ code: 'too_large' });
  });
});

describe('SchedulesService', () => {
  it('requires the right to manage workflows for changes, and shows schedules to all members', async () => {
    for (const who of [here.member, here.viewer])
      await expect(save({}, who)).rejects.toMatchObject({ code: 'forbidden' });
    const saved = await save();
    expect(saved).toMatchObject({ workflowId: workflowRef, createdBy: here.admin.id, savedBy: here.admin.id });
    expect(await service().get(here.viewer, saved.id)).toEqual(saved);
    for (const change of [
      () => service().setEnabled(here.member, saved.id, { enabled: false }),
      () => service().remove(here.member, saved.id),
    ])
      await expect(change()).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('hides schedules from other workspaces', async () => {
    const { id } = await save();
    const { owner: stranger } = await identities.workspaceOf(newId());
    const absent = { code: 'not_found' };
    await expect(service().get(stranger, id)).rejects.toMatchObject(absent);
    await expect(save({ id }, stranger)).rejects.toMatchObject(absent);
    await expect(service().setEnabled(stranger, id, { enabled: false })).rejects.toMatchObject(absent);
    await expect(service().remove(stranger, id)).rejects.toMatchObject(absent);
    expect(await service().slots(stranger, id, 5)).toEqual([]);
    expect((await service().list(stranger, { kind: 'workflow' }, { first: 5 })).items).toEqual([]);
  });

  it('computes the next slots in the time zone of a schedule, and none while it is disabled', async () => {
    const saved = await save();
    const slots = service().nextSlots(saved, 6);
    expect([slots[0], slots.length]).toEqual([saved.nextSlotAt, 6]);
    const shown = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' });
    expect(new Set(slots.map((slot) => shown.format(slot)))).toEqual(new Set(['07:30']));
    const disabled = await service().setEnabled(here.owner, saved.id, { enabled: false });
    expect(disabled).toMatchObject({ enabled: false, nextSlotAt: null, savedBy: here.owner.id });
    expect(service().nextSlots(disabled, 6)).toEqual([]);
  });

  it('changes schedules, lists them by workflow, and removes them', async () => {
    const { id: otherWorkflow } = await publish(engine, here.owner, named('Other'));
    const first = await save();
    const second = await save({ workflowRef: otherWorkflow });
    const changed = await save({ id: first.id, cron: '0 0 1 * *', prompt: 'Bye' });
    expect(changed).toMatchObject({ id: first.id, cron: '0 0 1 * *', prompt: 'Bye' });
    await expect(save({ id: first.id, workflowRef: otherWorkflow })).rejects.toMatchObject({ code: 'not_found' });
    const idsOf = async (ref: string | null, page = { first: 5 }) =>
      (await service().list(here.viewer, { kind: 'workflow', workflowRef: ref }, page)).items.map(({ id }) => id);
    expect(await idsOf(null)).toEqual([second.id, first.id]);
    expect(await idsOf(workflowRef)).toEqual([first.id]);
    expect(await service().list(here.viewer, { kind: 'workflow' }, { first: 1 })).toMatchObject({ hasMore: true });
    await service().remove(here.admin, second.id);
    expect(await idsOf(null)).toEqual([first.id]);
  });

  it.each<[object, object]>([
    [{ cron: '* * * *' }, { code: 'bad_request', field: 'cron' }],
    [{ cron: '0 0 30 2 *' }, { code: 'bad_request', field: 'cron', message: 'cron: never comes' }],
    [{ timeZone: 'Mars/Phobos' }, { code: 'bad_request', field: 'timeZone' }],
    [{ prompt: ' ' }, { code: 'bad_request', field: 'prompt' }],
    [{ prompt: 'x'.repeat(12_001) }, { code: 'too_large', field: 'prompt' }],
    [{ workflowRef: newId() }, { code: 'not_found' }],
    [{ id: newId() }, { code: 'not_found' }],
    [{ id: 'none' }, { code: 'not_found' }],
  ])('rejects %j', async (change, expected) => {
    await expect(save(change)).rejects.toMatchObject(expected);
  });

  it('stores at most 200 schedules per workspace', async () => {
    await database.postgres.withWorkspaceSql(here.owner.workspaceId, (client) =>
      client.query(
        `INSERT INTO workflow_schedule (workspace_id, id, workflow_id, cron, time_zone, missed, prompt, enabled, created_by, saved_by)
         SELECT $1, gen_random_uuid(), $2, '0 0 * * *', 'UTC', 'once', 'x', false, 'user:x', 'user:x' FROM generate_series(1, 200)`,
        [here.owner.workspaceId, workflowRef],
      ),
    );
    await expect(save()).rejects.toMatchObject({ code: 'conflict' });
  });

  it('writes audit entries', async () => {
    const { id } = await save();
    await service().setEnabled(here.admin, id, { enabled: false });
    await service().remove(here.owner, id);
    const rows = await database.postgres.withWorkspaceSql(here.owner.workspaceId, async (client) => {
      const found = `SELECT actor, action FROM audit_entry WHERE subject_id = $1 ORDER BY at, id`;
      return (await client.query<{ actor: string; action: string }>(found, [id])).rows;
    });
    expect(rows).toEqual([
      { actor: here.admin.id, action: 'schedule-created' },
      { actor: here.admin.id, action: 'schedule-disabled' },
      { actor: here.owner.id, action: 'schedule-removed' },
    ]);
  });
});

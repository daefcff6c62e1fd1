import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ask } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { smallWorkflow } from '../harness/workflow-documents.js';

const fields = `schedule { id name workflowId cron timeZone missed prompt enabled stoppedBecause nextSlots(count: 2) slots { status } }
  userErrors { code field }`;
const SAVE = `mutation($input: SaveWorkflowScheduleInput!) { saveWorkflowSchedule(input: $input) { ${fields} } }`;
const ENABLE = `mutation($input: SetWorkflowScheduleEnabledInput!) { setWorkflowScheduleEnabled(input: $input) { ${fields} } }`;
const REMOVE = `mutation($id: ID!) { removeWorkflowSchedule(input: { id: $id }) { ${fields} } }`;
const LIST = `query($workflowId: ID, $after: String) {
  workflowSchedules(workflowId: $workflowId, first: 1, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } }
}`;

let database: TestDatabase;
let api: TestApi;
let people: Record<'admin' | 'member', TestMember>;
let admin: GraphqlMember;
let member: GraphqlMember;
let workflowId: string;

type Found = Readonly<Record<string, any>>; // eslint-disable-line @typescript-eslint/no-explicit-any -- tests know what they asked for
const run = async (who: GraphqlMember, text: string, variables?: object) => (await who.query(text, variables)) as Found;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await startTestApi(database, { takesJobs: false });
});
beforeEach(async () => {
  people = await api.people.workspaceOf(`schedules-${newId()}`);
  admin = graphqlMember(api, people.admin.key);
  member = graphqlMember(api, people.member.key);
  const definition = smallWorkflow({ name: 'Letters', id: 'w-1' });
  const saved = await run(
    member,
    'mutation($definition: JSON!) { importWorkflow(input: { definition: $definition }) { workflow { id } } }',
    { definition },
  );
  ({ id: workflowId } = (saved['importWorkflow'] as Found)['workflow'] as { id: string });
});
afterAll(async () => {
  await api.close();
  await database.close();
});

describe('schedules over GraphQL', () => {
  it('create, show, disable, list and remove a schedule', async () => {
    const input = { workflowId: 'w-1', cron: '0 12 * * *', prompt: 'Good morning' };
    const { saveWorkflowSchedule } = await run(admin, SAVE, { input });
    const made = (saveWorkflowSchedule as Found)['schedule'] as { id: string; nextSlots: string[] };
    const { id } = made;
    expect(saveWorkflowSchedule).toMatchObject({
      userErrors: [],
      schedule: { workflowId, timeZone: 'UTC', missed: 'ONCE', enabled: true, stoppedBecause: null, slots: [] },
    });
    const [first, second] = made.nextSlots;
    expect(Date.parse(second ?? '') - Date.parse(first ?? '')).toBe(86_400_000);
    const disabled = await run(admin, ENABLE, { input: { id, enabled: false } });
    expect(disabled).toMatchObject({ setWorkflowScheduleEnabled: { schedule: { enabled: false, nextSlots: [] } } });
    await run(admin, SAVE, { input: { ...input, missed: 'ALL' } });
    const page = (await run(member, LIST, { workflowId: 'w-1' }))['workflowSchedules'] as {
      pageInfo: { endCursor: string };
    };
    expect(page).toMatchObject({
      nodes: [{ id: expect.not.stringContaining(id) as unknown }],
      pageInfo: { hasNextPage: true },
    });
    const { workflowSchedules } = await run(member, LIST, { after: page.pageInfo.endCursor });
    expect(workflowSchedules).toMatchObject({ nodes: [{ id }], pageInfo: { hasNextPage: false } });
    expect(await run(admin, REMOVE, { id })).toMatchObject({ removeWorkflowSchedule: { schedule: { id } } });
    const one = 'query($id: ID!) { workflowSchedule(id: $id) { id } }';
    expect(await run(member, one, { id })).toEqual({ workflowSchedule: null });
  });

  it.each<[object, object]>([
    [{ cron: 'daily' }, { code: 'bad_request', field: 'cron' }],
    [{ name: ' ' }, { code: 'bad_request', field: 'name' }],
    [{ timeZone: 'Moon' }, { code: 'bad_request', field: 'timeZone' }],
    [{ workflowId: 'unknown' }, { code: 'not_found' }],
  ])('name the fault of %j', async (change, error) => {
    const input = { workflowId, cron: '0 12 * * *', prompt: 'x', ...change };
    expect(await run(admin, SAVE, { input })).toMatchObject({
      saveWorkflowSchedule: { schedule: null, userErrors: [error] },
    });
  });

  it('replace a schedule by name when it is saved without an id', async () => {
    const input = { workflowId: 'w-1', name: 'morning', cron: '0 12 * * *', prompt: 'Good morning' };
    const save = async (given: object) => (await run(admin, SAVE, { input: given }))['saveWorkflowSchedule'] as Found;
    const idOf = ({ schedule }: Found) => (schedule as { id: string }).id;
    const first = await save(input);
    const id = idOf(first);
    expect(first).toMatchObject({ schedule: { name: 'morning' } });
    expect(await save({ ...input, prompt: 'Hello' })).toMatchObject({ schedule: { id, prompt: 'Hello' } });
    const unnamed = { workflowId: 'w-1', cron: '0 12 * * *', prompt: 'Hello' };
    expect(await save({ ...unnamed, id })).toMatchObject({ schedule: { id, name: 'morning' } });
    const other = await save({ ...input, name: ' evening ' });
    expect(other).toMatchObject({ schedule: { name: 'evening' } });
    const taken = { schedule: null, userErrors: [{ code: 'conflict', field: 'name' }] };
    expect(await save({ ...input, id: idOf(other) })).toMatchObject(taken);
    expect(await save({ ...unnamed, id: idOf(other), name: null })).toMatchObject({ schedule: { name: null } });
    const definition = smallWorkflow({ name: 'Others', id: 'w-2' });
    const importing =
      'mutation($definition: JSON!) { importWorkflow(input: { definition: $definition }) { workflow { id } } }';
    await run(member, importing, { definition });
    expect(await save({ ...input, workflowId: 'w-2' })).toMatchObject(taken);
  });

  it('require the permission to manage workflows', async () => {
    const input = { workflowId, cron: '0 12 * * *', prompt: 'x' };
    const { errors } = await ask(api, SAVE, { key: people.member.key, variables: { input } });
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
  });
});

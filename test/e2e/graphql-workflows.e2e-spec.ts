import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ask } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { layOutNodeRuns } from '../harness/node-runs.js';
import { smallWorkflow, workflowDocument } from '../harness/workflow-documents.js';

let database: TestDatabase;
let api: TestApi;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await startTestApi(database, { takesJobs: false, env: { WORKFLOW_STARTS_PER_MINUTE: '5' } });
});
afterAll(async () => {
  await api.close();
  await database.close();
});

type Found = Readonly<Record<string, any>>; // eslint-disable-line @typescript-eslint/no-explicit-any -- tests know what they asked for
const run = async (who: GraphqlMember, text: string, variables?: object) => (await who.query(text, variables)) as Found;

describe('GraphQL workflows:', () => {
  const fields =
    'workflow { id clientId name draftVersion publishedVersion latestVersion } userErrors { code message field issues }';

  const SAVE = `mutation($input: SaveWorkflowInput!) { saveWorkflow(input: $input) { ${fields} issues { type code nodeId path } } }`;

  const IMPORT = `mutation($input: ImportWorkflowInput!) { importWorkflow(input: $input) { ${fields} } }`;

  const PUBLISH = `mutation($id: ID!) { publishWorkflow(input: { id: $id }) { ${fields} version { number hash } } }`;

  const START = `mutation($input: StartWorkflowInput!) {
  startWorkflow(input: $input) { jobId status replayed job { kind workflowId workflowVersion } userErrors { code message issues } }
}`;

  let people: Record<'owner' | 'admin' | 'member' | 'viewer', TestMember>;
  let member: GraphqlMember;
  let admin: GraphqlMember;
  let viewer: GraphqlMember;

  beforeEach(async () => {
    people = await api.people.workspaceOf(`workflows-${newId()}`);
    member = graphqlMember(api, people.member.key);
    admin = graphqlMember(api, people.admin.key);
    viewer = graphqlMember(api, people.viewer.key);
  });

  async function published(definition: unknown): Promise<string> {
    const { importWorkflow } = await run(member, IMPORT, { input: { definition } });
    const { id } = (importWorkflow as Found)['workflow'] as { id: string };
    const { publishWorkflow } = await run(admin, PUBLISH, { id });
    expect(publishWorkflow).toMatchObject({ userErrors: [], version: { number: expect.any(Number) } });
    return id;
  }

  describe('the GraphQL API of workflow definitions', () => {
    it('saves, publishes, restores and deletes a definition', async () => {
      const document = smallWorkflow({ name: 'Letters', id: 'w-1', ours: { kept: true } });
      const { saveWorkflow } = await run(member, SAVE, { input: { definition: document } });
      expect(saveWorkflow).toMatchObject({
        userErrors: [],
        issues: null,
        workflow: { clientId: 'w-1', draftVersion: 1 },
      });
      const { id } = (saveWorkflow as Found)['workflow'] as { id: string };
      await run(admin, PUBLISH, { id });
      const input = { id, definition: JSON.stringify(smallWorkflow({ name: 'Other' }), null, 1), expectedVersion: 1 };
      await run(member, SAVE, { input });
      const read = `query($id: ID!) {
      workflow(id: $id) { name draft draftText publishedVersion latestVersion issues { code } }
      workflows(first: 1) { nodes { id } pageInfo { hasNextPage } }
      workflowVersions(workflowId: $id, first: 1) { nodes { number definition text createdBy } pageInfo { hasNextPage endCursor } }
      workflowVersion(workflowId: $id, number: 1) { number hash }
    }`;
      expect(await run(viewer, read, { id: 'w-1' })).toMatchObject({
        workflow: { name: 'Other', draftText: input.definition, draft: smallWorkflow({ name: 'Other' }), issues: [] },
        workflows: { nodes: [{ id }], pageInfo: { hasNextPage: false } },
        workflowVersions: {
          nodes: [{ number: 1, definition: document, text: JSON.stringify(document) }],
          pageInfo: { hasNextPage: false },
        },
        workflowVersion: { number: 1, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      });
      const restore = `mutation($id: ID!) { restoreWorkflow(input: { id: $id, version: 1, expectedVersion: 2 }) { ${fields} } }`;
      expect(await run(member, restore, { id })).toMatchObject({ restoreWorkflow: { workflow: { name: 'Letters' } } });
      const remove = `mutation($id: ID!) { deleteWorkflow(input: { id: $id }) { ${fields} } }`;
      expect(await run(admin, remove, { id })).toMatchObject({ deleteWorkflow: { workflow: { id }, userErrors: [] } });
      expect(await run(viewer, 'query($id: ID!) { workflow(id: $id) { id } }', { id })).toEqual({ workflow: null });
    });

    it('rejects an invalid definition with its issues, and validates a definition without storing it', async () => {
      const circle = workflowDocument({ name: 'x' }, [{ id: 'a' }, { id: 'b' }], ['start -> a', 'a -> b', 'b -> a']);
      const { saveWorkflow } = await run(member, SAVE, { input: { definition: circle } });
      expect(saveWorkflow).toMatchObject({
        workflow: null,
        issues: [{ type: 'error', code: 'CYCLE_DETECTED' }],
        userErrors: [{ code: 'workflow_invalid', message: 'Workflow definition is invalid' }],
      });
      expect(JSON.stringify(saveWorkflow)).toContain('CYCLE_DETECTED: ');
      const validate = `query($definition: JSON!) { validateWorkflow(definition: $definition) { isValid errors { code message } } }`;
      expect(await run(viewer, validate, { definition: circle })).toMatchObject({
        validateWorkflow: { isValid: false, errors: [{ code: 'CYCLE_DETECTED' }] },
      });
      expect(await run(viewer, '{ workflows { nodes { id } } }')).toEqual({ workflows: { nodes: [] } });
    });

    it('renders a definition as a diagram', async () => {
      const id = await published(smallWorkflow({ name: 'Letters' }));
      const draw = `query($id: ID!) { workflow(id: $id) { mermaid: diagram(format: MERMAID) svg: diagram(format: SVG) } }`;
      const { workflow } = await run(viewer, draw, { id });
      expect((workflow as Found)['mermaid']).toContain('flowchart TD');
      expect((workflow as Found)['svg']).toMatch(/^<svg /);
    });

    it('requires permission to read and to change definitions', async () => {
      const id = await published(smallWorkflow({ name: 'x', id: 'w-1' }));
      const refused = async (key: string | undefined, text: string, variables: object) => {
        const { errors } = await ask(api, text, { ...(key === undefined ? {} : { key }), variables });
        return errors[0]?.extensions['code'];
      };
      const save = { input: { definition: smallWorkflow({ name: 'y' }) } };
      expect(await refused(undefined, SAVE, save)).toBe('UNAUTHENTICATED');
      expect(await refused(people.viewer.key, SAVE, save)).toBe('FORBIDDEN');
      expect(await refused(people.member.key, PUBLISH, { id })).toBe('FORBIDDEN');
      const strangers = await api.people.workspaceOf(`others-${newId()}`);
      const stranger = graphqlMember(api, strangers.owner.key);
      expect(await run(stranger, 'query($id: ID!) { workflow(id: $id) { id } }', { id })).toEqual({ workflow: null });
      expect(await run(stranger, PUBLISH, { id })).toMatchObject({
        publishWorkflow: { workflow: null, userErrors: [{ code: 'not_found', message: 'Workflow not found' }] },
      });
      expect(await run(stranger, START, { input: { workflowId: 'w-1', prompt: 'Hi' } })).toMatchObject({
        startWorkflow: { jobId: null, userErrors: [{ code: 'not_found' }] },
      });
    });
  });

  describe('workflow jobs over GraphQL', () => {
    const nodes = `query($id: ID!, $first: Int, $after: String) { job(id: $id) { diagram(format: MERMAID)
    nodeRuns(first: $first, after: $after) { totalCount pageInfo { hasNextPage endCursor }
      nodes { ordinal nodeId path iteration type status output isCut error { code message retryable } extra } } } }`;

    it('start once per key with the published version', async () => {
      const id = await published(smallWorkflow({ name: 'x', id: 'w-1' }));
      const input = { workflowId: 'w-1', prompt: 'Hi', threadId: 'mine', idempotencyKey: 'k' };
      const { startWorkflow } = await run(member, START, { input });
      expect(startWorkflow).toMatchObject({
        ...{ status: 'QUEUED', replayed: false, userErrors: [] },
        job: { kind: 'WORKFLOW', workflowId: id, workflowVersion: 1 },
      });
      const { jobId } = startWorkflow as { jobId: string };
      expect(await run(member, START, { input })).toMatchObject({ startWorkflow: { jobId, replayed: true } });
      expect(await run(member, START, { input: { ...input, prompt: 'Ho' } })).toMatchObject({
        startWorkflow: { userErrors: [{ code: 'idempotency_key_mismatch' }] },
      });
      const list = `query($id: ID!) { jobs(filter: { workflowId: { eq: $id }, kind: { eq: WORKFLOW } }) { nodes { id } } }`;
      expect(await run(viewer, list, { id })).toEqual({ jobs: { nodes: [{ id: jobId }] } });
      const { errors } = await ask(api, START, { key: people.viewer.key, variables: { input } });
      expect(errors[0]?.extensions['code']).toBe('FORBIDDEN');
    });

    it('start at most as often per minute as the limit allows', async () => {
      await published(smallWorkflow({ name: 'x', id: 'w-1' }));
      const variables = { input: { workflowId: 'w-1', prompt: 'Hi' } };
      const started: string[] = [];
      for (let i = 0; i < 5; i++) {
        const { startWorkflow } = await run(member, START, variables);
        started.push((startWorkflow as { jobId: string }).jobId);
      }
      const { errors } = await ask(api, START, { key: people.member.key, variables });
      expect(errors[0]?.extensions['code']).toBe('RATE_LIMITED');
      const retry = 'mutation($input: RetryJobInput!) { retryJob(input: $input) { jobId } }';
      const again = await ask(api, retry, { key: people.member.key, variables: { input: { jobId: started[0] } } });
      expect(again.errors[0]?.extensions['code']).toBe('RATE_LIMITED');
    });

    it('show their node runs in pages, truncated, and each one whole', async () => {
      await published(smallWorkflow({ name: 'x', id: 'w-1' }));
      const { startWorkflow } = await run(member, START, { input: { workflowId: 'w-1', prompt: 'Hi' } });
      const { jobId } = startWorkflow as { jobId: string };
      const { workspaceId } = people.owner.principal;
      const long = 'x'.repeat(40_000);
      await layOutNodeRuns(database, { workspaceId, jobId, status: 'failed' }, [
        { nodeId: 'start', type: 'start', output: 'Hi' },
        { nodeId: 'writer', status: 'error', output: long, error: { code: 'AUTH', message: 'no', nodeId: 'writer' } },
        { nodeId: 'end', type: 'output', status: 'skipped' },
      ]);
      const { job } = await run(viewer, nodes, { id: jobId, first: 2 });
      const page = (job as Found)['nodeRuns'] as { nodes: { output: string }[]; pageInfo: { endCursor: string } };
      expect(page).toMatchObject({
        totalCount: 3,
        pageInfo: { hasNextPage: true },
        nodes: [
          { ordinal: 1, nodeId: 'start', path: [], iteration: [], type: 'start', status: 'COMPLETED', isCut: false },
          { ordinal: 2, status: 'ERROR', isCut: true, error: { code: 'AUTH', message: 'no', retryable: false } },
        ],
      });
      expect(page.nodes[1]?.output).toBe(long.slice(0, 32_768));
      expect((job as Found)['diagram']).toContain('error');
      const rest = await run(viewer, nodes, { id: jobId, after: page.pageInfo.endCursor });
      expect(rest).toMatchObject({ job: { nodeRuns: { nodes: [{ ordinal: 3, status: 'SKIPPED' }] } } });
      const one = `query($jobId: ID!) { nodeRun(jobId: $jobId, ordinal: 2) { output isCut } none: nodeRun(jobId: $jobId, ordinal: 9) { output } }`;
      expect(await run(viewer, one, { jobId })).toEqual({ nodeRun: { output: long, isCut: false }, none: null });
      const whole = 'query($id: ID!) { job(id: $id) { workflowState } }';
      expect(await run(viewer, whole, { id: jobId })).toMatchObject({
        job: {
          workflowState: {
            executionState: 'error',
            failedNodeId: 'writer',
            nodeStates: { end: { status: 'skipped' } },
          },
        },
      });
      const stranger = graphqlMember(api, (await api.people.workspaceOf(`others-${newId()}`)).owner.key);
      expect(await run(stranger, one, { jobId })).toEqual({ nodeRun: null, none: null });
      expect(await run(stranger, whole, { id: jobId })).toEqual({ job: null });
    });

    it('rerun from a node', async () => {
      await published(smallWorkflow({ name: 'x', id: 'w-1' }));
      const { startWorkflow } = await run(member, START, { input: { workflowId: 'w-1', prompt: 'Hi' } });
      const { jobId } = startWorkflow as { jobId: string };
      const { workspaceId } = people.owner.principal;
      const rerun = `mutation($input: RerunFromNodeInput!) {
      rerunFromNode(input: $input) { jobId job { retryOf workflowVersion } userErrors { code message } } }`;
      const input = { jobId, nodeId: 'writer', editedInput: 'Ho' };
      expect(await run(member, rerun, { input })).toMatchObject({
        rerunFromNode: { userErrors: [{ code: 'conflict' }] },
      });
      await layOutNodeRuns(database, { workspaceId, jobId, status: 'failed' }, [
        { nodeId: 'start', type: 'start', output: 'Hi' },
        { nodeId: 'writer', status: 'error' },
      ]);
      expect(await run(member, rerun, { input })).toMatchObject({
        rerunFromNode: { userErrors: [], job: { retryOf: jobId, workflowVersion: 1 } },
      });
      const unknown = { ...input, nodeId: 'gone' };
      expect(await run(member, rerun, { input: unknown })).toMatchObject({
        rerunFromNode: { userErrors: [{ code: 'bad_request', message: 'This node is not in the workflow' }] },
      });
    });
  });
});

describe('the GraphQL API of schedules', () => {
  const fields = `schedule { id name workflowId cron timeZone missed prompt enabled stoppedBecause nextSlots(count: 2) slots { status } }
  userErrors { code field }`;

  const SAVE = `mutation($input: SaveWorkflowScheduleInput!) { saveWorkflowSchedule(input: $input) { ${fields} } }`;
  const ENABLE = `mutation($input: SetWorkflowScheduleEnabledInput!) { setWorkflowScheduleEnabled(input: $input) { ${fields} } }`;
  const REMOVE = `mutation($id: ID!) { removeWorkflowSchedule(input: { id: $id }) { ${fields} } }`;
  const LIST = `query($workflowId: ID, $after: String) {
  workflowSchedules(workflowId: $workflowId, first: 1, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } }
}`;

  let people: Record<'admin' | 'member', TestMember>;
  let admin: GraphqlMember;
  let member: GraphqlMember;
  let workflowId: string;

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

  it('creates, reads, disables, lists and removes a schedule', async () => {
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
  ])('rejects a schedule with the fault of %j', async (change, error) => {
    const input = { workflowId, cron: '0 12 * * *', prompt: 'x', ...change };
    expect(await run(admin, SAVE, { input })).toMatchObject({
      saveWorkflowSchedule: { schedule: null, userErrors: [error] },
    });
  });

  it('replaces a schedule by its name when the input has no id', async () => {
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

  it('saves, lists, disables and removes schedules for chats of members', async () => {
    const shown = `schedule { id name messages agent { id auto } model tools threadId cron timeZone missed enabled savedBy nextSlots(count: 2) slots { status } }
      userErrors { code field }`;
    const save = `mutation($input: SaveChatScheduleInput!) { saveChatSchedule(input: $input) { ${shown} } }`;
    const input = { name: 'news', message: 'What is new?', threadId: 'news', tools: ['calculate'], cron: '0 12 * * *' };
    const { saveChatSchedule } = await run(member, save, { input: { ...input, model: 'm' } });
    const { id } = (saveChatSchedule as Found)['schedule'] as { id: string };
    expect(saveChatSchedule).toMatchObject({
      userErrors: [],
      schedule: {
        ...{ name: 'news', agent: null, model: 'm', tools: ['calculate'], threadId: 'news', missed: 'ONCE', slots: [] },
        ...{
          messages: [{ role: 'user', content: 'What is new?' }],
          nextSlots: [expect.any(String), expect.any(String)],
        },
      },
    });
    const messages = [{ role: 'user', content: 'What is new now?' }];
    const again = { name: 'news', messages, cron: '5 12 * * *' };
    const replaced = { id, messages, model: null, tools: [], threadId: null, cron: '5 12 * * *' };
    expect(await run(member, save, { input: again })).toMatchObject({ saveChatSchedule: { schedule: replaced } });
    const both = await run(member, save, { input: { ...again, message: 'and' } });
    expect(both).toMatchObject({ saveChatSchedule: { userErrors: [{ code: 'bad_request', field: 'messages' }] } });
    const disable = `mutation($id: ID!) { setChatScheduleEnabled(input: { id: $id, enabled: false }) { ${shown} } }`;
    const { setChatScheduleEnabled } = await run(admin, disable, { id });
    expect(setChatScheduleEnabled).toMatchObject({ schedule: { enabled: false, nextSlots: [] } });
    const listed = await run(member, '{ chatSchedules(first: 5) { nodes { id } } }');
    expect(listed).toEqual({ chatSchedules: { nodes: [{ id }] } });
    const remove = `mutation($id: ID!) { removeChatSchedule(input: { id: $id }) { ${shown} } }`;
    const enable = disable.replace('enabled: false', 'enabled: true');
    expect(await run(member, enable, { id })).toMatchObject({
      setChatScheduleEnabled: { schedule: { enabled: true } },
    });
    expect(await run(admin, remove, { id })).toMatchObject({ removeChatSchedule: { schedule: { id } } });
    const gone = await run(admin, 'query($id: ID!) { chatSchedule(id: $id) { id } }', { id });
    expect(gone).toEqual({ chatSchedule: null });
  });

  it('requires the permission to manage workflows', async () => {
    const input = { workflowId, cron: '0 12 * * *', prompt: 'x' };
    const { errors } = await ask(api, SAVE, { key: people.member.key, variables: { input } });
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
  });
});

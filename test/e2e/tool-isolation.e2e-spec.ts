import { describe, expect, it } from '@jest/globals';

import { graphqlMember } from '../harness/graphql-member.js';
import { McpApiFixture } from '../harness/mcp-api-fixture.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

describe('TOOL_ISOLATION=queue', () => {
  const given = new McpApiFixture({
    ...{ BUS: 'postgres', WORKER_QUEUES: 'jobs', TOOL_ISOLATION: 'queue', TOOL_ISOLATION_CEILING: 'per_tool' },
    TOOL_QUEUE_TTL_MS: '1000',
  });

  it('ends calls as timed_out without a tool process, warns in /readyz, and lets no workspace choose', async () => {
    const ready = await given.api.call('GET', '/readyz');
    expect(ready).toMatchObject({
      status: 200,
      body: { status: 'ready', warnings: [expect.stringContaining('Start a process with --role tools')] },
    });
    const settings = '{ workspace { toolIsolation isolatesAllTools hasToolProcess } }';
    expect(await given.admin.query(settings)).toEqual({
      workspace: { toolIsolation: 'PER_TOOL', isolatesAllTools: true, hasToolProcess: false },
    });
    const update = `mutation { updateWorkspace(input: { toolIsolation: QUEUE }) { userErrors { code field message } } }`;
    expect(await given.admin.query(update)).toMatchObject({
      updateWorkspace: {
        userErrors: [{ field: 'toolIsolation', message: expect.stringContaining('TOOL_ISOLATION_CEILING') }],
      },
    });
    given.model.enqueue(
      toolCallReply([{ id: 'call_1', name: 'add_numbers', arguments: '{"a":1,"b":2}' }]),
      textReply(['Sorry.']),
    );
    const user = graphqlMember(given.api, given.people.member.key);
    const { jobId } = await user.run({ message: 'Go', tools: ['add_numbers'] });
    const { job } = await user.query('query($id: ID!) { job(id: $id) { toolCalls { status error { message } } } }', {
      id: jobId,
    });
    expect(job).toEqual({
      toolCalls: [{ status: 'TIMED_OUT', error: { message: expect.stringContaining('not started within 1000 ms') } }],
    });
  });
});

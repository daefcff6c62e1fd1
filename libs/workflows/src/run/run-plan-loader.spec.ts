import { describe, expect, it } from '@jest/globals';

import type { AgentsService } from '#chat';
import type { JobRun } from '#jobs';

import type { DefinitionsRepository } from '../definitions/definitions.repository.js';
import { VersionsInUse } from '../definitions/versions-in-use.js';
import { RunPlanLoader } from './run-plan-loader.js';

/** Reading 20 of these takes longer than a worker may be busy at once, on any machine. */
const definition = JSON.stringify({
  meta: { version: '2.0.0', name: 'large' },
  nodes: Array.from({ length: 500 }, (_, i) => ({
    ...{ id: `n${i}`, type: i === 0 ? 'start' : 'transform', position: { x: 0, y: 0 } },
    data: { label: 'x'.repeat(1_000), expression: 'text', list: Array.from({ length: 150 }, (__, at) => at) },
  })),
  edges: [],
});

describe('RunPlanLoader', () => {
  it('lets other work of the process run while a workflow with many large subflows is loaded', async () => {
    const repository: Pick<DefinitionsRepository, 'pinned'> = {
      pinned: (_, pins) => Promise.resolve(pins.map((pin) => ({ ...pin, definition, hash: '' }))),
    };
    const versions = new VersionsInUse(repository as DefinitionsRepository); // it only reads pinned versions
    const plans = new RunPlanLoader(versions, {} as AgentsService); // no node names an agent
    const run = { job: { workspaceId: 'w', jobId: 'j', workflowId: 'main', workflowVersion: 1, threadId: null } };
    const names = Array.from({ length: 20 }, (_, i) => `subflow ${i}`);
    const subflows = Object.fromEntries(names.map((id) => [id, { id, version: 1 }]));
    const input = { prompt: 'hello', history: [], attachments: [], toolPins: {}, subflows };
    let turns = 0;
    let isLoaded = false;
    const otherWork = () => {
      turns += 1;
      if (!isLoaded) setImmediate(otherWork);
    };
    setImmediate(otherWork);
    const plan = await plans.planFor(run as unknown as JobRun, input, new Map());
    isLoaded = true;
    expect([...plan.subflows.keys()]).toEqual(names);
    expect(turns).toBeGreaterThan(1);
  });
});

import { describe, expect, it } from '@jest/globals';

import { workflowDocument } from '../../../../test/harness/workflow-document.js';
import { parseDocument } from './document.js';
import { toGraph } from './graph.js';
import { type NodeAgent, withAgents } from './with-agents.js';

const graphOf = (agent?: string) => {
  const parsed = parseDocument(workflowDocument({ s: 'start', a: ['agent', { agent, prompt: '' }] }, ['s > a']));
  if (!parsed.ok) throw new Error('it is a document');
  return toGraph(parsed.document);
};
const clerk: NodeAgent = { model: 'm', instructions: 'Be a clerk.', tools: [], parameters: {}, maxRounds: 2 };

describe('a graph with agents', () => {
  it('applies the settings of the agents to their nodes', () => {
    const { nodes } = withAgents(graphOf('clerk'), new Map([['clerk', clerk]]));
    expect(nodes.get('a')?.data).toMatchObject({ prompt: 'Be a clerk.', maxToolIterations: 2 });
  });

  it.each([[new Map()], [new Map([['cook', clerk]])]])(
    'throws when an agent that a node names is missing',
    (agents) => {
      expect(() => withAgents(graphOf('clerk'), agents)).toThrow(
        expect.objectContaining({ code: 'workflow_not_runnable' }),
      );
    },
  );

  it('stays the same when no node names an agent', () => {
    const graph = graphOf();
    expect(withAgents(graph, new Map([['clerk', clerk]]))).toEqual(graph);
    expect(withAgents(graph, new Map())).toEqual(graph);
  });
});

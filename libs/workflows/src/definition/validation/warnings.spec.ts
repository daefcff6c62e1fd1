import { describe, expect, it } from '@jest/globals';

import { around, type SketchedDocument, workflowDocument } from '../../../../../test/harness/workflow-document.js';
import type { WorkflowIssue } from './issue.js';
import { validateWorkflow } from './validate.js';

const plain = { s: 'start', a: 'agent', o: 'output' } as const;
const line = ['s > a', 'a > o'];
const listed = (issues: readonly WorkflowIssue[]): string[] => issues.map(({ code, path }) => `${code} ${path}`);

const options = {
  strict: true,
  tools: new Set(['clock']),
  subflows: (): unknown => workflowDocument(plain, line, subflow),
};
const subflow = { subflow: { inputs: [], outputs: [{ id: 'output' }] } };
const warningsOf = (json: unknown): string[] => listed(validateWorkflow(json, options).warnings);

describe('a warning', () => {
  it.each<[string, SketchedDocument, string[]]>([
    ['an agent without a prompt', around(['agent', { prompt: '' }]), ['EMPTY_PROMPT /nodes/1/data/prompt']],
    [
      'a merge without a prompt',
      around(['parallel', { prompt: '' }], ['n:merged > o']),
      ['EMPTY_PROMPT /nodes/1/data/prompt'],
    ],
    [
      'a raw template without a placeholder',
      workflowDocument({ s: 'start', o: ['output', { useRawTemplate: true, template: 'Hello' }] }, ['s > o']),
      ['EMPTY_PROMPT /nodes/1/data/template'],
    ],
    [
      'a node that nothing follows',
      workflowDocument({ s: 'start', a: 'agent' }, ['s > a']),
      ['DEAD_END_NODE /nodes/1'],
    ],
    [
      'a parallel node with one branch',
      around(['parallel', { branches: [{ id: 'x' }] }], ['n:merged > o']),
      ['DEAD_END_NODE /nodes/1/data/branches'],
    ],
    ['a merged text that nothing reads', around('parallel', ['n:left > o']), ['DEAD_END_NODE /nodes/1']],
    [
      'two edges of one handle',
      around('agent', ['n:output > o', 'n:output > o']),
      ['DUPLICATE_SOURCE_HANDLE /nodes/1'],
    ],
    [
      'a placeholder of a node that is not there, or of a member of a text',
      workflowDocument(
        { ...plain, o: ['output', { template: '{{outputs.a}} {{a_error}} {{b}} {{outputs.a.to}}' }] },
        line,
      ),
      ['UNKNOWN_PLACEHOLDER /nodes/2/data/template', 'UNKNOWN_PLACEHOLDER /nodes/2/data/template'],
    ],
    [
      'a placeholder deep in the arguments of a tool',
      around(['tool', { toolId: 'clock', config: { zones: ['{{input}}', '{{absent}}'] } }]),
      ['UNKNOWN_PLACEHOLDER /nodes/1/data/config/zones/1'],
    ],
    [
      'a placeholder in a text that is not a template, but no text that only looks like one',
      around(['agent', { prompt: 'Say {{input}}', hitl: { enabled: true, prompt: 'Is {{a name}} right?' } }]),
      ['PLACEHOLDER_IGNORED /nodes/1/data/prompt'],
    ],
    [
      'a branch that nothing follows',
      workflowDocument({ s: 'start', p: ['parallel', { mergeEnabled: false }], o: 'output' }, ['s > p', 'p:left > o']),
      ['MISSING_EDGE_LABEL /nodes/1'],
    ],
    [
      'an output that nothing leads to',
      workflowDocument({ ...plain, p: 'output' }, line),
      ['DISCONNECTED_COMPONENTS /nodes', 'NO_INPUT /nodes/3'],
    ],
    [
      'an output that something follows',
      workflowDocument({ ...plain, p: 'output' }, [...line, 'o > p']),
      ['NO_OUTPUT /nodes/2'],
    ],
    [
      'a subflow that nothing follows',
      workflowDocument({ s: 'start', f: 'subflow' }, ['s > f']),
      ['DEAD_END_NODE /nodes/1', 'NO_OUTPUT /nodes/1'],
    ],
    ['a loop without a body', around('whileLoop'), ['MISSING_BODY /nodes/1']],
    [
      'a loop that nothing follows',
      workflowDocument({ s: 'start', l: 'whileLoop', a: 'agent', o: 'output' }, ['s > l', 'l:body > a', 'a > o']),
      ['MISSING_EXIT /nodes/1'],
    ],
    [
      'a route that is not declared',
      workflowDocument({ s: 'start', r: 'router', a: 'agent', o: 'output' }, ['s > r', 'r:other > a', 'a > o']),
      ['UNKNOWN_HANDLE /edges/1/sourceHandle'],
    ],
    [
      'a person who is never asked',
      around(['tool', { hitl: { enabled: true, mode: 'approval' } }]),
      ['HITL_IGNORED /nodes/1/data/hitl'],
    ],
    ['unknown tools', around(['agent', { tools: ['*', 'clock', 'gone'] }]), ['UNKNOWN_TOOL /nodes/1/data/tools/2']],
    ['a tool node with an unknown tool', around(['tool', { toolId: 'gone' }]), ['UNKNOWN_TOOL /nodes/1/data/toolId']],
    [
      'tools of a branch',
      around(['parallel', { branches: [{ id: 'a', tools: ['gone'] }, { id: 'b' }] }], ['n:merged > o']),
      ['UNKNOWN_TOOL /nodes/1/data/branches/0/tools/0'],
    ],
    [
      'a limit that cannot be enforced',
      workflowDocument(plain, line, { execution: { stopPolicy: { maxCostUsd: 1 } } }),
      ['LIMIT_IGNORED /meta/execution/stopPolicy/maxCostUsd'],
    ],
    ['tools of the document', workflowDocument(plain, line, { tools: ['gone'] }), ['UNKNOWN_TOOL /meta/tools/0']],
  ])('%s', (_fact, json, expected) => {
    expect(warningsOf(json)).toEqual(expected);
  });

  it('names the models without a price if the cost is limited', () => {
    const nodes = {
      s: 'start',
      a: ['agent', { model: 'cheap' }],
      b: ['agent', { model: 'dear' }],
      p: ['parallel', { model: 'cheap', branches: [{ id: 'x', model: 'rare' }, { id: 'y' }] }],
      o: 'output',
    } as const;
    const edges = ['s > a', 'a > b', 'b > p', 'p:merged > o'];
    const limited = workflowDocument(nodes, edges, { execution: { stopPolicy: { maxCostUsd: 1 } } });
    const validate = (...priced: readonly string[]) =>
      validateWorkflow(limited, { ...options, isPriced: (model) => priced.includes(model) }).warnings;
    expect(validate('cheap')).toEqual([
      expect.objectContaining({
        ...{ code: 'LIMIT_IGNORED', path: '/meta/execution/stopPolicy/maxCostUsd' },
        message: 'It is not known what these models cost, so it does not count: dear, rare.',
      }),
    ]);
    expect(validate('cheap', 'dear', 'rare')).toEqual([]);
  });
});

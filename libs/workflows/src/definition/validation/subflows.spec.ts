import { describe, expect, it } from '@jest/globals';

import { around, type SketchedDocument, workflowDocument } from '../../../../../test/harness/workflow-document.js';
import type { WorkflowIssue } from './issue.js';
import { validateWorkflow } from './validate.js';

const plain = { s: 'start', a: 'agent', o: 'output' } as const;
const line = ['s > a', 'a > o'];
const listed = (issues: readonly WorkflowIssue[]): string[] => issues.map(({ code, path }) => `${code} ${path}`);
const child = (inputs: unknown[], outputs: unknown[] = [{ id: 'output' }]): SketchedDocument =>
  workflowDocument(plain, line, { subflow: { inputs, outputs } });

const definitions: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['child', child([])],
  ['needy', child([{ id: 'topic', required: true }, { id: 'tone', required: true, default: 'calm' }, { id: 'more' }])],
  ['mute', child([], [])],
  ['self', workflowDocument({ s: 'start', f: ['subflow', { subflowId: 'self' }], o: 'output' }, ['s > f', 'f > o'])],
  ['ping', workflowDocument({ s: 'start', f: ['subflow', { subflowId: 'pong' }], o: 'output' }, ['s > f', 'f > o'])],
  ['pong', workflowDocument({ s: 'start', f: ['subflow', { subflowId: 'ping' }], o: 'output' }, ['s > f', 'f > o'])],
  ['staffed', workflowDocument({ s: 'start', a: ['agent', { agent: 'clerk' }], o: 'output' }, line)],
  [
    'above',
    workflowDocument({ s: 'start', f: ['subflow', { subflowId: 'staffed' }], o: 'output' }, ['s > f', 'f > o']),
  ],
  ['broken', { nodes: 'none' }],
  ...Array.from({ length: 12 }, (_, index) => {
    const next = { s: 'start', f: ['subflow', { subflowId: `deep-${index + 1}` }], o: 'output' } as const;
    return [`deep-${index}`, index === 11 ? child([]) : workflowDocument(next, ['s > f', 'f > o'])] as const;
  }),
]);

const options = { strict: true, subflows: (id: string): unknown => definitions.get(id) };

describe('an error of a subflow', () => {
  it.each<[string, SketchedDocument, string[]]>([
    [
      'a port that a subflow does not declare',
      workflowDocument({ s: 'start', f: 'subflow', o: 'output' }, ['s > f:nope', 'f:nope > o']),
      ['UNKNOWN_HANDLE /edges/1/sourceHandle', 'UNKNOWN_HANDLE /edges/0/targetHandle'],
    ],
    [
      'a subflow node without a subflow',
      around(['subflow', { subflowId: '' }]),
      ['MISSING_SUBFLOW_ID /nodes/1/data/subflowId'],
    ],
    [
      'a subflow that does not exist',
      around(['subflow', { subflowId: 'gone' }]),
      ['SUBFLOW_NOT_FOUND /nodes/1/data/subflowId'],
    ],
    [
      'a subflow that is not a workflow',
      around(['subflow', { subflowId: 'broken' }]),
      ['SUBFLOW_NOT_FOUND /nodes/1/data/subflowId'],
    ],
    [
      'an input that nothing is mapped to',
      around(['subflow', { subflowId: 'needy' }]),
      ['MISSING_INPUT_MAPPING /nodes/1/data/inputMappings'],
    ],
    [
      'a subflow that uses itself',
      around(['subflow', { subflowId: 'self' }]),
      ['CYCLE_DETECTED /nodes/1/data/subflowId', 'MISSING_INPUT_MAPPING /nodes/1/data/inputMappings'],
    ],
    [
      'subflows that use each other',
      around(['subflow', { subflowId: 'ping', inputMappings: { input: 1 } }]),
      ['CYCLE_DETECTED /nodes/1/data/subflowId'],
    ],
    [
      'eleven levels of subflows',
      around(['subflow', { subflowId: 'deep-1', inputMappings: { input: 1 } }]),
      ['LIMIT_EXCEEDED /nodes/1/data/subflowId'],
    ],
  ])('%s', (_fact, json, expected) => {
    expect(listed(validateWorkflow(json, options).errors)).toEqual(expected);
  });

  it.each(['staffed', 'above'])(
    'reports an unknown agent that the subflow %s names, directly or through another',
    (subflowId) => {
      const json = around(['subflow', { subflowId, inputMappings: { input: 1 } }]);
      const among = (...names: string[]) => validateWorkflow(json, { ...options, agents: new Set(names) }).errors;
      expect(listed(among('cook'))).toEqual(['AGENT_NOT_FOUND /nodes/1/data/subflowId']);
      expect(listed(among('clerk'))).toEqual([]);
      expect(listed(validateWorkflow(json, options).errors)).toEqual([]);
    },
  );

  it('explains how to fix a missing subflow', () => {
    const { errors } = validateWorkflow(around(['subflow', { subflowId: 'gone' }]), options);
    expect(errors[0]?.message).toBe(
      'Node "n" uses the subflow "gone", which is not published: publish that workflow first.',
    );
  });

  it('names the workflows of a cycle', () => {
    const json = around(['subflow', { subflowId: 'ping', inputMappings: { input: 1 } }]);
    expect(validateWorkflow(json, options).errors[0]?.message).toContain('ping → pong → ping');
  });

  it('reports a workflow that uses itself under any of its ids', () => {
    const json = around(['subflow', { subflowId: 'me' }]);
    for (const [meta, more] of [
      [{ id: 'me' }, {}],
      [{}, { workflowId: 'me' }],
    ] as const)
      expect(
        listed(validateWorkflow({ ...json, meta: { ...json.meta, ...meta } }, { ...options, ...more }).errors),
      ).toEqual(['CYCLE_DETECTED /nodes/1/data/subflowId']);
  });

  it('reports a lookup of subflows that fails', () => {
    const subflows = (): unknown => {
      throw new Error('the registry is away');
    };
    const { errors } = validateWorkflow(around('subflow'), { strict: true, subflows });
    expect(errors).toMatchObject([{ code: 'EXTENSION_VALIDATION_ERROR', nodeId: 'n', path: '/nodes/1' }]);
    expect(errors[0]?.message).toContain('the registry is away');
  });
});

describe('a subflow', () => {
  it.each<[string, SketchedDocument]>([
    ['receives what it needs', around(['subflow', { subflowId: 'needy', inputMappings: { topic: '{{input}}' } }])],
    [
      'has the ports that it declares',
      workflowDocument(
        { s: 'start', f: ['subflow', { subflowId: 'needy', inputMappings: { topic: 1 } }], o: 'output' },
        ['s > f:topic', 'f:output > o'],
      ),
    ],
    ['may be ten levels deep', around(['subflow', { subflowId: 'deep-2', inputMappings: { input: 1 } }])],
  ])('%s', (_fact, json) => {
    expect(validateWorkflow(json, options)).toEqual({ isValid: true, errors: [], warnings: [] });
  });

  it('causes a warning when it has no outputs', () => {
    const { warnings } = validateWorkflow(around(['subflow', { subflowId: 'mute' }]), options);
    expect(listed(warnings)).toEqual(['NO_SUBFLOW_OUTPUTS /nodes/1']);
  });

  it('passes validation with any content when no registry is given', () => {
    const { isValid, warnings } = validateWorkflow(around('subflow', ['n:anything > o']), { strict: true });
    expect({ isValid, listed: listed(warnings) }).toEqual({ isValid: true, listed: ['NO_REGISTRY /nodes/1'] });
  });
});

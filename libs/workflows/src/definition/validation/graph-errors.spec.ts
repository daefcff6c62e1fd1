import { describe, expect, it } from '@jest/globals';

import { type SketchedDocument, workflowDocument } from '../../../../../test/harness/workflow-document.js';
import type { WorkflowIssue } from './issue.js';
import { validateWorkflow } from './validate.js';

const plain = { s: 'start', a: 'agent', o: 'output' } as const;
const line = ['s > a', 'a > o'];
const listed = (issues: readonly WorkflowIssue[]): string[] => issues.map(({ code, path }) => `${code} ${path}`);

const errorsOf = (json: unknown): string[] => listed(validateWorkflow(json, { strict: true }).errors);

describe('an error of the graph', () => {
  it.each<[string, SketchedDocument, string[]]>([
    [
      'no start',
      workflowDocument({ a: 'agent', b: 'output' }, ['a > b']),
      ['NO_START_NODE /nodes', 'DISCONNECTED_NODE /nodes/0', 'MISSING_REQUIRED_PORT /nodes/0'],
    ],
    ['two starts', workflowDocument({ ...plain, t: 'start' }, [...line, 't > a']), ['MULTIPLE_START_NODES /nodes/3']],
    ['a start without edges', workflowDocument({ s: 'start' }, []), ['DISCONNECTED_NODE /nodes/0']],
    [
      'a node that cannot be reached',
      workflowDocument({ ...plain, b: 'agent', c: 'transform' }, [...line, 'b > c', 'c > o']),
      ['DISCONNECTED_NODE /nodes/3', 'DISCONNECTED_NODE /nodes/4', 'MISSING_REQUIRED_PORT /nodes/3'],
    ],
    ['a circle', workflowDocument({ ...plain, b: 'agent' }, [...line, 'a > b', 'b > a']), ['CYCLE_DETECTED /nodes/1']],
    ['a node that leads to itself', workflowDocument(plain, [...line, 'a > a']), ['CYCLE_DETECTED /nodes/1']],
    [
      'a body that leads back',
      workflowDocument({ s: 'start', l: 'whileLoop', a: 'agent' }, ['s > l', 'l:body > a', 'a > l:body', 'l:done > a']),
      ['CYCLE_DETECTED /nodes/1'],
    ],
    [
      'a node in two bodies',
      workflowDocument({ s: 'start', l: 'whileLoop', m: 'map', a: 'agent' }, [
        's > l',
        's > m',
        'l:body > a',
        'm:body > a',
        'l:done > m',
      ]),
      [],
    ],
    [
      'a node in the bodies of two loops',
      workflowDocument({ s: 'start', l: 'whileLoop', m: 'whileLoop', a: 'agent' }, [
        's > l',
        's > m',
        'l:body > a',
        'm:body > a',
      ]),
      ['OVERLAPPING_BODIES /nodes/3'],
    ],
    ['an edge to nowhere', workflowDocument(plain, [...line, 'a > gone']), ['DANGLING_EDGE /edges/2/target']],
    ['an edge from nowhere', workflowDocument(plain, [...line, 'gone > a']), ['DANGLING_EDGE /edges/2/source']],
    [
      'an output handle that is not there',
      workflowDocument(plain, ['s > a', 'a:merged > o']),
      ['UNKNOWN_HANDLE /edges/1/sourceHandle'],
    ],
    [
      'an input handle that is not there',
      workflowDocument(plain, ['s > a:body', 'a > o']),
      ['MISSING_REQUIRED_PORT /nodes/1', 'UNKNOWN_HANDLE /edges/0/targetHandle'],
    ],
    [
      'an error edge of an output',
      workflowDocument({ ...plain, b: 'agent' }, [...line, 'o:error > b']),
      ['UNKNOWN_HANDLE /edges/2/sourceHandle'],
    ],
    [
      'an edge into the start by a handle',
      workflowDocument({ ...plain }, ['s > a', 'a > o', 'a > s:input']),
      ['CYCLE_DETECTED /nodes/0', 'UNKNOWN_HANDLE /edges/2/targetHandle'],
    ],
    [
      'a router without a route',
      workflowDocument({ s: 'start', r: 'router', a: 'agent' }, ['s > r', 'r:error > a']),
      ['MISSING_REQUIRED_PORT /nodes/1'],
    ],
  ])('%s', (_fact, json, expected) => {
    expect(errorsOf(json)).toEqual(expected);
  });

  it('reports two nodes with one id', () => {
    const json = workflowDocument(plain, line);
    const twice = { ...json, nodes: [...json.nodes, ...json.nodes.slice(1, 2)] };
    expect(validateWorkflow(twice, { strict: true }).errors).toMatchObject([
      { type: 'error', code: 'DUPLICATE_NODE_ID', nodeId: 'a', path: '/nodes/3/id' },
    ]);
  });

  it('names the nodes of a cycle', () => {
    const json = workflowDocument({ s: 'start', a: 'agent', b: 'agent', c: 'agent' }, [
      's > a',
      'a > b',
      'b > c',
      'c > a',
    ]);
    expect(validateWorkflow(json, { strict: true }).errors[0]?.message).toContain('a → b → c → a');
  });
});

import { describe, expect, it } from '@jest/globals';

import { around, type SketchedDocument, workflowDocument } from '../../../../../test/harness/workflow-document.js';
import type { WorkflowIssue } from './issue.js';
import { validateWorkflow } from './validate.js';

const plain = { s: 'start', a: 'agent', o: 'output' } as const;
const line = ['s > a', 'a > o'];
const listed = (issues: readonly WorkflowIssue[]): string[] => issues.map(({ code, path }) => `${code} ${path}`);

describe('an error of a node', () => {
  it.each<[string, SketchedDocument, string[]]>([
    [
      'an output without a format',
      around(['output', { format: 'pdf' }]),
      ['MISSING_REQUIRED_PORT /nodes/1/data/format'],
    ],
    ['a tool node without a tool', around(['tool', { toolId: '' }]), ['MISSING_REQUIRED_PORT /nodes/1/data/toolId']],
    ['an agent without a model', around(['agent', { model: ' ' }]), ['MISSING_MODEL /nodes/1/data/model']],
    ['an agent whose model is not a text', around(['agent', { model: 3 }]), ['MISSING_MODEL /nodes/1/data/model']],
    [
      'a loop without a condition',
      workflowDocument({ s: 'start', l: ['whileLoop', { conditionPrompt: '' }], a: 'agent' }, ['s > l', 'l:body > a']),
      ['MISSING_CONDITION_PROMPT /nodes/1/data/conditionPrompt'],
    ],
    [
      'no iterations',
      around(['whileLoop', { maxIterations: 0 }]),
      ['INVALID_MAX_ITERATIONS /nodes/1/data/maxIterations'],
    ],
    [
      'too many iterations',
      around(['whileLoop', { maxIterations: 1_001 }]),
      ['INVALID_MAX_ITERATIONS /nodes/1/data/maxIterations'],
    ],
    [
      'half an iteration',
      around(['whileLoop', { maxIterations: 1.5 }]),
      ['INVALID_MAX_ITERATIONS /nodes/1/data/maxIterations'],
    ],
    [
      'a memory node that does neither',
      around(['memory', { operation: 'drop' }]),
      ['MISSING_OPERATION /nodes/1/data/operation'],
    ],
    ['a limit that is none', around(['memory', { limit: 0 }]), ['INVALID_LIMIT /nodes/1/data/limit']],
    ['an unknown type', around('teleport'), ['UNKNOWN_NODE_TYPE /nodes/1/type']],
    ['a type named like what objects inherit', around('constructor'), ['UNKNOWN_NODE_TYPE /nodes/1/type']],
    [
      'too many branches',
      around(['parallel', { branches: Array.from({ length: 21 }, (_, id) => ({ id: `b${id}` })) }]),
      ['LIMIT_EXCEEDED /nodes/1/data/branches'],
    ],
    [
      'a name that is too long',
      around(['agent', { label: 'x'.repeat(1_001) }]),
      ['LIMIT_EXCEEDED /nodes/1/data/label'],
    ],
    [
      'a branch whose name is too long',
      around(['parallel', { branches: [{ id: 'a' }, { id: 'b', label: 'x'.repeat(1_001) }] }]),
      ['LIMIT_EXCEEDED /nodes/1/data/branches'],
    ],
    [
      'a question that is too long',
      around(['approval', { prompt: 'x'.repeat(65_536) }]),
      ['LIMIT_EXCEEDED /nodes/1/data/prompt'],
    ],
    [
      'a form that is too long',
      around(['input', { schema: { type: 'object', description: 'x'.repeat(65_536) } }]),
      ['LIMIT_EXCEEDED /nodes/1/data/schema'],
    ],
    [
      'a person who is asked too much',
      around(['agent', { hitl: { enabled: true, prompt: 'x'.repeat(65_536) } }]),
      ['LIMIT_EXCEEDED /nodes/1/data/hitl'],
    ],
    [
      'two branches of one id',
      around(['parallel', { branches: [{ id: 'x' }, { id: 'x' }] }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/branches'],
    ],
    [
      'an expression that does not parse',
      around(['transform', { expression: 'input.' }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/expression'],
    ],
    [
      'an expression with a pattern that takes for ever',
      around(['map', { items: 'text.matches("(a+)+$") ? [] : [1]' }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/items'],
    ],
    [
      'a schema that is none',
      around(['schemaValidation', { spec: { type: 'nonsense' } }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/spec'],
    ],
    [
      'a form that is none',
      around(['input', { schema: { $ref: 'https://example.org/x' } }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/schema'],
    ],
    ['a pause without an end', around(['wait', { durationMs: undefined }]), ['DATA_VALIDATION_ERROR /nodes/1/data']],
    ['a pause with two ends', around(['wait', { event: 'x' }]), ['DATA_VALIDATION_ERROR /nodes/1/data']],
    [
      'a moment that is none',
      around(['wait', { durationMs: undefined, until: 'tomorrow' }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/until'],
    ],
    [
      'an address that is none',
      around(['http', { url: 'file:///etc/passwd' }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/url'],
    ],
    [
      'a header that is not a text',
      around(['http', { headers: { a: 1 } }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/headers'],
    ],
    [
      'a path that cannot be read',
      around(['http', { select: 'items[' }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/select'],
    ],
    [
      'ours without what it needs',
      around(['approval', { prompt: undefined }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/prompt'],
    ],
    [
      'too many at once',
      around(['map', { maxConcurrency: 11 }]),
      ['DATA_VALIDATION_ERROR /nodes/1/data/maxConcurrency'],
    ],
    [
      'another major version',
      workflowDocument(plain, line, { version: '3.0.0' }),
      ['UNSUPPORTED_VERSION /meta/version'],
    ],
    ['an old version', workflowDocument(plain, line, { version: '1.9' }), ['UNSUPPORTED_VERSION /meta/version']],
  ])('%s', (_fact, json, expected) => {
    const sent: unknown = JSON.parse(JSON.stringify(json));
    expect(listed(validateWorkflow(sent, { strict: true }).errors)).toEqual(expected);
  });
});

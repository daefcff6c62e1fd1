import { readdirSync, readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { validateWorkflow as theirVerdict, type WorkflowData } from 'or3-workflow-core';

import { type NodeSketch, workflowDocument } from '../../../../test/harness/workflow-document.js';
import { parseDocument } from './document.js';
import { validateWorkflow } from './validation/validate.js';

/** The library that the format comes from, held against ours. What is different on purpose is taken out on both sides. */
function theirs(document: unknown): readonly string[] {
  const { nodes, edges } = document as WorkflowData; // both read the same format
  const { errors, warnings } = theirVerdict(nodes, edges);
  return verdictOf([...errors, ...warnings], document);
}

function ours(document: unknown): readonly string[] {
  const { errors, warnings } = validateWorkflow(document, { strict: false });
  return verdictOf([...errors, ...warnings], document);
}

interface ReportedIssue {
  readonly type: string;
  readonly code: string;
  readonly nodeId?: string | undefined;
}

function verdictOf(issues: readonly ReportedIssue[], document: unknown): readonly string[] {
  const parsed = parseDocument(document);
  const types = new Map(parsed.ok ? parsed.document.nodes.map(({ id, type }) => [id, type]) : []);
  return [
    ...new Set(
      issues
        .filter(({ code, nodeId = '' }) => !isOnPurpose(code, types.get(nodeId) ?? ''))
        .map(({ type, code, nodeId = '' }) => `${type} ${code} ${ofTheWhole.has(code) ? '' : nodeId}`),
    ),
  ].toSorted();
}

/** Which node they name is a matter of taste. */
const ofTheWhole: ReadonlySet<string> = new Set(['CYCLE_DETECTED', 'MULTIPLE_START_NODES']);

function isOnPurpose(code: string, type: string): boolean {
  // A start that nothing follows; a router's handle that is not declared, an output's `error`; a route's edge without a label; two bodies.
  if (code === 'DISCONNECTED_NODE' && type === 'start') return true;
  if (code === 'UNKNOWN_HANDLE' && (type === 'router' || type === 'output')) return true;
  if (code === 'MISSING_EDGE_LABEL' && type === 'router') return true;
  // A subflow declares its own ports, and this test does not provide them.
  if ((code === 'UNKNOWN_HANDLE' || code === 'MISSING_REQUIRED_PORT') && type === 'subflow') return true;
  // An edge without a handle is a loop's way on.
  return code === 'MISSING_EXIT' || code === 'OVERLAPPING_BODIES';
}

const folder = 'examples/workflows';
const examples = readdirSync(folder).map((file): [string, unknown] => [
  file,
  JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')),
]);

/** The node types that or3-workflow-core knows. */
const SHARED = ['start', 'agent', 'router', 'parallel', 'whileLoop', 'subflow', 'output'];

function isShared(json: unknown): boolean {
  const parsed = parseDocument(json);
  return parsed.ok && parsed.document.nodes.every(({ type }) => SHARED.includes(type));
}

describe('the validation of or3-workflow-core', () => {
  it.each(examples.filter(([, json]) => isShared(json)))('agrees that %s is valid', (_file, json) => {
    expect(theirs(json)).toEqual(ours(json));
    expect(ours(json).filter((issue) => issue.startsWith('error'))).toEqual([]);
  });

  it('reports the same issues as the reference for any small document', () => {
    const sketch = fc.oneof(
      fc.constantFrom<NodeSketch>('agent', 'router', 'output', 'parallel', 'start'),
      fc.constantFrom<NodeSketch>(
        ['agent', { model: '' }],
        ['agent', { prompt: ' ' }],
        ['whileLoop', { maxIterations: 3 }],
        ['whileLoop', { maxIterations: 0, conditionPrompt: '' }],
        ['whileLoop', { maxIterations: 2, conditionPrompt: '', loopMode: 'fixed' }],
        ['parallel', { branches: [{ id: 'left', label: 'Left' }], mergeEnabled: false }],
        ['parallel', { prompt: '' }],
        ['output', { format: 'pdf' }],
        ['output', { useRawTemplate: true, template: 'no name' }],
        'subflow',
      ),
    );
    const handle = fc.constantFrom(
      '',
      '',
      '',
      ':output',
      ':error',
      ':rejected',
      ':merged',
      ':left',
      ':body',
      ':done',
      ':nope',
    );
    const edge = fc.tuple(fc.nat(5), handle, fc.nat(5), fc.constantFrom('', '', '', ':input', ':body', ':nope'));
    fc.assert(
      fc.property(
        fc.array(sketch, { minLength: 1, maxLength: 5 }),
        fc.array(edge, { maxLength: 10 }),
        (sketches, ends) => {
          const nodes = Object.fromEntries(['start', ...sketches].map((one, index) => [`n${index}`, one]));
          const edges = ends.map(
            ([a, from, b, to]) => `n${a % (sketches.length + 1)}${from} > n${b % (sketches.length + 1)}${to}`,
          );
          const json = workflowDocument(nodes, edges);
          expect(ours(json)).toEqual(theirs(json));
        },
      ),
      { numRuns: 500 },
    );
  });
});

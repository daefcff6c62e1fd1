import { describe, expect, it } from '@jest/globals';

import { around, type SketchedDocument, workflowDocument } from '../../../../../test/harness/workflow-document.js';
import type { WorkflowIssue } from './issue.js';
import { validateWorkflow } from './validate.js';

const plain = { s: 'start', a: 'agent', o: 'output' } as const;
const line = ['s > a', 'a > o'];
const listed = (issues: readonly WorkflowIssue[]): string[] => issues.map(({ code, path }) => `${code} ${path}`);

const strict = { strict: true, tools: new Set(['clock']) };

const errorsOf = (json: unknown): string[] => listed(validateWorkflow(json, strict).errors);

describe('a valid workflow', () => {
  it.each<[string, SketchedDocument]>([
    ['an agent between start and output', workflowDocument(plain, line)],
    ['no output node at all', workflowDocument({ s: 'start', a: 'agent' }, ['s > a'])],
    [
      'a router with three targets',
      workflowDocument(
        { s: 'start', r: ['router', { routes: [{ id: 'x', label: 'X' }] }], a: 'agent', b: 'agent', c: 'agent' },
        ['s > r', 'r:x > a', 'r:route-2 > b', 'r:error > c'],
      ),
    ],
    ['the alias of a router', workflowDocument({ s: 'start', r: 'condition', a: 'agent' }, ['s > r', 'r > a'])],
    [
      'a loop with a body',
      workflowDocument({ s: 'start', l: 'whileLoop', a: 'agent', o: 'output' }, ['s > l', 'l:body > a', 'l:done > o']),
    ],
    [
      'a map with a body',
      workflowDocument({ s: 'start', l: 'map', a: 'agent', o: 'output' }, ['s > l', 'l:body > a', 'l:done > o']),
    ],
    ['a map over a template', around(['map', { items: '{{outputs.s}}' }])],
    ['an error edge', around('agent', ['n:error > o'])],
    ['the handles of an approval', around('approval', ['n:rejected > o', 'n:timeout > o', 'n:error > o'])],
    ['aliases of fields', around(['memory', { topK: 3 }])],
    ['a pause', around(['wait', { durationMs: undefined, until: '2027-01-01T00:00:00Z' }])],
    ['a pause until a moment of the run', around(['wait', { durationMs: undefined, until: '{{outputs.s}}' }])],
    ['an event', around(['wait', { durationMs: undefined, event: 'paid', timeout: 1_000 }])],
    [
      'a request with templates',
      around(['http', { method: 'POST', url: '{{input}}', headers: { a: '{{s}}' }, select: '$.a' }]),
    ],
  ])('may contain %s', (_fact, json) => {
    expect(validateWorkflow(json, strict)).toMatchObject({ isValid: true, errors: [] });
  });

  it('may have unknown fields at any depth', () => {
    const json = workflowDocument(plain, line, { color: 'red', execution: { template: { x: 1 } } });
    const odd = {
      ...json,
      viewport: { zoom: 2 },
      nodes: json.nodes.map((node) => ({ ...node, data: { ...node.data, ui: [1] } })),
    };
    const before = JSON.stringify(odd);
    expect(validateWorkflow(odd, strict).isValid).toBe(true);
    expect(JSON.stringify(odd)).toBe(before);
  });

  it('may have handles that are null', () => {
    const json = workflowDocument(plain, line);
    const edges = json.edges.map((edge) => ({ ...edge, sourceHandle: null, targetHandle: null }));
    expect(validateWorkflow({ ...json, edges }, strict).errors).toEqual([]);
  });
});

describe('a field of a wrong type', () => {
  it.each<[string, SketchedDocument, string[]]>([
    ['a field', around(['agent', { temperature: 'hot' }]), ['/nodes/1/data/temperature']],
    ['a field out of its range', around(['agent', { temperature: 3 }]), ['/nodes/1/data/temperature']],
    ['an entry of a list', around(['agent', { tools: ['clock', 3] }]), ['/nodes/1/data/tools/1']],
    [
      'a field of a branch',
      around(['parallel', { branches: [{ id: 'a' }, { id: 'b', tools: 'x' }] }]),
      ['/nodes/1/data/branches/1/tools'],
    ],
    ['a label', around(['agent', { label: 1 }]), ['/nodes/1/data/label']],
    ['no label', around(['agent', { label: undefined }]), ['/nodes/1/data/label']],
    [
      'how errors are handled',
      around(['agent', { errorHandling: { mode: 'ignore' } }]),
      ['/nodes/1/data/errorHandling/mode'],
    ],
    ['arguments by their other name', around(['tool', { arguments: 'x' }]), ['/nodes/1/data/arguments']],
    ['a description of the document', workflowDocument(plain, line, { description: 1 }), ['/meta/description']],
  ])('fails strict validation, and counts as absent otherwise: %s', (_fact, sketch, paths) => {
    const json: unknown = JSON.parse(JSON.stringify(sketch));
    expect(errorsOf(json)).toEqual(paths.map((path) => `DATA_VALIDATION_ERROR ${path}`));
    expect(validateWorkflow(json, { ...strict, strict: false }).errors).toEqual([]);
  });

  it.each<[string, SketchedDocument, string]>([
    ['who is asked', around(['agent', { hitl: { enabled: 'yes' } }]), '/nodes/1/data/hitl/enabled'],
    ['a node of ours', around(['approval', { timeout: 'soon' }]), '/nodes/1/data/timeout'],
    [
      'where a run has to stop',
      workflowDocument(plain, line, { execution: { stopPolicy: { maxSteps: '9' } } }),
      '/meta/execution/stopPolicy/maxSteps',
    ],
  ])('fails even lenient validation when dropping it is dangerous: %s', (_fact, json, path) => {
    expect(listed(validateWorkflow(json, { ...strict, strict: false }).errors)).toEqual([
      `DATA_VALIDATION_ERROR ${path}`,
    ]);
  });

  it.each<[SketchedDocument, string]>([
    [around(['approval', { prompt: undefined }]), 'The field "prompt" of node "n" is missing; it must be a text.'],
    [around(['approval', { prompt: '' }]), 'The field "prompt" of node "n" must be a text that is not empty.'],
    [around(['agent', { prompt: 3 }]), 'The field "prompt" of node "n" must be a text.'],
    [around(['agent', { temperature: 3 }]), 'The field "temperature" of node "n" must be at most 2.'],
    [around(['agent', { maxTokens: 1.5 }]), 'The field "maxTokens" of node "n" must be a whole number.'],
    [around(['agent', { maxTokens: 0 }]), 'The field "maxTokens" of node "n" must be more than 0.'],
    [around(['agent', { tools: ['clock', 3] }]), 'The field "tools.1" of node "n" must be a text.'],
    [around(['agent', { label: undefined }]), 'The field "label" of node "n" is missing; it must be a text.'],
    [
      around(['agent', { toolChoice: 3 }]),
      'The field "toolChoice" of node "n" must be "auto", "none", or "required" or an object.',
    ],
    [
      around(['router', { fallbackBehavior: 'last' }]),
      'The field "fallbackBehavior" of node "n" must be "first", "error", or "none".',
    ],
    [around(['tool', { arguments: 'x' }]), 'The field "arguments" of node "n" must be an object.'],
    [around(['input', { schema: undefined }]), 'The field "schema" of node "n" is missing; it must be an object.'],
    [around(['parallel', { branches: [] }]), 'The field "branches" of node "n" must be a list of at least 1 entry.'],
    [workflowDocument(plain, line, { description: 1 }), 'The field "meta.description" must be a text.'],
    [workflowDocument(plain, line, { name: undefined }), 'The field "meta.name" is missing; it must be a text.'],
  ])('gets a message in plain words', (sketch, sentence) => {
    const json: unknown = JSON.parse(JSON.stringify(sketch));
    expect(validateWorkflow(json, strict).errors.map(({ message }) => message)).toEqual([sentence]);
  });

  it('of the document itself is reported in a sentence', () => {
    expect(validateWorkflow(null, strict).errors[0]?.message).toBe('The document must be an object.');
  });

  it.each<[string, unknown, string]>([
    ['a list', [], ''],
    ['null', null, ''],
    ['no nodes', { meta: { version: '2.0.0', name: 'x' }, edges: [] }, '/nodes'],
    ['no name', { meta: { version: '2.0.0' }, nodes: [], edges: [] }, '/meta/name'],
    ['no version', { meta: { name: 'x' }, nodes: [], edges: [] }, '/meta/version'],
    ['an id that a subflow could have', { ...workflowDocument({ 'sf:a|b': 'start' }, []) }, '/nodes/0/id'],
    ['an empty id', { ...workflowDocument({ '': 'start' }, []) }, '/nodes/0/id'],
  ])('of the document itself suppresses all other errors: %s', (_fact, json, path) => {
    expect(listed(validateWorkflow(json, { strict: false }).errors)).toEqual([`DATA_VALIDATION_ERROR ${path}`]);
  });
});

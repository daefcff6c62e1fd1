import { describe, expect, it, jest } from '@jest/globals';

import type { ToolContext } from '#tools';

import { parseDocument } from '../definition/document.js';
import { type OfferedWorkflow, workflowTools } from './workflow-tool.js';

const offered = (name: string, meta: object = {}): OfferedWorkflow => {
  const parsed = parseDocument({ meta: { version: '2.0.0', name, ...meta }, nodes: [], edges: [] });
  if (!parsed.ok) throw new Error('no document');
  return { id: name, toolSlug: `the-${name}`, version: 3, meta: parsed.document.meta };
};
const nothing = () => Promise.resolve('');

describe('a workflow as a tool', () => {
  it('accepts a text when the definition declares no inputs', () => {
    const [tool] = workflowTools([offered('plain', { description: 'Repeats it.' })], nothing);
    expect(tool).toMatchObject({
      name: 'workflow.the-plain',
      ...{
        description: 'Repeats it.',
        isolation: 'job',
        effect: 'idempotent',
        version: 'plain@3',
        workflowId: 'plain',
      },
      parameters: {
        type: 'object',
        properties: { input: { type: 'string', description: 'Input' } },
        required: ['input'],
        additionalProperties: false,
      },
    });
  });

  const inputs = [
    { id: 'topic', type: 'object', required: true },
    { id: 'length', name: 'How long', type: 'number', required: true, default: 3 },
    { id: 'extra' },
  ];

  it('accepts the declared inputs by their types', () => {
    const [tool] = workflowTools([offered('typed', { subflow: { inputs } })], nothing);
    expect(tool?.parameters).toEqual({
      type: 'object',
      properties: {
        topic: { type: 'object' },
        length: { type: 'number', description: 'How long', default: 3 },
        extra: {},
      },
      required: ['topic'],
      additionalProperties: false,
    });
  });

  it('passes the first input as text, and all inputs by name, defaults included', async () => {
    const start = jest.fn((...asked: readonly unknown[]) => Promise.resolve(`job ${asked.length}`));
    const workflow = offered('typed', { subflow: { inputs } });
    const [tool] = workflowTools([workflow], start);
    const context = {} as ToolContext; // handed on as it is
    expect(await tool?.handler?.({ topic: { a: 1 } }, context)).toBe('job 3');
    const passed = { prompt: '{"a":1}', inputs: { topic: { a: 1 }, length: 3 } };
    expect(start).toHaveBeenCalledWith(workflow, passed, context);
  });
});

import { describe, expect, it, jest } from '@jest/globals';

import type { ToolContext } from '#tools';

import { parseDocument } from '../definition/document.js';
import { type OfferedWorkflow, workflowTools } from './workflow-tool.js';

const offered = (name: string, meta: object = {}, id: string = name): OfferedWorkflow => {
  const parsed = parseDocument({ meta: { version: '2.0.0', name, ...meta }, nodes: [], edges: [] });
  if (!parsed.ok) throw new Error('no document');
  return { id, version: 3, meta: parsed.document.meta };
};
const nothing = () => Promise.resolve('');
const names = (...workflows: readonly OfferedWorkflow[]) => workflowTools(workflows, nothing).map(({ name }) => name);

describe('a workflow as a tool', () => {
  it('is named after itself, in letters that every model takes', () => {
    expect(names(offered('Résumé: the 2nd  draft!'))).toEqual(['workflow.resume-the-2nd-draft']);
  });

  it('keeps its name apart from that of an earlier one, and has one where nothing is left of its own', () => {
    const [first, second, nameless] = names(offered('Draft'), offered('draft', {}, 'b'), offered('報告'));
    expect(first).toBe('workflow.draft');
    expect(second).toMatch(/^workflow\.draft-[0-9a-f]{8}$/);
    expect(nameless).toMatch(/^workflow\.[0-9a-f]{8}$/);
  });

  it('never has a name that is too long', () => {
    const long = 'long '.repeat(50);
    const all = names(offered(long), offered(long, {}, 'b'));
    expect(all.every((name) => /^[\w.-]{1,64}$/.test(name))).toBe(true);
    expect(new Set(all).size).toBe(2);
  });

  it('takes a text where the definition says nothing of inputs', () => {
    const [tool] = workflowTools([offered('plain', { description: 'Says it.' })], nothing);
    expect(tool).toMatchObject({
      ...{ description: 'Says it.', isolation: 'job', effect: 'idempotent', version: 'plain@3', workflowId: 'plain' },
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

  it('takes the inputs that it declares, each by its type', () => {
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

  it('is told the first input as text, and all of them by name, defaults included', async () => {
    const start = jest.fn((...asked: readonly unknown[]) => Promise.resolve(`job ${asked.length}`));
    const workflow = offered('typed', { subflow: { inputs } });
    const [tool] = workflowTools([workflow], start);
    const context = {} as ToolContext; // handed on as it is
    expect(await tool?.handler?.({ topic: { a: 1 } }, context)).toBe('job 3');
    const said = { prompt: '{"a":1}', inputs: { topic: { a: 1 }, length: 3 } };
    expect(start).toHaveBeenCalledWith(workflow, said, context);
  });
});

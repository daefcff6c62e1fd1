import { describe, expect, it } from '@jest/globals';

import { inOrder } from './read-folder.js';
import type { Resource, ResourceKind } from './resource.js';

const resource = (kind: ResourceKind, key: string, value: object = {}): Resource => ({
  ...{ kind, key, file: `${kind}s/${key}.json` },
  value: { ...value },
});
const running = (key: string, ...subflows: string[]) =>
  resource('workflow', key, { nodes: subflows.map((subflowId) => ({ type: 'subflow', data: { subflowId } })) });
const keysOf = (resources: readonly Resource[]) => inOrder(resources).map(({ key }) => key);

describe('order of files', () => {
  it('puts policies before tools, agents, workflows and schedules', () => {
    const kinds: ResourceKind[] = ['schedule', 'workflow', 'agent', 'tool', 'policy'];
    expect(keysOf(kinds.map((kind) => resource(kind, kind)))).toEqual([...kinds].reverse());
  });

  it('puts subflows before the workflows that run them, at every depth', () => {
    expect(keysOf([running('a', 'b'), running('b', 'c', 'elsewhere'), running('c')])).toEqual(['c', 'b', 'a']);
  });

  it('keeps every workflow of a cycle', () => {
    expect(keysOf([running('a', 'b'), running('b', 'a')])).toEqual(['b', 'a']);
  });
});

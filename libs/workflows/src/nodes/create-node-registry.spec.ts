import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { nodeTypeOf, nodeTypes } from '../definition/node-types.js';
import { agentNode } from './agent.node.js';
import { createNodeRegistry } from './create-node-registry.js';
import { NodeRegistry } from './create-node-registry.js';

const containers = ['whileLoop', 'subflow', 'map'];
const all = nodeTypes
  .filter((type) => !containers.includes(type))
  .map((type) => createNodeRegistry(new ManualClock()).executorOf(type));

describe('the executors of nodes', () => {
  it('exist for every type that does not run other nodes', () => {
    expect(all.map(({ type }) => type)).toEqual(nodeTypes.filter((type) => !containers.includes(type)));
    expect(nodeTypeOf('condition')).toBe('router');
  });

  it.each(containers)('do not exist for a %s', (type) => {
    const registry = createNodeRegistry(new ManualClock());
    expect(() => registry.executorOf(nodeTypeOf(type) ?? 'start')).toThrow(/run by the engine/);
  });

  it('throw if a type has no executor', () => {
    expect(() => new NodeRegistry(all.slice(2))).toThrow('No executor for nodes of type "start", "agent"');
  });

  it('throw if a type has two executors', () => {
    expect(() => new NodeRegistry([...all, agentNode])).toThrow('Two executors for nodes of type "agent"');
  });

  it('throw for a type that the engine runs', () => {
    expect(() => new NodeRegistry([...all, { ...agentNode, type: 'map' }])).toThrow(/run by the engine/);
  });
});

import { isObject, type Resource, resourceKinds } from './resource.js';

/** By kind; workflows after the subflows that they run. In a circle, the order of the files stays: the server refuses it. */
export function inOrder(resources: readonly Resource[]): readonly Resource[] {
  const ofKind = (kind: Resource['kind']) => resources.filter((resource) => resource.kind === kind);
  return resourceKinds.flatMap((kind) => (kind === 'workflow' ? subflowsFirst(ofKind(kind)) : ofKind(kind)));
}

function subflowsFirst(workflows: readonly Resource[]): readonly Resource[] {
  const byKey = new Map(workflows.map((workflow) => [workflow.key, workflow]));
  const ordered = new Set<Resource>();
  const entered = new Set<Resource>();
  const add = (workflow: Resource): void => {
    if (entered.has(workflow)) return;
    entered.add(workflow);
    for (const id of subflowsOf(workflow)) {
      const subflow = byKey.get(id);
      if (subflow !== undefined) add(subflow);
    }
    ordered.add(workflow);
  };
  workflows.forEach(add);
  return [...ordered];
}

function subflowsOf({ value }: Resource): readonly string[] {
  const nodes = Array.isArray(value['nodes']) ? (value['nodes'] as readonly unknown[]) : [];
  return nodes.flatMap((node) => {
    if (!isObject(node) || node['type'] !== 'subflow' || !isObject(node['data'])) return [];
    const id = node['data']['subflowId'];
    return typeof id === 'string' ? [id] : [];
  });
}

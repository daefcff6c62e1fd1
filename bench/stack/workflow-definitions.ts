/** Definitions of nodes that do next to nothing: what is measured is what comes with them. */

/** One behind the other, start and output included. */
export function sequence(nodes: number): object {
  const inner = Array.from({ length: nodes - 2 }, (_, i) => transform(`n${i}`));
  const ids = ['start', ...inner.map(({ id }) => id), 'out'];
  const edges = ids.slice(1).map((target, i) => ({ id: `e${i}`, source: ids[i], target }));
  return document(`sequence of ${nodes}`, inner, edges);
}

/** A workflow with `width` parallel `transform` nodes between start and output. */
export function fanOut(width: number): object {
  const inner = Array.from({ length: width }, (_, i) => transform(`n${i}`));
  const edges = inner.flatMap(({ id }) => [
    { id: `in-${id}`, source: 'start', target: id },
    { id: `out-${id}`, source: id, target: 'out' },
  ]);
  return document(`fan-out to ${width}`, inner, edges);
}

/** One in a loop in a loop: `passes` by `passes` times. */
export function nestedLoops(passes: number): object {
  const edges = [
    { id: 'in', source: 'start', target: 'outer' },
    { id: 'body', source: 'outer', sourceHandle: 'body', target: 'inner' },
    { id: 'inner-body', source: 'inner', sourceHandle: 'body', target: 'n' },
    { id: 'done', source: 'outer', sourceHandle: 'done', target: 'out' },
  ];
  return document(
    `${passes} by ${passes} passes`,
    [loop('outer', passes), loop('inner', passes), transform('n')],
    edges,
  );
}

function loop(id: string, maxIterations: number) {
  const data = { label: id, loopMode: 'fixed', maxIterations, includePreviousOutputs: false };
  return { id, type: 'whileLoop', position: { x: 0, y: 0 }, data };
}

function transform(id: string) {
  return { id, type: 'transform', position: { x: 0, y: 0 }, data: { label: id, expression: 'input' } };
}

function document(name: string, inner: readonly object[], edges: readonly object[]): object {
  const position = { x: 0, y: 0 };
  return {
    meta: { version: '2.0.0', name },
    nodes: [
      { id: 'start', type: 'start', position, data: { label: 'Start' } },
      ...inner,
      { id: 'out', type: 'output', position, data: { label: 'Out', format: 'text' } },
    ],
    edges,
  };
}

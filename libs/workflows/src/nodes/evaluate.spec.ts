import { describe, expect, it } from '@jest/globals';

import { evaluate } from './evaluate.js';

/** A run's outputs that count how often they are looked at. */
class Outputs extends Map<string, string> {
  reads = 0;
  walks = 0;

  override get(name: string): string | undefined {
    this.reads += 1;
    return super.get(name);
  }

  override has(name: string): boolean {
    this.reads += 1;
    return super.has(name);
  }

  override keys(): MapIterator<string> {
    this.walks += 1;
    return super.keys();
  }

  override entries(): MapIterator<[string, string]> {
    this.walks += 1;
    return super.entries();
  }

  override [Symbol.iterator](): MapIterator<[string, string]> {
    return this.entries();
  }
}

function seeing(outputs: ReadonlyMap<string, string>, input = '{"which": "n1"}') {
  const view = {
    ...{ workflowName: 'w', sessionId: 's', earlier: [], session: [], attachments: [] },
    ...{ outputs, inputs: new Map<string, unknown>([['most', 3]]) },
  };
  return { input, view };
}

const outputs = (count: number) => {
  const made = new Outputs(Array.from({ length: count }, (_, at) => [`n${at}`, `text ${at}`] as const));
  made.reads = 0;
  made.walks = 0;
  return made;
};

const naming = [
  ['outputs.n0 + outputs["n1"]', 'text 0text 1'],
  ['outputs[input.which]', 'text 1'],
  ['has(outputs.n0) && !has(outputs.gone)', true],
  ['[1, 2, 3].map(each, outputs.n0).size()', 3],
] as const;

describe('an expression over the outputs of a run', () => {
  it.each(naming)('reads only the outputs that it names: %s', (expression, value) => {
    const [few, many] = [outputs(2), outputs(5_000)];
    expect(evaluate(expression, seeing(few))).toBe(value);
    expect(evaluate(expression, seeing(many))).toBe(value);
    expect(many.walks).toBe(0);
    expect(many.reads).toBe(few.reads);
    expect(many.reads).toBeLessThan(30);
  });

  it.each([
    ['size(outputs)', 2],
    ['"n1" in outputs && !("gone" in outputs)', true],
    ['outputs.exists(name, outputs[name] == "text 1")', true],
    ['outputs', { n0: 'text 0', n1: 'text 1' }],
    ['outputs == {"n0": "text 0", "n1": "text 1"}', true],
    ['inputs.most', 3],
  ])('may read all outputs: %s', (expression, value) => {
    expect(evaluate(expression, seeing(outputs(2)))).toEqual(value);
  });

  it.each(['outputs.gone', 'outputs.toString', 'outputs["__proto__"]'])(
    'fails for an unknown output: %s',
    (expression) => {
      expect(() => evaluate(expression, seeing(outputs(2)))).toThrow('The expression fails');
    },
  );
});

import { z } from 'zod';

import { defineTool } from '../define-tool.js';

/** Adds two numbers; returns the sum as JSON text. */
export const addNumbers = defineTool({
  name: 'add_numbers',
  description: 'Adds two numbers and returns the sum.',
  input: z.object({ a: z.number().describe('First number'), b: z.number().describe('Second number') }),
  effect: 'pure',
  execute: ({ a, b }) => {
    const sum = a + b;
    if (!Number.isFinite(sum)) throw new Error('the sum is too large');
    return sum;
  },
});

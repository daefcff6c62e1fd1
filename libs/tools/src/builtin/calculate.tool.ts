import { z } from 'zod';

import { defineTool } from '../define-tool.js';
import { calculate } from './calculator.js';

/** Evaluates an arithmetic expression; returns the number as text. */
export const calculateTool = defineTool({
  name: 'calculate',
  description:
    'Evaluates an arithmetic expression exactly as written: + - * / % ^, parentheses, the functions sqrt abs round floor ' +
    'ceil min max log ln exp sin cos tan pow (radians), and the constants pi and e.',
  input: z.object({ expression: z.string().describe('For example "2 * (3 + 4) ^ 2"') }),
  effect: 'pure',
  execute: ({ expression }) => calculate(expression),
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { calculate } from './calculator.js';

describe('calculate', () => {
  it.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['10 - 4 - 3', 3],
    ['100 / 10 / 5', 2],
    ['2 ^ 3 ^ 2', 512],
    ['2 ** 3', 8],
    ['-2 ^ 2', -4],
    ['(-2) ^ 2', 4],
    ['2 ^ -1', 0.5],
    ['2 * -3 + 1', -5],
    ['--5', 5],
    ['+5 - -5', 10],
    ['-7 % 3', -1],
    ['7.5 % 2', 1.5],
    ['.5 + 1. + 1e2 + 2E-1', 101.7],
    ['sqrt(16) + abs(-3)', 7],
    ['round(2.5) + floor(-1.5) + ceil(1.2)', 3],
    ['min(3, 1, 2) + max(3, 1, 2)', 4],
    ['log(1000) + ln(e) + exp(0)', 5],
    ['sin(0) + cos(0) + tan(0)', 1],
    ['pow(2, 10)', 1024],
    ['2 * PI', 2 * Math.PI],
    ['SQRT(pow(3, 2) + 4 ^ 2)', 5],
    ['-0', 0],
    ['17 * 23 + 5', 396],
  ])('returns, for %s, %d', (expression, value) => {
    expect(calculate(expression)).toBeCloseTo(value, 12);
  });

  it.each([
    ['', 'The expression ends too early, at position 1'],
    ['1 +', 'The expression ends too early, at position 4'],
    ['1 2', 'Unexpected "2" at position 3'],
    ['(1 + 2', 'Expected ")" at position 7, found the end'],
    ['1 + )', 'Unexpected ")" at position 5'],
    ['1 $ 2', 'Unexpected "$" at position 3'],
    ['2 * 😀', 'Unexpected "😀" at position 5'],
    ['1 / 0', 'Division by zero at position 3'],
    ['5 % (2 - 2)', 'Division by zero at position 3'],
    ['sqrt', 'Expected "(" at position 5, found the end'],
    ['sqrt()', '"sqrt" takes 1 argument(s), not 0, at position 1'],
    ['sqrt(1, 2)', '"sqrt" takes 1 argument(s), not 2, at position 1'],
    ['max(1,)', 'Unexpected ")" at position 7'],
    ['sqrt(-1)', 'The result is not a number'],
    ['10 ^ 400', 'The result is too large'],
    ['foo(1)', 'Unknown name "foo" at position 1'],
    ['1 + constructor', 'Unknown name "constructor" at position 5'],
    ['__proto__', 'Unknown name "__proto__" at position 1'],
    ['toString()', 'Unknown name "toString" at position 1'],
    ['process.exit(1)', 'Unexpected "." at position 8'],
    ['constructor.constructor("return 1")()', 'Unexpected "." at position 12'],
    ['[].map', 'Unexpected "[" at position 1'],
    ['`${1}`', 'Unexpected "`" at position 1'],
    ['cos.constructor', 'Unexpected "." at position 4'],
    ['import("fs")', 'Unexpected """ at position 8'],
  ])('rejects %s with the error: %s', (expression, problem) => {
    expect(() => calculate(expression)).toThrow(problem);
  });

  it('limits length and nesting', () => {
    expect(() => calculate('1+'.repeat(600))).toThrow('longer than 1000 characters');
    expect(() => calculate(`${'('.repeat(400)}1${')'.repeat(400)}`)).toThrow('nested too deep');
    expect(() => calculate(`${'-'.repeat(900)}1`)).toThrow('nested too deep');
    expect(() => calculate(Array.from({ length: 300 }, () => '2').join('^'))).toThrow('nested too deep');
    expect(calculate(Array.from({ length: 500 }, () => '1').join('+'))).toBe(500);
  });

  it('returns the value of any generated expression', () => {
    fc.assert(
      fc.property(trees, (tree) => {
        const expected = valueOf(tree);
        fc.pre(Number.isFinite(expected));
        const text = write(tree, 0);
        fc.pre(text.length <= 1_000);
        expect(calculate(text)).toBe(expected === 0 ? 0 : expected);
      }),
      { numRuns: 500 },
    );
  });

  it('returns a finite number or throws an Error with a sentence for any text', () => {
    const piece = fc.constantFrom(
      '1',
      '2.5',
      '(',
      ')',
      '+',
      '-',
      '*',
      '/',
      '%',
      '^',
      ',',
      'pi',
      'max',
      'sqrt',
      ' ',
      'x',
      '.',
      'e5',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((pieces) => pieces.join('')),
        ),
        (text) => {
          try {
            expect(Number.isFinite(calculate(text))).toBe(true);
          } catch (error) {
            expect(error).toHaveProperty('message', expect.stringMatching(/^[A-Z"].+/));
            expect((error as Error).constructor).toBe(Error);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

type Tree = number | { readonly op: string; readonly left: Tree; readonly right: Tree } | { readonly minus: Tree };

const POWERS: Readonly<Record<string, number>> = { '+': 1, '-': 1, '*': 2, '/': 2, '%': 2, '^': 4 };
const { trees } = fc.letrec<{ trees: Tree }>((tie) => ({
  trees: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.integer({ min: 0, max: 12 }),
    fc.record({ op: fc.constantFrom(...Object.keys(POWERS)), left: tie('trees'), right: tie('trees') }),
    fc.record({ minus: tie('trees') }),
  ),
}));

/** The reference: values come from the tree, never from the text. Division by zero counts as infinite. */
function valueOf(tree: Tree): number {
  if (typeof tree === 'number') return tree;
  if ('minus' in tree) return -valueOf(tree.minus);
  const [left, right] = [valueOf(tree.left), valueOf(tree.right)];
  if (tree.op === '+') return left + right;
  if (tree.op === '-') return left - right;
  if (tree.op === '*') return left * right;
  if (tree.op === '^') return left ** right;
  if (right === 0) return Number.NaN;
  return tree.op === '/' ? left / right : left % right;
}

/** Writes a tree with only the parentheses it needs: those are what a wrong precedence gets wrong. */
function write(tree: Tree, outer: number): string {
  if (typeof tree === 'number') return String(tree);
  const power = 'minus' in tree ? 3 : (POWERS[tree.op] ?? 0);
  const isRight = !('minus' in tree) && tree.op === '^';
  const text =
    'minus' in tree
      ? `-${write(tree.minus, 3)}`
      : `${write(tree.left, isRight ? power + 1 : power)} ${tree.op} ${write(tree.right, isRight ? 3 : power + 1)}`;
  return power < outer ? `(${text})` : text;
}

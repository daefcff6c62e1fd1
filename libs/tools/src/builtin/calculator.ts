/** Maximum length of an expression, in UTF-16 code units. */
const MAX_LENGTH = 1_000;
/** Maximum nesting depth of parentheses, signs and powers. */
const MAX_DEPTH = 100;

type Token =
  | { readonly type: 'number'; readonly value: number; readonly at: number }
  | { readonly type: 'name' | 'symbol' | 'end'; readonly text: string; readonly at: number };

interface MathFunction {
  readonly min: number;
  readonly max: number;
  readonly run: (...args: number[]) => number;
}

const one = (run: (x: number) => number): MathFunction => ({ min: 1, max: 1, run });
const CONSTANTS: ReadonlyMap<string, number> = new Map([
  ['pi', Math.PI],
  ['e', Math.E],
]);
// A Map, not an object, so that a name in an expression never finds a member of a prototype.
const FUNCTIONS: ReadonlyMap<string, MathFunction> = new Map([
  ['sqrt', one(Math.sqrt)],
  ['abs', one(Math.abs)],
  ['round', one(Math.round)],
  ['floor', one(Math.floor)],
  ['ceil', one(Math.ceil)],
  ['log', one(Math.log10)],
  ['ln', one(Math.log)],
  ['exp', one(Math.exp)],
  ['sin', one(Math.sin)],
  ['cos', one(Math.cos)],
  ['tan', one(Math.tan)],
  ['pow', { min: 2, max: 2, run: (base: number, exponent: number) => base ** exponent }],
  ['min', { min: 1, max: 100, run: Math.min }],
  ['max', { min: 1, max: 100, run: Math.max }],
]);

interface Operator {
  readonly power: number;
  readonly isRightAssociative: boolean;
  readonly run: (left: number, right: number, at: number) => number;
}

const OPERATORS: ReadonlyMap<string, Operator> = new Map([
  ['+', { power: 1, isRightAssociative: false, run: (l: number, r: number) => l + r }],
  ['-', { power: 1, isRightAssociative: false, run: (l: number, r: number) => l - r }],
  ['*', { power: 2, isRightAssociative: false, run: (l: number, r: number) => l * r }],
  ['/', { power: 2, isRightAssociative: false, run: (l: number, r: number, at: number) => l / divisor(r, at) }],
  ['%', { power: 2, isRightAssociative: false, run: (l: number, r: number, at: number) => l % divisor(r, at) }],
  ['^', { power: 4, isRightAssociative: true, run: (l: number, r: number) => l ** r }],
]);
/** A sign binds less tightly than a power and more tightly than a product: -2^2 is -4, 2^-1 is 0.5. */
const SIGN_POWER = 3;

/**
 * Evaluates an arithmetic expression in IEEE doubles. `^` is right-associative, `%` is the remainder with the sign of its left side, angles
 * are in radians, `log` is base 10. The parser executes no code and reads no properties. Throws an Error whose message names the fault and
 * its position (1, 2, 3 …). Length and nesting are limited, which also limits the time.
 */
export function calculate(expression: string): number {
  if (expression.length > MAX_LENGTH) throw new Error(`The expression is longer than ${MAX_LENGTH} characters`);
  const reader = new Reader(tokensOf(expression));
  const value = expressionOf(reader, { power: 0, depth: 0 });
  const rest = reader.take();
  if (rest.type !== 'end') throw unexpected(rest);
  if (Number.isNaN(value)) throw new Error('The result is not a number');
  if (!Number.isFinite(value)) throw new Error('The result is too large');
  return value === 0 ? 0 : value;
}

class Reader {
  private index = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  peek(): Token {
    return this.tokens[this.index] ?? { type: 'end', text: '', at: 0 };
  }

  take(): Token {
    const token = this.peek();
    this.index++;
    return token;
  }

  /** Consumes the next token if it is this symbol. */
  skip(symbol: string): boolean {
    if (!isSymbol(this.peek(), symbol)) return false;
    this.index++;
    return true;
  }
}

interface Level {
  /** The expression contains only operators that bind more tightly than this. */
  readonly power: number;
  readonly depth: number;
}

/** Pratt's top-down operator precedence (1973). */
function expressionOf(reader: Reader, level: Level): number {
  if (level.depth > MAX_DEPTH) throw new Error(`The expression is nested too deep at position ${reader.peek().at}`);
  let left = operandOf(reader, level.depth);
  for (;;) {
    const token = reader.peek();
    const operator = token.type === 'symbol' ? OPERATORS.get(token.text) : undefined;
    if (operator === undefined || operator.power <= level.power) return left;
    reader.take();
    const power = operator.isRightAssociative ? operator.power - 1 : operator.power;
    left = operator.run(left, expressionOf(reader, { power, depth: level.depth + 1 }), token.at);
  }
}

function operandOf(reader: Reader, depth: number): number {
  const token = reader.take();
  if (token.type === 'number') return token.value;
  if (token.type === 'name') return valueOfName(reader, token, depth);
  if (isSymbol(token, '-')) return -expressionOf(reader, { power: SIGN_POWER, depth: depth + 1 });
  if (isSymbol(token, '+')) return expressionOf(reader, { power: SIGN_POWER, depth: depth + 1 });
  if (!isSymbol(token, '(')) throw unexpected(token);
  const value = expressionOf(reader, { power: 0, depth: depth + 1 });
  if (!reader.skip(')')) throw expected('")"', reader.peek());
  return value;
}

function valueOfName(reader: Reader, token: Exclude<Token, { type: 'number' }>, depth: number): number {
  const name = token.text.toLowerCase();
  const constant = CONSTANTS.get(name);
  if (constant !== undefined) return constant;
  const known = FUNCTIONS.get(name);
  if (known === undefined) throw new Error(`Unknown name "${token.text.slice(0, 40)}" at position ${token.at}`);
  const args = argumentsOf(reader, depth);
  if (args.length < known.min || args.length > known.max) {
    const wanted = known.min === known.max ? String(known.min) : `${known.min} to ${known.max}`;
    throw new Error(`"${name}" takes ${wanted} argument(s), not ${args.length}, at position ${token.at}`);
  }
  return known.run(...args);
}

function argumentsOf(reader: Reader, depth: number): readonly number[] {
  if (!reader.skip('(')) throw expected('"("', reader.peek());
  if (reader.skip(')')) return [];
  const args: number[] = [];
  do args.push(expressionOf(reader, { power: 0, depth: depth + 1 }));
  while (reader.skip(','));
  if (!reader.skip(')')) throw expected('"," or ")"', reader.peek());
  return args;
}

const LEXEME = /\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/%^(),]))/y;

function tokensOf(expression: string): readonly Token[] {
  const text = expression.trimEnd();
  const tokens: Token[] = [];
  for (LEXEME.lastIndex = 0; LEXEME.lastIndex < text.length;) {
    const from = LEXEME.lastIndex;
    const match = LEXEME.exec(text);
    if (match === null) throw unknownCharacter(text, from);
    tokens.push(tokenOf(match, from + 1));
  }
  return [...tokens, { type: 'end', text: '', at: text.length + 1 }];
}

function tokenOf(match: RegExpExecArray, from: number): Token {
  const [whole, number, name, symbol] = match;
  const text = number ?? name ?? symbol ?? '';
  const at = from + whole.length - text.length;
  if (number !== undefined) return { type: 'number', value: Number(number), at };
  if (name !== undefined) return { type: 'name', text, at };
  return { type: 'symbol', text: text === '**' ? '^' : text, at };
}

function unknownCharacter(text: string, from: number): Error {
  const at = from + text.slice(from).search(/\S/);
  return new Error(`Unexpected "${String.fromCodePoint(text.codePointAt(at) ?? 63)}" at position ${at + 1}`);
}

function isSymbol(token: Token, text: string): boolean {
  return token.type === 'symbol' && token.text === text;
}

function divisor(value: number, at: number): number {
  if (value === 0) throw new Error(`Division by zero at position ${at}`);
  return value;
}

function expected(what: string, found: Token): Error {
  return new Error(`Expected ${what} at position ${found.at}, found ${nameOf(found)}`);
}

function unexpected(token: Token): Error {
  if (token.type === 'end') return new Error(`The expression ends too early, at position ${token.at}`);
  return new Error(`Unexpected ${nameOf(token)} at position ${token.at}`);
}

function nameOf(token: Token): string {
  if (token.type === 'end') return 'the end';
  return `"${token.type === 'number' ? token.value : token.text.slice(0, 40)}"`;
}
